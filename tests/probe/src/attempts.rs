//! What is tried. Each attempt works where nothing holds the process; some need root for that.

mod files;
mod processes;

use std::ffi::CString;

use crate::sys::{Answer, call};

/// Where an attempt finds what it wants.
pub(crate) struct Place {
    pub(crate) root: String,
    pub(crate) outside: String,
}

impl Place {
    fn secret(&self) -> usize {
        text(&format!("{}/secret", self.outside))
    }

    fn beside_secret(&self, name: &str) -> usize {
        text(&format!("{}/{name}", self.outside))
    }

    fn inside(&self, name: &str) -> usize {
        text(&format!("{}/{name}", self.root))
    }
}

/// An attempt that only has to be let go.
pub(crate) type Ready = Box<dyn FnOnce() -> Answer + Send>;

/// Something to be tried.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    ready: fn(&Place) -> Ready,
}

const fn attempt(name: &'static str, ready: fn(&Place) -> Ready) -> Attempt {
    Attempt { name, ready }
}

/// Every attempt.
pub(crate) const ALL: &[Attempt] = &{
    const FILES: [Attempt; files::ALL.len()] = files::ALL;
    const PROCESSES: [Attempt; processes::ALL.len()] = processes::ALL;
    let mut all = [const { attempt("", |_| Box::new(|| Ok(0))) }; FILES.len() + PROCESSES.len()];
    let mut i = 0;
    while i < all.len() {
        let from = if i < FILES.len() { &FILES[i] } else { &PROCESSES[i - FILES.len()] };
        all[i] = Attempt { name: from.name, ready: from.ready };
        i += 1;
    }
    all
};

/// Makes an attempt ready by its name, or any call by its number.
pub(crate) fn ready(words: &[&str], place: &Place) -> Result<Ready, String> {
    match words {
        ["raw", number] => {
            let number = number.parse().map_err(|_| format!("'{number}' is no number"))?;
            Ok(raw(number, [usize::MAX; 6]))
        }
        [name] => {
            let found = ALL.iter().find(|attempt| attempt.name == *name);
            found.map(|attempt| (attempt.ready)(place)).ok_or_else(|| format!("no attempt '{name}'"))
        }
        _ => Err("no attempt is named".to_owned()),
    }
}

/// A call to be made as it is.
fn raw(number: i64, args: [usize; 6]) -> Ready {
    Box::new(move || call(number, args))
}

/// A call with up to six arguments; the rest are 0.
fn of<const N: usize>(number: i64, args: [usize; N]) -> Ready {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&args);
    raw(number, all)
}

/// A text's address, good for as long as the process lives.
fn text(text: &str) -> usize {
    CString::new(text).unwrap_or_default().into_raw() as usize
}

/// The address of bytes that live as long as the process.
fn bytes<const N: usize>(bytes: [u8; N]) -> usize {
    Box::leak(Box::new(bytes)).as_mut_ptr() as usize
}

/// The address of words that live as long as the process.
fn words<const N: usize>(words: [u64; N]) -> usize {
    Box::leak(Box::new(words)).as_mut_ptr() as usize
}

const fn arg(value: i32) -> usize {
    value as isize as usize
}

const HERE: usize = arg(libc::AT_FDCWD);
