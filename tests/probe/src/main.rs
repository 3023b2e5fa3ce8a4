//! Goes into the server's own sandbox and tries to get out, one attempt a process:
//! `bcmr-probe POLICY PROFILE OUTSIDE [free|main|thread] ATTEMPT`
//!
//! `free` tries without a sandbox, `main` from the main thread, `thread` from another one. OUTSIDE is a
//! directory beside the profile's root that holds a file `secret`; the root holds a file `f`. What came of it is
//! on stdout: `done N` or `errno N`. A filter that kills leaves nothing there.
//!
//! `bcmr-probe --list` names the attempts; besides, `raw N` makes system call N with arguments that are all -1.

mod attempts;
mod sys;

use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use bcmr_policy::sandbox::{self, Sandboxed};
use bcmr_policy::{Account, Passwd, PolicyFile, Rules};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::getuid;

use attempts::Place;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["--list"] => {
            attempts::ALL.iter().for_each(|attempt| println!("{}", attempt.name));
            ExitCode::SUCCESS
        }
        [policy, profile, outside, whence, ref attempt @ ..] => {
            match try_it(policy, profile, outside, whence, attempt) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => {
                    eprintln!("bcmr-probe: {why}");
                    ExitCode::from(70)
                }
            }
        }
        _ => {
            eprintln!("usage: bcmr-probe POLICY PROFILE OUTSIDE free|main|thread ATTEMPT");
            ExitCode::from(64)
        }
    }
}

fn try_it(policy: &str, profile: &str, outside: &str, whence: &str, attempt: &[&str]) -> Result<(), String> {
    let rules = rules(policy, profile)?;
    let place = Place { root: rules.root.to_string_lossy().into_owned(), outside: outside.to_owned() };
    // What an attempt needs is made ready while that is still allowed.
    let ready = attempts::ready(attempt, &place)?;
    let _sandboxed = if whence == "free" { None } else { Some(enter(&rules)?) };
    let answer = match whence {
        "thread" => std::thread::spawn(ready).join().map_err(|_| "the thread panicked".to_owned())?,
        _ => ready(),
    };
    match answer {
        Ok(result) => println!("done {result}"),
        Err(errno) => println!("errno {errno}"),
    }
    Ok(())
}

fn rules(policy: &str, profile: &str) -> Result<Rules, String> {
    let text = std::fs::read_to_string(policy).map_err(|e| format!("{policy}: {e}"))?;
    let policy = PolicyFile::parse(&text, Path::new(policy)).map_err(|e| e.to_string())?;
    let passwd = Some(Passwd { name: "probe".to_owned(), home: "/nonexistent".into() });
    let account = Account { uid: getuid().as_raw(), passwd, logname: None };
    policy.rules(profile, &account).map_err(|e| e.to_string())
}

/// What the server does between reading its policy and starting its second thread.
fn enter(rules: &Rules) -> Result<Sandboxed, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |path: &Path| openat(CWD, path, flags, Mode::empty());
    let root = open(&rules.root).map_err(|e| format!("the root: {e}"))?;
    let state = open(&rules.state).ok();
    let sandboxed = sandbox::enter(rules, root.as_fd(), state.as_ref().map(AsFd::as_fd));
    sandboxed.map_err(|e| e.to_string())
}
