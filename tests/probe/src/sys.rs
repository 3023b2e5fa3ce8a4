//! System calls as the kernel has them: any number, any arguments. The one file of the project with unsafe code,
//! none of which ships.
#![allow(unsafe_code, reason = "a probe makes the calls that no safe wrapper offers")]

use std::io::Error;

/// A call that was answered: its result, or the error's number.
pub(crate) type Answer = Result<usize, i32>;

/// Makes a system call.
///
/// What pointers among the arguments lead to must outlive the process's use of them; `attempts` leaks it.
pub(crate) fn call(number: i64, args: [usize; 6]) -> Answer {
    let [a, b, c, d, e, f] = args;
    // SAFETY: a probe may break itself; nothing in this process is worth more than the answer.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    usize::try_from(result).map_err(|_| errno())
}

/// getpid by way of the 32-bit entry of the kernel, whose numbers are others. Where the kernel has no such entry,
/// the process dies of SIGSEGV.
#[cfg(target_arch = "x86_64")]
pub(crate) fn call_by_the_32_bit_entry() -> Answer {
    const GETPID: i64 = 20;
    let result: i64;
    // SAFETY: getpid takes no arguments and touches no memory; the entry may clobber r8 to r11.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") GETPID => result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    usize::try_from(result).map_err(|_| libc::EINVAL)
}

fn errno() -> i32 {
    Error::last_os_error().raw_os_error().unwrap_or_default()
}
