//! What a remote side may say instead of Welcome.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use bcmr_wire::{Caps, Message, VERSION};

use crate::link::{Link, Played};

/// `noise N` prints N lines; `error TEXT CODE` says why it does not serve and exits; `version N` speaks another
/// one; `reply` answers what was not asked; `nothing CODE` exits; `error-and-stay TEXT` does not exit.
pub(crate) fn greets(how: &[&str]) -> Played<ExitCode> {
    let mut link = Link::new()?;
    match how {
        ["noise", lines] => {
            let line = "You are being watched. \x1b[31mHave a nice day.\n";
            let mut out = std::io::stdout().lock();
            for _ in 0..lines.parse()? {
                out.write_all(line.as_bytes())?;
            }
            out.flush()?;
            // A shell would go on, and run what it was told to.
            std::thread::sleep(Duration::from_secs(3600));
        }
        ["error", text, code] => {
            link.error(text)?;
            return Ok(ExitCode::from(code.parse::<u8>()?));
        }
        ["error-and-stay", text] => {
            link.error(text)?;
            std::thread::sleep(Duration::from_secs(3600));
        }
        ["version", version] => {
            link.send(&Message::Welcome { version: version.parse()?, caps: Caps::NONE })?;
        }
        ["reply"] => link.stat(false)?,
        // Then it serves nobody; what was not asked for must not be used.
        ["all-capabilities"] => {
            link.request()?;
            link.send(&Message::Welcome { version: VERSION, caps: Caps(0xff) })?;
            while link.request()?.is_some() {
                link.error("no")?;
            }
        }
        ["nothing", code] => return Ok(ExitCode::from(code.parse::<u8>()?)),
        _ => return Err(format!("greets how? {how:?}").into()),
    }
    Ok(ExitCode::SUCCESS)
}
