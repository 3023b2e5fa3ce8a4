use std::time::Duration;

use indicatif::{BinaryBytes, HumanDuration};

use super::meter::Meter;

/// One line at the end: files, bytes, time, rate, bytes on the wire.
pub(super) fn summary(meter: &Meter, elapsed: Duration) -> String {
    let files = meter.files();
    let already = match meter.already() {
        0 => String::new(),
        n => format!(" ({n} already there)"),
    };
    let present = match meter.present() {
        0 => String::new(),
        bytes => format!(" ({} were already there)", BinaryBytes(bytes)),
    };
    format!(
        "{files} {}{already}, {}{present} in {}, {}/s, {} on the wire",
        if files == 1 { "file" } else { "files" },
        BinaryBytes(meter.copied()),
        seconds(elapsed),
        BinaryBytes(rate(meter.copied(), elapsed)),
        BinaryBytes(meter.wire()),
    )
}

/// What a line of progress says.
pub(super) fn progress(meter: &Meter, elapsed: Duration) -> String {
    let of = meter.expected().map(|all| format!(" of {}", BinaryBytes(all))).unwrap_or_default();
    format!(
        "{} files, {}{of}, {}/s, {}",
        meter.files(),
        BinaryBytes(meter.moved()),
        BinaryBytes(rate(meter.moved(), elapsed)),
        HumanDuration(elapsed),
    )
}

/// The same in few columns.
pub(super) fn narrow(meter: &Meter, elapsed: Duration) -> String {
    let (moved, rate) = (meter.moved(), rate(meter.moved(), elapsed));
    format!("{} {}/s", BinaryBytes(moved), BinaryBytes(rate))
}

fn seconds(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(60) {
        format!("{:.2} s", elapsed.as_secs_f64())
    } else {
        HumanDuration(elapsed).to_string()
    }
}

fn rate(bytes: u64, elapsed: Duration) -> u64 {
    let millis = elapsed.as_millis().max(1);
    u64::try_from(u128::from(bytes) * 1000 / millis).unwrap_or(u64::MAX)
}
