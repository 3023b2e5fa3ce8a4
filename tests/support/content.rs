//! Content to send: always the same for the same arguments.

/// Bytes that no codec makes smaller.
#[must_use]
pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut content = vec![0; len];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut content);
    content
}

/// Bytes that every codec makes smaller.
#[must_use]
pub fn text(len: usize) -> Vec<u8> {
    let lines = (0u32..).flat_map(|line| format!("line {line} of a text that repeats itself\n").into_bytes());
    lines.take(len).collect()
}

/// BLAKE3 as the protocol writes it.
#[must_use]
pub fn hex(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
