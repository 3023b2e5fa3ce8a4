//! What compressing a file is worth: how much each codec leaves of it, how fast it is here, and up to which speed
//! of the link that pays.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bcmr_wire::codec::{Decoder, Encoded, Encoder};
use bcmr_wire::limits::CODED_BLOCK;
use bcmr_wire::message::Algo;
use bcmr_wire::shown::shown;
use indicatif::BinaryBytes;

use crate::exit::Exit;
use crate::ui::Ui;

/// Blocks of a file that are tried, spread over it.
const SAMPLES: u64 = 64;

/// What one codec makes of a file.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Measured {
    /// The share of the content that goes on the wire, between 0 and 1.
    left: f64,
    /// Bytes of content per second.
    encode: f64,
    decode: f64,
}

impl Measured {
    /// The speed of a link, in bytes per second, below which encoding pays, where one thread encodes and writes:
    /// then the time for encoding is less than that for the bytes it saves, 1/E < (1 − r)/B.
    fn pays_below(&self) -> f64 {
        self.encode * (1.0 - self.left)
    }

    /// The speed of a link below which this codec, which leaves less, beats another that is faster; None where one
    /// of them is better at every speed. From 1/E₁ + r₁/B = 1/E₂ + r₂/B.
    fn beats_below(&self, other: &Self) -> Option<f64> {
        let (saved, spent) = (other.left - self.left, 1.0 / self.encode - 1.0 / other.encode);
        (saved > 0.0 && spent > 0.0).then(|| saved / spent)
    }
}

/// Probes files and prints what was found.
pub(crate) fn run(files: &[PathBuf]) -> Exit {
    let ui = Ui::asking();
    let mut exit = Exit::Done;
    for file in files {
        let printed = probe(file).and_then(|found| print(file, &found));
        if let Err(e) = printed {
            ui.error(&format!("{}: {e}", file.display()));
            exit = Exit::SomeFailed;
        }
    }
    exit
}

/// What was found out about a file.
struct Found {
    size: u64,
    zstd: Measured,
    lz4: Measured,
}

fn probe(path: &Path) -> io::Result<Found> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let blocks = sample(&mut file, metadata.len())?;
    if blocks.is_empty() {
        return Err(io::Error::other("is empty; there is nothing to compress"));
    }
    Ok(Found { size: metadata.len(), zstd: measure(Algo::Zstd, &blocks), lz4: measure(Algo::Lz4, &blocks) })
}

/// Whole blocks from all over the file, or all of a small one.
fn sample(file: &mut File, size: u64) -> io::Result<Vec<Vec<u8>>> {
    let block = CODED_BLOCK as u64;
    let blocks = size.div_ceil(block);
    let step = blocks.div_ceil(SAMPLES).max(1);
    let mut sampled = Vec::new();
    for at in (0..blocks).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(at * block))?;
        (&mut *file).take(block).read_to_end(&mut content)?;
        if !content.is_empty() {
            sampled.push(content);
        }
    }
    Ok(sampled)
}

fn measure(algo: Algo, blocks: &[Vec<u8>]) -> Measured {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let (mut content, mut wire) = (0, 0);
    let (mut encoding, mut decoding) = (Duration::ZERO, Duration::ZERO);
    for block in blocks {
        let start = Instant::now();
        let encoded = encoder.encode(algo, block);
        encoding += start.elapsed();
        content += block.len();
        match encoded {
            Encoded::Raw(raw) => wire += raw.len(),
            Encoded::Compressed { algo, content, .. } => {
                wire += content.len();
                let start = Instant::now();
                let decoded = decoder.decode(algo, block.len(), content);
                decoding += start.elapsed();
                debug_assert!(decoded.is_ok_and(|decoded| decoded == block), "a codec that loses content");
            }
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "rates for people to read")]
    let (content, wire) = (content as f64, wire as f64);
    let rate = |time: Duration| content / time.as_secs_f64().max(1e-9);
    Measured { left: wire / content, encode: rate(encoding), decode: rate(decoding) }
}

fn print(path: &Path, found: &Found) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let name = path.display().to_string();
    writeln!(out, "{} ({})", shown(&name), BinaryBytes(found.size))?;
    writeln!(out, "  codec   left        encode        decode  pays on links below")?;
    for (codec, measured) in [("zstd", &found.zstd), ("lz4", &found.lz4)] {
        if measured.left >= 1.0 {
            writeln!(
                out,
                "  {codec:<5} {:>5}%  {:>12}  {:>12}  none: it does not shrink",
                100,
                speed(measured.encode),
                "-"
            )?;
            continue;
        }
        let decode = speed(measured.decode);
        writeln!(
            out,
            "  {codec:<5} {:>5.1}%  {:>12}  {decode:>12}  {}",
            measured.left * 100.0,
            speed(measured.encode),
            speed(measured.pays_below())
        )?;
    }
    match found.zstd.beats_below(&found.lz4) {
        Some(link) => writeln!(out, "  zstd beats lz4 on links below {}", speed(link)),
        None if found.zstd.left < found.lz4.left => writeln!(out, "  zstd beats lz4 on every link"),
        None if found.lz4.left < 1.0 => writeln!(out, "  lz4 beats zstd on every link"),
        None => Ok(()),
    }
}

fn speed(bytes_per_second: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates for people to read")]
    let whole = bytes_per_second.max(0.0) as u64;
    format!("{}/s", BinaryBytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codec_pays_below_its_speed_times_what_it_saves() {
        let zstd = Measured { left: 0.4, encode: 100.0, decode: 400.0 };
        assert!((zstd.pays_below() - 60.0).abs() < 1e-9);
    }

    #[test]
    fn at_the_crossover_both_codecs_take_the_same_time() {
        let zstd = Measured { left: 0.4, encode: 100.0, decode: 400.0 };
        let lz4 = Measured { left: 0.6, encode: 400.0, decode: 2000.0 };
        let link = zstd.beats_below(&lz4).unwrap();
        let time = |codec: &Measured, link: f64| 1.0 / codec.encode + codec.left / link;
        assert!((time(&zstd, link) - time(&lz4, link)).abs() < 1e-12);
        assert!(time(&zstd, link * 0.9) < time(&lz4, link * 0.9));
        assert!(time(&zstd, link * 1.1) > time(&lz4, link * 1.1));
    }

    #[test]
    fn a_codec_that_is_better_in_both_has_no_crossover() {
        let better = Measured { left: 0.4, encode: 500.0, decode: 400.0 };
        let worse = Measured { left: 0.6, encode: 400.0, decode: 400.0 };
        assert_eq!(better.beats_below(&worse), None);
        assert_eq!(worse.beats_below(&better), None);
    }
}
