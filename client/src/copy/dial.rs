//! Getting a connection, and saying clearly why there is none.

use std::sync::Arc;
use std::time::Duration;

use bcmr_wire::shown::shown;

use super::Outcomes;
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Lost, NoWelcome};
use crate::exit::{Exit, Fatal};
use crate::interrupt;
use crate::target::Host;
use crate::transport::{Route, Server, Transport};
use crate::ui::Lane;

/// What a shell exits with when it does not find a command.
const NOT_FOUND: i32 = 127;

/// What ssh exits with when it fails itself.
const SSH_FAILED: i32 = 255;

/// The longest pause between two tries to connect again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Bytes of a remote shell's text that are quoted.
const QUOTED: usize = 200;

/// Opens connections to one server, and remembers how that went.
#[derive(Clone)]
pub(crate) struct Dialer<'a> {
    route: Route<'a>,
    outcomes: &'a Arc<Outcomes>,
    server: Server,
    /// Whether a connection stands or stood: then nobody is asked for a password again.
    connected: bool,
    /// Whether the connections are to be the process's own, not shares of one that the user's ssh keeps open.
    own: bool,
    retries: u32,
    /// Connections that were lost since a file was last finished, and how many were finished then.
    losses: u32,
    finished: u64,
    /// The bar of its connections.
    lane: Lane,
}

impl<'a> Dialer<'a> {
    pub(crate) fn new(
        host: &'a Host,
        absolute: bool,
        args: &'a ConnectionArgs,
        outcomes: &'a Arc<Outcomes>,
    ) -> Self {
        let route = Route::new(host, absolute, args);
        let retries = if args.no_retry { 0 } else { args.retries };
        let server = Server::First;
        let lane = Lane::default();
        Self { route, outcomes, server, connected: false, own: false, retries, losses: 0, finished: 0, lane }
    }

    /// The same, for replacing a connection.
    pub(super) fn again(&self) -> Self {
        self.clone()
    }

    /// The same, for further connections at the same time: each of its own, since several over one are no
    /// faster than one.
    pub(super) fn extra(&self) -> Self {
        Self { own: true, lane: Lane::default(), ..self.clone() }
    }

    /// Gives its connections a bar.
    pub(super) fn show(&self, number: usize) {
        self.outcomes.ui().show(&self.lane, number);
    }

    /// What is started on the other side.
    pub(crate) fn command(&self) -> String {
        self.route.command(self.server)
    }

    /// What that says of its version, where the account lets it be asked.
    pub(crate) fn version(&self) -> Option<String> {
        let output = self.route.shell(&format!("{} --version", self.route.program(self.server))).ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        text.lines().next().map(|line| shown(line).to_string())
    }

    /// A connection after its handshake.
    pub(crate) fn dial(&mut self) -> Result<Exchange, Fatal> {
        loop {
            let started = self.route.start(self.server, !self.connected, self.own, self.outcomes.ui());
            let started = started.map_err(|e| Fatal::link(format!("cannot start ssh: {e}")))?;
            let mut transport = Some(started);
            let why = match Exchange::open(
                &mut transport,
                self.outcomes.settings.caps,
                &self.lane,
                self.outcomes,
            ) {
                Ok(exchange) => {
                    self.connected = true;
                    return Ok(exchange);
                }
                Err(why) => why,
            };
            let Some(mut transport) = transport else {
                return Err(Fatal::link(format!("{}: no thread could be started", self.route.name())));
            };
            let code = exit_code(&mut transport, &why);
            let missing = matches!(why, NoWelcome::Nothing) && code == Some(NOT_FOUND);
            if missing && self.server == Server::First && self.route.has_public() {
                self.server = Server::Public;
                continue;
            }
            return Err(self.explain(&why, code, &transport));
        }
    }

    /// Asks something that changes nothing, over other connections where this one is lost; returns the last of them.
    pub(super) fn ask<T>(
        &mut self,
        mut link: Exchange,
        mut question: impl FnMut(&mut Exchange) -> Result<T, Dead>,
    ) -> Result<(T, Exchange), Fatal> {
        loop {
            match question(&mut link) {
                Ok(answer) => return Ok((answer, link)),
                Err(Dead) => {
                    let why = link.close().why.unwrap_or(Lost::Unexpected("another answer"));
                    link = self.redial(why)?;
                }
            }
        }
    }

