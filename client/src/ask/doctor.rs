//! The doctor command: whether a server can be reached, how fast it answers, what it can and what it allows.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bcmr_wire::shown::shown;
use bcmr_wire::{Caps, Message};

use crate::cli::{ConnectionArgs, DoctorArgs};
use crate::copy::dial::Dialer;
use crate::copy::{Outcomes, Settings};
use crate::exchange::{Dead, Exchange, Reply};
use crate::exit::{Exit, Fatal};
use crate::output::line as print;
use crate::target::{Host, Target};
use crate::ui::Ui;

/// Questions by which the time of one is measured.
const ROUNDS: u32 = 10;

/// A name that no server publishes anything under: asking to put it there tells whether one may, and changes nothing.
const RESERVED: &str = ".bcmr-00000000000000000000000000000000";

/// Connects, asks, and prints what came of it.
pub(crate) fn doctor(args: &DoctorArgs, connection: &ConnectionArgs) -> Exit {
    let ui = Arc::new(Ui::asking());
    let settings = Settings { caps: Caps(u8::MAX), ..Settings::asking(connection, false) };
    let outcomes = Arc::new(Outcomes::new(Arc::clone(&ui), settings));
    let looked = look(args, connection, &outcomes);
    match looked {
        Ok(()) => Exit::Done,
        Err(fatal) => {
            ui.error(&fatal.message);
            fatal.exit
        }
    }
}

fn look(args: &DoctorArgs, connection: &ConnectionArgs, outcomes: &Arc<Outcomes>) -> Result<(), Fatal> {
    let to = match Target::parse(args.target(), connection.via.is_some()) {
        Ok(Target::Remote(to)) => to,
        Ok(Target::Local(_)) => return Err(Fatal::usage(format!("{}: is no host", args.host))),
        Err(e) => return Err(Fatal::usage(e.to_string())),
    };
    print(&format!("bcmr           {}", env!("CARGO_PKG_VERSION")));
    if let Host::Ssh { .. } = to.host {
        print(&format!("ssh            {}", ssh_version()));
    }
    let mut dialer = Dialer::new(&to.host, to.path.is_absolute(), connection, outcomes);
    let started = Instant::now();
    let mut link = dialer.dial()?;
    print(&format!("connection     {:.0} ms from start to Welcome", started.elapsed().as_secs_f64() * 1e3));
    print(&format!("remote command {}", dialer.command()));
    print(&format!("version        {}", dialer.version().as_deref().unwrap_or("not told")));
    print(&format!("protocol       2, with {}", capabilities(link.caps)));
    print(&format!("codec          {}", codec(link.caps)));
    let asked = ask(&mut link);
    match asked {
        Ok(()) => {
            link.close();
            Ok(())
        }
        Err(Dead) => Err(link.lost()),
    }
}

fn ask(link: &mut Exchange) -> Result<(), Dead> {
    let started = Instant::now();
    for _ in 0..ROUNDS {
        link.call(&Message::Stat { path: "" })?;
    }
    let round = started.elapsed().as_secs_f64() * 1e3 / f64::from(ROUNDS);
    print(&format!("round trip     {round:.2} ms"));
    let path = RESERVED;
    let requests = [
        ("stat", Message::Stat { path }),
        ("list", Message::List { path }),
        ("hash", Message::Hash { path, offset: 0, limit: None }),
        ("get", Message::Get { path, offset: 0 }),
        ("put", Message::Put { path, size: 0, offset: 0, overwrite: false }),
        ("mkdir", Message::Mkdir { path }),
    ];
    let (mut may, mut may_not) = (Vec::new(), Vec::new());
    for (verb, request) in &requests {
        let reply = link.call(request)?;
        if *verb == "put" {
            // What is left of a refused Put is passed over up to this.
            link.requests.push(&Message::Done)?;
        }
        match reply {
            Reply::Error(error) if error.is_ours() && error.text.contains("may not") => may_not.push(*verb),
            Reply::Error(error) if error.is_ours() => may.push(*verb),
            _ => {}
        }
    }
    let list = |verbs: Vec<&str>| if verbs.is_empty() { "nothing".to_owned() } else { verbs.join(", ") };
    if may.is_empty() && may_not.is_empty() {
        print(&"verbs          unknown: another server than bcmr-serve");
    } else {
        print(&format!("allowed        {}", list(may)));
        print(&format!("not allowed    {}", list(may_not)));
    }
    Ok(())
}

/// What ssh says of itself, which it does on stderr.
fn ssh_version() -> String {
    match Command::new("ssh").arg("-V").output() {
        Ok(output) => shown(String::from_utf8_lossy(&output.stderr).trim()).to_string(),
        Err(e) => format!("cannot be started: {e}"),
    }
}

/// What blocks are encoded with on the way there.
fn codec(caps: Caps) -> &'static str {
    match (caps.has(Caps::ZSTD), caps.has(Caps::LZ4)) {
        (true, _) => "zstd, where that is faster",
        (false, true) => "lz4, where that is faster",
        (false, false) => "none",
    }
}

fn capabilities(caps: Caps) -> String {
    let all = [
        (Caps::LZ4, "lz4"),
        (Caps::ZSTD, "zstd"),
        (Caps::DEDUP, "dedup"),
        (Caps::FAST, "fast"),
        (Caps::SYNC, "sync"),
        (Caps::PUT_OFFSET, "put-offset"),
    ];
    let names: Vec<_> = all.iter().filter(|(cap, _)| caps.has(*cap)).map(|(_, name)| *name).collect();
    if names.is_empty() { "no capabilities".to_owned() } else { names.join(", ") }
}
