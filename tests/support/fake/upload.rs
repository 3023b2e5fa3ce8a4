//! What a server may do to a client that uploads.

use std::process::ExitCode;
use std::time::Duration;

use bcmr_wire::limits::MAX_PAYLOAD;
use bcmr_wire::{Message, Type};

use crate::link::{Link, Played};

/// What our server's Errors end in.
const OURS: &str = "no room (session 0123456789abcdef)";

/// Answers Puts of names that begin with `bad` in the given way, others honestly. Says that nothing exists.
pub(crate) fn puts(how: &str) -> Played<ExitCode> {
    let mut link = Link::greeted()?;
    let (mut bad, mut refused, mut seen) = (false, false, 0);
    let mut hasher = blake3::Hasher::new();
    if how == "ok-first" {
        link.send(&Message::Ok { hash: None })?;
    }
    while let Some(request) = link.request()? {
        match request.kind {
            Type::Put => {
                (bad, refused, seen) = (request.path.starts_with("bad"), false, 0);
                hasher.reset();
            }
            Type::Data if refused => {}
            Type::Data => {
                seen += request.content.len();
                hasher.update(&request.content);
                if bad && seen > 8 * 1024 * 1024 {
                    refused = true;
                    if let Some(code) = in_the_middle(&mut link, how)? {
                        return Ok(code);
                    }
                }
            }
            Type::Done if refused => {}
            Type::Done => match how {
                "another-hash" if bad => link.send(&Message::Ok { hash: Some(&"0".repeat(64)) })?,
                "no-hash" if bad => link.send(&Message::Ok { hash: None })?,
                "ok-twice" if bad => {
                    for _ in 0..2 {
                        link.send(&Message::Ok { hash: Some(&hasher.finalize().to_hex()) })?;
                    }
                }
                "control-characters" if bad => link.error("no\x1b[2J\nbcmr: 1 file copied")?,
                "another-reply" if bad => link.stat(false)?,
                _ => link.send(&Message::Ok { hash: Some(&hasher.finalize().to_hex()) })?,
            },
            Type::Mkdir => link.send(&Message::Ok { hash: None })?,
            _ => link.error("no such file")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn in_the_middle(link: &mut Link, how: &str) -> Played<Option<ExitCode>> {
    match how {
        "refused-by-ours" => link.error(OURS)?,
        // It says when, and from then on takes next to nothing.
        "refused-then-slow" => {
            eprintln!("refused");
            link.error(OURS)?;
            std::thread::sleep(Duration::from_secs(5));
        }
        // It takes no byte more, so that the client is stopped in the middle of a write when it learns why.
        "stuck-then-refused" => {
            std::thread::sleep(Duration::from_millis(300));
            link.error("no room")?;
            std::thread::sleep(Duration::from_secs(3600));
        }
        "stuck-then-talkative" => {
            std::thread::sleep(Duration::from_millis(300));
            while link.error("no room").is_ok() {}
            return Ok(Some(ExitCode::FAILURE));
        }
        "refused-at-length" => {
            let len = MAX_PAYLOAD + 4096;
            link.raw(&u32::try_from(len)?.to_le_bytes())?;
            link.raw(&[Type::Error as u8])?;
            let _ = link.raw(&vec![b'7'; len - 1]);
        }
        "end" => return Ok(Some(ExitCode::FAILURE)),
        _ => {}
    }
    Ok(None)
}