    /// A connection in the place of one that was lost, with pauses that grow.
    ///
    /// # Errors
    /// Where the loss is none that another connection would make good, or too many were lost while nothing was
    /// finished.
    pub(super) fn redial(&mut self, why: Lost) -> Result<Exchange, Fatal> {
        if interrupt::came().is_some() {
            return Err(interrupt::fatal());
        }
        if !why.may_pass() {
            return Err(why.into_fatal());
        }
        let finished = self.outcomes.meter().files();
        if finished > self.finished {
            (self.losses, self.finished) = (0, finished);
        }
        let (mut text, mut last) = (format!("the connection was lost: {why}"), why.into_fatal());
        while self.losses < self.retries {
            let pause = Duration::from_secs(1 << self.losses.min(6)).min(LONGEST_PAUSE);
            self.losses += 1;
            self.outcomes.ui().error(&format!("{text}; trying again in {} s", pause.as_secs()));
            interrupt::sleep(pause)?;
            match self.dial() {
                Ok(link) => return Ok(link),
                Err(fatal) if matches!(fatal.exit, Exit::Link | Exit::Busy) => {
                    text.clone_from(&fatal.message);
                    last = fatal;
                }
                Err(fatal) => return Err(fatal),
            }
        }
        Err(last)
    }

    fn explain(&self, why: &NoWelcome, code: Option<i32>, transport: &Transport) -> Fatal {
        if interrupt::came().is_some() {
            return interrupt::fatal();
        }
        let host = self.route.name();
        let said = transport.held_stderr().map(|line| format!(": {line}")).unwrap_or_default();
        let (exit, text) = match (why, code) {
            (NoWelcome::Error(text), code) => (refusal(code), shown(text).to_string()),
            (NoWelcome::Noise(bytes), _) => (Exit::Link, noise(bytes)),
            (NoWelcome::Mismatch(text), _) => (Exit::Link, format!("the server cannot be used: {text}")),
            (NoWelcome::Nothing, Some(NOT_FOUND)) => (
                Exit::Link,
                format!(
                    "no bcmr server was found there (neither bcmr-serve nor bcmr); install bcmr-serve, or name \
                     it with --remote-command /path/to/bcmr-serve{said}"
                ),
            ),
            (NoWelcome::Nothing, Some(SSH_FAILED)) => (Exit::Link, format!("ssh could not connect{said}")),
            (NoWelcome::Nothing, Some(code)) if refusal(Some(code)) != Exit::Link => {
                (refusal(Some(code)), format!("the server refused to serve (exit {code}){said}"))
            }
            (NoWelcome::Nothing, code) => {
                let code = code.map(|code| format!(" (exit {code})")).unwrap_or_default();
                (Exit::Link, format!("the remote command ended{code} before it spoke the protocol{said}"))
            }
        };
        // A program that somebody has named is to be found, not to be done without.
        let serverless =
            matches!((why, code), (NoWelcome::Nothing, Some(NOT_FOUND))) && self.route.has_public();
        Fatal { exit, message: format!("{host}: {text}"), serverless }
    }
}

/// Waits for the child, which has ended or soon will; ends it where it would go on talking.
fn exit_code(transport: &mut Transport, why: &NoWelcome) -> Option<i32> {
    if matches!(why, NoWelcome::Noise(_) | NoWelcome::Mismatch(_)) {
        transport.kill();
    }
    transport.wait().ok().and_then(|status| status.code())
}

/// What the exit code of a server that did not serve means here.
const fn refusal(code: Option<i32>) -> Exit {
    match code {
        Some(75) => Exit::Busy,
        Some(64 | 77 | 78 | 126) => Exit::Refused,
        _ => Exit::Link,
    }
}

fn noise(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTED)]);
    format!(
        "the remote side printed something before the protocol: \"{}\"; usually a start-up file of the shell \
         (such as ~/.bashrc) prints it: let it print only where the shell is interactive",
        shown(text.trim_end())
    )
}
