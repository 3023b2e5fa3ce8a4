//! Commands that ask a server something, and print its answer on stdout.

mod doctor;
mod entry;

use std::ffi::OsString;
use std::sync::Arc;

use bcmr_wire::Message;

pub(crate) use self::doctor::doctor;
use self::entry::Entry;
use crate::cli::{ConnectionArgs, LsArgs, RemoteArgs};
use crate::copy::dial::Dialer;
use crate::copy::{Outcomes, Settings};
use crate::exchange::{Dead, Exchange, Reply};
use crate::exit::{Exit, Fatal};
use crate::output::line as print;
use crate::target::{Remote, Target};
use crate::ui::Ui;

/// What is asked of each path. A refusal, or whatever else concerns that path alone, is the inner error.
type Question = fn(&mut Exchange, &str, bool) -> Result<Result<(), String>, Dead>;

pub(crate) fn ls(args: &LsArgs, connection: &ConnectionArgs) -> Exit {
    ask(&args.remote, connection, if args.recursive { list_all } else { list_one })
}

pub(crate) fn stat(args: &RemoteArgs, connection: &ConnectionArgs) -> Exit {
    ask(args, connection, stat_one)
}

pub(crate) fn du(args: &RemoteArgs, connection: &ConnectionArgs) -> Exit {
    ask(args, connection, sum_up)
}

pub(crate) fn hash(args: &RemoteArgs, connection: &ConnectionArgs) -> Exit {
    ask(args, connection, hash_one)
}

pub(crate) fn mkdir(args: &RemoteArgs, connection: &ConnectionArgs) -> Exit {
    ask(args, connection, make_one)
}

/// Asks the question of every path, each of which may be on another machine.
fn ask(args: &RemoteArgs, connection: &ConnectionArgs, question: Question) -> Exit {
    let ui = Arc::new(Ui::asking());
    let outcomes = Arc::new(Outcomes::new(Arc::clone(&ui), Settings::asking(connection, true)));
    let mut failed = false;
    for path in &args.paths {
        let asked = remote(path, connection).and_then(|to| {
            let mut link = Dialer::new(&to.host, to.path.is_absolute(), connection, &outcomes).dial()?;
            match question(&mut link, to.path.as_str(), args.json) {
                Ok(answer) => {
                    link.close();
                    Ok(answer)
                }
                Err(Dead) => Err(link.lost()),
            }
        });
        match asked {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                ui.error(&why);
                failed = true;
            }
            Err(Fatal { exit, message, .. }) => {
                ui.error(&message);
                return exit;
            }
        }
    }
    if failed { Exit::SomeFailed } else { Exit::Done }
}

fn remote(path: &OsString, connection: &ConnectionArgs) -> Result<Remote, Fatal> {
    match Target::parse(path, connection.via.is_some()) {
        Ok(Target::Remote(remote)) => Ok(remote),
        Ok(Target::Local(_)) => {
            Err(Fatal::usage(format!("{}: is local; a path on a server is host:path", path.display())))
        }
        Err(e) => Err(Fatal::usage(e.to_string())),
    }
}

fn listed(link: &mut Exchange, path: &str, json: bool, all: bool) -> Result<Result<(), String>, Dead> {
    match link.call(&Message::List { path })? {
        Reply::List(list) => {
            for entry in list.iter().filter(|entry| all || !entry.path.contains('/')) {
                let entry =
                    Entry { path: &entry.path, size: entry.size, mtime: entry.mtime, is_dir: entry.is_dir };
                print(&if json { entry.json() } else { entry.line() });
            }
            // A file lists as empty.
            if list.is_empty() { stat_file(link, path, json) } else { Ok(Ok(())) }
        }
        Reply::Error(error) => Ok(Err(error.about(path))),
        _ => Err(Dead),
    }
}

fn list_one(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    listed(link, path, json, false)
}

fn list_all(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    listed(link, path, json, true)
}

/// Prints what a path is where that is no directory.
fn stat_file(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    match link.call(&Message::Stat { path })? {
        Reply::Stat(stat) if !stat.is_dir => {
            let entry = Entry { path, size: stat.size, mtime: stat.mtime, is_dir: false };
            print(&if json { entry.json() } else { entry.line() });
            Ok(Ok(()))
        }
        // An empty directory, or an account that may list and not look.
        _ => Ok(Ok(())),
    }
}

fn stat_one(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    match link.call(&Message::Stat { path })? {
        Reply::Stat(stat) => {
            let entry = Entry { path, size: stat.size, mtime: stat.mtime, is_dir: stat.is_dir };
            print(&if json { entry.json() } else { entry.line() });
            Ok(Ok(()))
        }
        Reply::Error(error) => Ok(Err(error.about(path))),
        _ => Err(Dead),
    }
}

fn sum_up(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    let stat = match link.call(&Message::Stat { path })? {
        Reply::Stat(stat) => stat,
        Reply::Error(error) => return Ok(Err(error.about(path))),
        _ => return Err(Dead),
    };
    let (mut bytes, mut files) = (stat.size, 1);
    if stat.is_dir {
        match link.call(&Message::List { path })? {
            Reply::List(list) => {
                let all = list.iter().filter(|entry| !entry.is_dir);
                (bytes, files) = all.fold((0, 0), |(bytes, files), entry| (bytes + entry.size, files + 1));
            }
            Reply::Error(error) => return Ok(Err(error.about(path))),
            _ => return Err(Dead),
        }
    }
    print(&entry::sum(path, bytes, files, json));
    Ok(Ok(()))
}

fn hash_one(link: &mut Exchange, path: &str, json: bool) -> Result<Result<(), String>, Dead> {
    // Its size, for how long it may take.
    let size = match link.call(&Message::Stat { path })? {
        Reply::Stat(stat) => stat.size,
        _ => 0,
    };
    let hash = link.ask_through(&Message::Hash { path, offset: 0, limit: None }, size)?;
    match link.wait(&hash)? {
        Reply::Hash(hash) => {
            print(&entry::hash(path, &hash, json));
            Ok(Ok(()))
        }
        Reply::Error(error) => Ok(Err(error.about(path))),
        _ => Err(Dead),
    }
}

fn make_one(link: &mut Exchange, path: &str, _json: bool) -> Result<Result<(), String>, Dead> {
    match link.call(&Message::Mkdir { path })? {
        Reply::Ok(_) => Ok(Ok(())),
        Reply::Error(error) => Ok(Err(error.about(path))),
        _ => Err(Dead),
    }
}
