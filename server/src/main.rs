//! bcmr-serve: a hardened file-transfer server that sshd starts under ForceCommand.
//!
//! The boot order stands here; nothing of a client is read before the last of it is done.

mod asked;
mod boot;
mod connection;
mod exit;
mod failure;
mod id;
mod live;
mod reply;
mod session;
mod tree;
mod verbs;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bcmr_policy::Profile;

use boot::args::ServeArgs;
use boot::environment::Environment;
use connection::{Clock, Connection};
use exit::Exit;
use id::SessionId;
use live::LiveSlot;
use session::Session;
use tree::Tree;
use watch::{Signals, Watch};

/// How long a session may wait for its client.
const IDLE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let args = match boot::args::parse() {
        Ok(args) => args,
        Err(usage) => {
            let _ = usage.print();
            return if usage.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    match serve(args, &Environment::read()) {
        Ok(exit) => exit.into(),
        Err(why) => {
            exit::say(&why);
            Exit::Refused.into()
        }
    }
}

/// Boots, in this order, and serves one client.
fn serve(args: ServeArgs, environment: &Environment) -> Result<Exit, String> {
    boot::hygiene::apply().map_err(|e| format!("cannot prepare the process: {e}"))?;
    let signals = Signals::block().map_err(|e| format!("cannot block signals: {e}"))?;
    let id = SessionId::random().map_err(|e| format!("cannot draw a session id: {e}"))?;
    let streams = boot::streams::take().map_err(|e| format!("cannot take stdin and stdout: {e}"))?;
    let root = match boot::root::choose(args.root, environment).and_then(|path| boot::root::open(&path)) {
        Ok(root) => root,
        Err(why) => {
            reply::refuse(streams.output, id, "the server's root cannot be opened");
            return Err(why);
        }
    };

    let clock = Arc::new(Clock::new());
    let live = Arc::new(LiveSlot::default());
    let greeted = Arc::new(AtomicBool::new(false));
    let watch = Watch {
        signals,
        output: streams.hangup,
        clock: Arc::clone(&clock),
        greeted: Arc::clone(&greeted),
        live: Arc::clone(&live),
        idle: IDLE,
    };
    watch.start().map_err(|e| format!("cannot start a thread: {e}"))?;

    let connection = Connection::new(streams.input, streams.output, &clock);
    let tree = Tree::new(root.dir, root.fence.clone());
    let session = Session::new(id, connection, Profile::personal(root.fence), tree, live);
    Ok(session.run(|| greeted.store(true, Ordering::Relaxed)))
}
