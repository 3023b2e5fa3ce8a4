//! Values with units.

use std::time::Duration;

/// Space that must stay free on a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Free {
    /// Bytes.
    Bytes(u64),
    /// Hundredths of the whole.
    Percent(u8),
}

impl Free {
    /// The bytes that must stay free on a file system of `total` bytes.
    #[must_use]
    pub fn of(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                u64::try_from(u128::from(total) * u128::from(percent) / 100).unwrap_or(u64::MAX)
            }
        }
    }
}

/// `20GiB`, `512`, `0`: bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 6] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)];
    let wrong = || {
        format!("'{text}' is no size: write a whole number with B, KiB, MiB, GiB or TiB, such as \"20GiB\"")
    };
    let (number, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?.trim_end(), *shift)))
        .ok_or_else(wrong)?;
    let number = whole(number).ok_or_else(wrong)?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' is larger than any file"))
}

/// A size, or `5%`.
pub(crate) fn free(text: &str) -> Result<Free, String> {
    let Some(percent) = text.strip_suffix('%') else { return size(text).map(Free::Bytes) };
    let percent = whole(percent.trim_end()).and_then(|percent| u8::try_from(percent).ok());
    match percent {
        Some(percent) if percent <= 99 => Ok(Free::Percent(percent)),
        _ => Err(format!("'{text}' is no share of a file system: write 0% to 99%")),
    }
}

/// `10m`, `30s`, `2h`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 3] = [('s', 1), ('m', 60), ('h', 3600)];
    let wrong = || format!("'{text}' is no time: write a whole number with s, m or h, such as \"10m\"");
    let (number, seconds) = UNITS
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?.trim_end(), *seconds)))
        .ok_or_else(wrong)?;
    let seconds = whole(number).and_then(|number| number.checked_mul(seconds)).ok_or_else(wrong)?;
    if seconds == 0 || seconds > 7 * 24 * 3600 {
        return Err(format!("'{text}' is not between one second and one week"));
    }
    Ok(Duration::from_secs(seconds))
}

/// `100MiB/s`: bytes per second.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no rate: write a size per second, such as \"100MiB/s\"");
    let rate =
        text.strip_suffix("/s").and_then(|size_text| size(size_text.trim_end()).ok()).ok_or_else(wrong)?;
    if rate < 1024 {
        Err(format!("'{text}' is below 1KiB/s, at which nothing would ever end"))
    } else {
        Ok(rate)
    }
}

/// `0640`: permission bits, in octal.
pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let wrong = || format!("'{text}' is no mode: write permission bits in octal, such as \"0640\"");
    if text.is_empty() || text.len() > 4 || !text.bytes().all(|b| matches!(b, b'0'..=b'7')) {
        return Err(wrong());
    }
    let mode = u32::from_str_radix(text, 8).map_err(|_| wrong())?;
    if mode > 0o777 {
        return Err(format!("'{text}' has set-id or sticky bits, which uploads never get"));
    }
    Ok(mode)
}

/// `40000-40100`, `40000`: ports.
pub(crate) fn ports(text: &str) -> Result<(u16, u16), String> {
    let wrong = || format!("'{text}' is no range of ports: write \"40000-40100\"");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port =
        |text: &str| whole(text.trim()).and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0);
    let (first, last) = (port(first).ok_or_else(wrong)?, port(last).ok_or_else(wrong)?);
    if first > last { Err(wrong()) } else { Ok((first, last)) }
}

/// Digits and nothing else; `parse` alone would take a sign.
fn whole(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_with_a_binary_unit() {
        assert_eq!(size("20GiB"), Ok(20 << 30));
        assert_eq!(size("1 TiB"), Ok(1 << 40));
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("0"), Ok(0));
        for wrong in
            ["", "GiB", "1.5GiB", "-1", "+1", "1GB", "1 gib", "1e3", "99999999999TiB", "0x10", "1GiBB"]
        {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_stop_short_of_the_whole() {
        assert_eq!(free("5%"), Ok(Free::Percent(5)));
        assert_eq!(free("1GiB"), Ok(Free::Bytes(1 << 30)));
        assert!(free("100%").is_err() && free("-5%").is_err() && free("5.5%").is_err());
        assert_eq!(Free::Percent(5).of(1000), 50);
        assert_eq!(Free::Percent(99).of(u64::MAX), u64::MAX / 100 * 99 + (u64::MAX % 100) * 99 / 100);
    }

    #[test]
    fn times_and_rates_have_a_unit_and_a_floor() {
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert!(time("10").is_err() && time("0s").is_err() && time("200h").is_err() && time("1d").is_err());
        assert_eq!(rate("100MiB/s"), Ok(100 << 20));
        assert!(rate("100MiB").is_err() && rate("1B/s").is_err());
    }

    #[test]
    fn modes_are_octal_permission_bits() {
        assert_eq!(mode("0640"), Ok(0o640));
        assert_eq!(mode("27"), Ok(0o27));
        for wrong in ["", "0o640", "980", "4755", "rw-r-----", "00640", "-640"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_are_a_range_that_goes_up() {
        assert_eq!(ports("40000-40100"), Ok((40000, 40100)));
        assert_eq!(ports("40000"), Ok((40000, 40000)));
        assert!(
            ports("2-1").is_err()
                && ports("0-5").is_err()
                && ports("1-70000").is_err()
                && ports("a-b").is_err()
        );
    }
}
