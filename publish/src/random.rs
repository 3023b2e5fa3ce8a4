//! Random bytes, also where the kernel has no getrandom(2) (Linux before 3.17) or a container's filter forbids it.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::rand::{GetRandomFlags, getrandom};

/// /dev/urandom, held open from the first time that it is needed: a sandbox that comes later lets nobody open it.
static DEVICE: OnceLock<OwnedFd> = OnceLock::new();

/// `N` random bytes, at most 256. Whoever goes into a sandbox asks once before it.
///
/// # Errors
/// Errno of getrandom(2); where that is not to be had, of /dev/urandom.
pub fn bytes<const N: usize>() -> Result<[u8; N], Errno> {
    const { assert!(N <= 256, "more does not come in one piece") }
    let mut bytes = [0; N];
    // Up to 256 bytes come whole once the kernel's pool is ready (getrandom(2)).
    match retry_on_intr(|| getrandom(&mut bytes, GetRandomFlags::empty())) {
        Ok(_) => Ok(bytes),
        Err(Errno::NOSYS | Errno::PERM) => from_device(),
        Err(errno) => Err(errno),
    }
}

fn from_device<const N: usize>() -> Result<[u8; N], Errno> {
    let device = match DEVICE.get() {
        Some(device) => device,
        None => {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let opened = retry_on_intr(|| openat(CWD, "/dev/urandom", flags, Mode::empty()))?;
            DEVICE.get_or_init(|| opened)
        }
    };
    let mut bytes = [0; N];
    // As many come at once (random(4)); fewer would leave zeros that anyone can guess.
    if retry_on_intr(|| read(device, &mut bytes))? == N { Ok(bytes) } else { Err(Errno::IO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_gives_other_bytes_each_time() {
        let (a, b) = (from_device::<16>().unwrap(), from_device::<16>().unwrap());
        assert!(a != b && a != [0; 16]);
    }
}
