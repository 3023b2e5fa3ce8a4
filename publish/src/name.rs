//! Reserved names: `.bcmr-` and 32 lower-case hex digits. The protocol can neither name, list nor touch them.

use std::fmt::Write;

use rustix::io::Errno;

const PREFIX: &str = ".bcmr-";
const DIGITS: usize = 32;

/// Whether `name` is reserved: exactly the prefix and 32 lower-case hex digits.
#[must_use]
pub fn is_reserved(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes()).is_some_and(|digits| {
        digits.len() == DIGITS && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A reserved name with 128 random bits, which nobody can have guessed.
///
/// # Errors
/// Where there are no random bits to be had.
pub fn random() -> Result<String, Errno> {
    let bits = crate::random::bytes::<{ DIGITS / 2 }>()?;
    let mut name = String::with_capacity(PREFIX.len() + DIGITS);
    name.push_str(PREFIX);
    for byte in bits {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_name_is_reserved_and_new_each_time() {
        let (a, b) = (random().unwrap(), random().unwrap());
        assert!(is_reserved(a.as_bytes()) && is_reserved(b.as_bytes()));
        assert_ne!(a, b);
    }

    #[test]
    fn names_near_the_pattern_are_peoples_own() {
        let hex = "0123456789abcdef0123456789abcdef";
        assert!(is_reserved(format!(".bcmr-{hex}").as_bytes()));
        let own = [
            format!(".bcmr-{}", hex.to_uppercase()),
            format!(".bcmr-{hex}0"),
            format!(".bcmr-{}", &hex[1..]),
            format!("bcmr-{hex}"),
            format!(".bcmr-{hex}.bak"),
            ".bcmr-".to_owned(),
        ];
        for name in own {
            assert!(!is_reserved(name.as_bytes()), "{name}");
        }
    }
}
