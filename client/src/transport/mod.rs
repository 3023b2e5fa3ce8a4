//! What carries the protocol: a child process whose stdin and stdout are the two streams.

mod cipher;
mod ender;
mod shell;
mod ssh;
mod stderr;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::pipe::fcntl_setpipe_size;

use crate::cli::ConnectionArgs;
use crate::target::Host;
use crate::ui::Ui;
pub(crate) use ender::Ender;
use stderr::Stderr;

/// Bytes that a pipe is asked to hold: what Linux lets everyone have (pipe(7)), less where that was lowered.
const PIPE_SIZES: [usize; 3] = [1024 * 1024, 512 * 1024, 256 * 1024];

/// How long a child that has nothing more to do may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A way to start the server's side, more than one of which may be worth a try.
#[derive(Clone)]
pub(crate) struct Route<'a> {
    host: &'a Host,
    absolute: bool,
    args: &'a ConnectionArgs,
    /// Found out when it is first needed, and the same for all connections.
    target: Arc<OnceLock<ssh::Target>>,
}

/// The programs that may serve on the other side, in the order of trying.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Server {
    /// Ours, or what --remote-command and --via name.
    First,
    /// The spelling of the public server, tried where the first is not found.
    Public,
}

impl<'a> Route<'a> {
    /// The way to `host`; `absolute` paths count from the machine's root, others from the home directory.
    pub(crate) fn new(host: &'a Host, absolute: bool, args: &'a ConnectionArgs) -> Self {
        Self { host, absolute, args, target: Arc::default() }
    }

    /// Whether another program is worth a try where the first is not found.
    pub(crate) const fn has_public(&self) -> bool {
        matches!(self.host, Host::Ssh { .. }) && self.args.remote_command.is_none()
    }

    /// The machine, for messages.
    pub(crate) fn name(&self) -> &str {
        match self.host {
            Host::Ssh { name, .. } => name,
            Host::Via => "the --via command",
        }
    }

    /// The program on the other side.
    pub(crate) fn program(&self, server: Server) -> &str {
        ssh::program(self.args, server)
    }

    /// What is started: on the other side, or here with --via.
    pub(crate) fn command(&self, server: Server) -> String {
        match self.host {
            Host::Ssh { .. } => ssh::remote_command(self.args, server, self.absolute),
            Host::Via => self.args.via.clone().unwrap_or_default(),
        }
    }

    /// Has the remote shell run something, over a connection of its own on which nobody is asked for a password.
    pub(crate) fn shell(&self, script: &str) -> io::Result<Output> {
        let Host::Ssh { user, name, port } = self.host else { return Err(io::ErrorKind::Unsupported.into()) };
        let target = ssh::Target::new(self.args, user.as_deref(), name, *port);
        target.command(false, false, script).stdin(Stdio::null()).output()
    }

    /// Starts the child. `asking` is false where nobody must be asked for a password; `own` asks for a connection
    /// that is not shared with others.
    pub(crate) fn start(
        &self,
        server: Server,
        asking: bool,
        own: bool,
        ui: &Arc<Ui>,
    ) -> io::Result<Transport> {
        let command = match self.host {
            Host::Ssh { user, name, port } => {
                let remote = ssh::remote_command(self.args, server, self.absolute);
                let target =
                    self.target.get_or_init(|| ssh::Target::new(self.args, user.as_deref(), name, *port));
                target.command(asking, own, &remote)
            }
            Host::Via => shell::command(self.args.via.as_deref().unwrap_or_default()),
        };
        Transport::spawn(command, matches!(self.host, Host::Via), ui)
    }
}

/// A running child.
#[derive(Debug)]
pub(crate) struct Transport {
    child: Child,
    /// Whether the child leads a process group of its own.
    group: bool,
    /// Whether it ends by itself, when nobody waits for it any more.
    left: bool,
    stderr: Stderr,
}

/// The two streams of a child.
pub(crate) struct Streams {
    pub(crate) to_server: File,
    pub(crate) from_server: File,
}

impl Transport {
    fn spawn(mut command: Command, group: bool, ui: &Arc<Ui>) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stderr = Stderr::drain(child.stderr.take(), ui)?;
        Ok(Self { child, group, left: false, stderr })
    }

    /// Takes the streams; once.
    pub(crate) fn streams(&mut self) -> io::Result<Streams> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let to_server = OwnedFd::from(self.child.stdin.take().ok_or_else(gone)?);
        let from_server = OwnedFd::from(self.child.stdout.take().ok_or_else(gone)?);
        for pipe in [to_server.as_fd(), from_server.as_fd()] {
            // Refused where the user's pipes hold too much already.
            let _ = PIPE_SIZES.iter().find(|size| fcntl_setpipe_size(pipe, **size).is_ok());
        }
        Ok(Streams { to_server: to_server.into(), from_server: from_server.into() })
    }

    /// From now on shows what the child writes to stderr; until now it was held back, because the first try
    /// may fail in a way that the second makes good.
    pub(crate) fn show_stderr(&self) {
        self.stderr.show();
    }

    /// The last thing that the child wrote to stderr, if it has not been shown yet.
    pub(crate) fn held_stderr(&self) -> Option<String> {
        self.stderr.last_held()
    }

    /// What ends the child from another thread.
    pub(crate) fn ender(&self) -> Option<Ender> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)?;
        Some(Ender { pid, group: self.group })
    }

    /// Ends the child, however it is.
    pub(crate) fn kill(&mut self) {
        // One that has been waited for has no id any more.
        match self.child.try_wait() {
            Ok(None) => self.ender().into_iter().for_each(Ender::end),
            _ => drop(self.child.kill()),
        }
    }

    /// Takes leave of a child whose server has answered everything, been told that no more comes, and still has blocks
    /// to store, which is its own business. A local command is waited for, as shells wait for theirs.
    pub(crate) fn leave(mut self) {
        if self.group {
            let _ = self.wait();
        } else {
            self.left = true;
        }
    }

    /// Waits for the child to end, now that nothing more is expected of it; ends it where it takes too long. A
    /// remote machine on which something goes on holding the connection must not hold the client.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(200);
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() >= deadline => {
                    self.kill();
                    break self.child.wait()?;
                }
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        self.stderr.finish();
        Ok(status)
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if !self.left {
            self.kill();
            let _ = self.wait();
        }
    }
}
