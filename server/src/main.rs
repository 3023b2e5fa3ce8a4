//! bcmr-serve: a hardened file-transfer server that sshd starts under ForceCommand.
//!
//! The boot order stands here; nothing of a client is read before the last of it is done.

mod admin;
mod asked;
mod audit;
mod boot;
mod cas;
mod clock;
mod connection;
mod exit;
mod failure;
mod id;
mod kept;
mod live;
mod probe;
mod quota;
mod reply;
mod session;
mod state;
mod throttle;
mod tree;
mod verbs;
mod watch;

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bcmr_policy::Profile;
use bcmr_policy::sandbox::{self, Sandboxed};
use rustix::process::getuid;

use audit::{Audit, Context, Event};
use boot::args::{Command, ServeArgs};
use boot::audience::Audience;
use boot::denial::Denial;
use boot::environment::Environment;
use boot::original::Original;
use boot::streams::Streams;
use clock::Clock;
use connection::Connection;
use exit::Exit;
use id::SessionId;
use kept::Kept;
use live::LiveSlot;
use session::{Served, Session};
use tree::Tree;
use watch::{Signals, Watch};

fn main() -> ExitCode {
    let environment = Environment::read();
    let words = boot::environment::words();
    if let Some(asked) = boot::shell::asked(&words, boot::environment::own_path().as_deref()) {
        return serve(asked.map_err(Denial::not_bcmr), &environment).into();
    }
    match boot::args::parse(words, boot::version::text()) {
        Ok(Command::Serve(args)) => serve(Ok(args), &environment).into(),
        Ok(Command::Check(args)) => admin::check::check(args, &environment).into(),
        Ok(Command::Doctor(args)) => admin::doctor::doctor(&args, &environment).into(),
        Ok(Command::Sessions(args)) => admin::sessions::sessions(&args).into(),
        Ok(Command::Provision(args)) => admin::provision::provision(&args).into(),
        Ok(Command::Cas(args)) => admin::cas::cas(&args, &environment).into(),
        Ok(Command::Quota(args)) => admin::quota::quota(&args, &environment).into(),
        Ok(Command::Sweep(args)) => admin::sweep::sweep(args, &environment).into(),
        Err(usage) => {
            let _ = usage.print();
            if usage.use_stderr() { Exit::Usage } else { Exit::Done }.into()
        }
    }
}

/// Prepares the process, confines it, and serves one client; or says that it will not.
fn serve(args: Result<ServeArgs, Denial>, environment: &Environment) -> Exit {
    let (id, streams, signals) = match prepare() {
        Ok(prepared) => prepared,
        Err(why) => {
            exit::say(&format!("cannot prepare the process: {why}"));
            return Exit::Refused;
        }
    };
    let audience = Audience::of(&args, environment);
    let audit = Audit::new(
        boot::log::connect(),
        id,
        &Context {
            profile: audience.profile.as_deref(),
            label: audience.label.as_deref(),
            uid: getuid().as_raw(),
            peer: environment.peer(),
        },
    );
    match args.and_then(|args| confine(args, &audience.original, environment)) {
        Ok(site) => {
            let sandbox = site.sandboxed.report().to_string();
            let profile = &site.served.profile.rules.profile;
            let mut fields =
                vec![("profile", &**profile), ("peer", environment.peer()), ("sandbox", &sandbox)];
            fields.extend(site.not_kept.as_deref().map(|why| ("state", why)));
            audit.once(Event::Start, &fields);
            match audience.original {
                Original::Probe(probe) => {
                    let Site { served: Served { profile, tree, .. }, sandboxed, .. } = site;
                    let exit = probe::answer(&probe, &profile, &tree, &sandboxed, streams.output, &audit);
                    audit.end("a question was answered");
                    exit
                }
                Original::Serve | Original::Other => session(site, id, streams, signals, audit),
            }
        }
        Err(denial) => {
            audit.once(Event::Denied, &[("peer", environment.peer()), ("reason", &denial.why)]);
            audience.tell(&denial, streams.output, id);
            denial.exit
        }
    }
}

fn prepare() -> Result<(SessionId, Streams, Signals), String> {
    boot::hygiene::apply().map_err(|e| e.to_string())?;
    let id = SessionId::random().map_err(|e| e.to_string())?;
    let streams = boot::streams::take().map_err(|e| e.to_string())?;
    let signals = Signals::block().map_err(|e| e.to_string())?;
    Ok((id, streams, signals))
}

/// What may be served, by a process that can do nothing else any more.
struct Site {
    served: Served,
    /// Why less is kept between sessions than could be.
    not_kept: Option<String>,
    sandboxed: Sandboxed,
}

fn confine(args: ServeArgs, original: &Original, environment: &Environment) -> Result<Site, Denial> {
    let refused = |why: String| Denial::new("the server cannot confine itself as it must", why);
    if *original == Original::Other {
        return Err(Denial::not_bcmr(environment.asked_for()));
    }
    if boot::drain::draining() {
        return Err(Denial::draining());
    }
    let account = boot::account::own(environment);
    let personal = args.profile.is_none();
    let home = boot::root::Home::of(&account, personal);
    let rules = boot::policy::rules(args, &account, environment)?;
    if personal {
        boot::root::make_state(&rules.state);
    }
    let root = boot::root::open(&rules, &home)?;
    boot::hygiene::set_umask(&rules);
    let state = root.state.as_ref().map(AsFd::as_fd);
    let sandboxed = sandbox::enter(&rules, root.dir.as_fd(), state).map_err(|e| refused(e.to_string()))?;
    let profile = Profile { rules, fence: root.fence };
    let tree = Tree::new(root.dir, root.state.as_ref(), &profile).map_err(|e| refused(e.to_string()))?;
    let (kept, not_kept) = Kept::open(root.state.as_ref().map(AsFd::as_fd), &root.stat, &profile.rules)?;
    Ok(Site { served: Served { profile, tree, kept }, not_kept, sandboxed })
}

/// Serves one client. From here on there are two threads.
fn session(site: Site, id: SessionId, streams: Streams, signals: Signals, audit: Audit) -> Exit {
    let Site { served, sandboxed, .. } = site;
    let rules = &served.profile.rules;
    let audit = Arc::new(audit);
    let clock = Arc::new(Clock::new());
    let live = Arc::new(LiveSlot::default());
    let greeted = Arc::new(AtomicBool::new(false));
    let watch = Watch {
        signals,
        output: streams.hangup,
        clock: Arc::clone(&clock),
        greeted: Arc::clone(&greeted),
        live: Arc::clone(&live),
        audit: Arc::clone(&audit),
        idle: rules.idle,
    };
    if let Err(e) = watch.start() {
        // RLIMIT_NPROC, for instance; without a watch nothing would end a session that hangs.
        audit.once(Event::Denied, &[("reason", &format!("no thread could be started: {e}"))]);
        reply::refuse(streams.output, id, "the server is short of threads or memory, try again");
        return Exit::TryAgain;
    }
    let connection = Connection::new(streams.input, streams.output, &clock, rules.rate);
    let session = Session::new(id, Arc::clone(&audit), &sandboxed, connection, served, live);
    let exit = session.run(|| greeted.store(true, Ordering::Relaxed));
    audit.end(exit.word());
    exit
}
