//! Capabilities: one byte that each end sends in its handshake; what both sent holds.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of capabilities (wire-v2, "Handshake and capabilities"). Unknown bits are kept as they came, so that a
/// round trip is exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caps(pub u8);

impl Caps {
    /// No capability.
    pub const NONE: Self = Self(0);
    /// The receiver may get LZ4 blocks.
    pub const LZ4: Self = Self(0x01);
    /// The receiver may get Zstd blocks; preferred where both codecs are agreed.
    pub const ZSTD: Self = Self(0x02);
    /// HaveBlocks and MissingBlocks are allowed in a Put.
    pub const DEDUP: Self = Self(0x04);
    /// Get computes no hash.
    pub const FAST: Self = Self(0x08);
    /// File and directory are flushed to disk before each Ok.
    pub const SYNC: Self = Self(0x10);
    /// OpenDirectChannel is allowed.
    pub const DIRECT_TCP: Self = Self(0x20);
    /// Every frame after Welcome is sealed; only on a direct connection.
    pub const AEAD: Self = Self(0x40);
    /// A Put may have an offset above 0.
    pub const PUT_OFFSET: Self = Self(0x80);

    /// Whether every capability of `other` is in this set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without the capabilities of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Caps {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Caps {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["LZ4", "ZSTD", "DEDUP", "FAST", "SYNC", "DIRECT_TCP", "AEAD", "PUT_OFFSET"];
        f.debug_set()
            .entries((0..8).filter(|bit| self.0 >> bit & 1 == 1).map(|bit: usize| NAMES[bit]))
            .finish()
    }
}
