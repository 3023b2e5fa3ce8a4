//! Every maximum of the protocol, with its unit, in one place.

/// Bytes of a frame's length prefix.
pub const LENGTH_PREFIX: usize = 4;

/// Bytes of a frame's header: the length prefix and the type byte.
pub const HEADER: usize = LENGTH_PREFIX + 1;

/// Bytes of the largest payload (type byte and body) of a frame.
pub const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// Bytes of the largest body: a payload less its type byte.
pub const MAX_BODY: usize = MAX_PAYLOAD - 1;

/// Bytes of the largest body of a request other than HaveBlocks.
pub const MAX_REQUEST: usize = 64 * 1024;

/// Bytes of the largest content block, decoded; also the one block size that dedup knows.
pub const MAX_BLOCK: usize = 4 * 1024 * 1024;

/// Bytes that stand before the content in a Data body: its length.
pub const DATA_HEADER: usize = 4;

/// Bytes that stand before the content in a DataCompressed body: algorithm, original size, length.
pub const COMPRESSED_HEADER: usize = 1 + 4 + 4;

/// Bytes in one raw block when nothing else fixes its size. 256 KiB stays in the second-level cache; smaller
/// frames cost system calls, larger ones cache misses.
pub const RAW_BLOCK: usize = 256 * 1024;

/// Bytes in one block that goes through a codec: large enough for the codec's window to pay.
pub const CODED_BLOCK: usize = 1024 * 1024;

/// Entries in one ListResponse, and hashes in one HaveBlocks.
pub const MAX_COUNT: usize = 1_048_576;

/// Bytes of the longest path on the wire: PATH_MAX less its terminating NUL.
pub const MAX_PATH: usize = 4095;

/// Bytes of the largest window that a Zstd frame may declare. Blocks are at most 4 MiB, so no honest encoder
/// asks for more than the next power of two above.
pub const MAX_ZSTD_WINDOW: u64 = 8 * 1024 * 1024;

/// A block goes compressed only if that leaves at most this share of its size, in percent.
pub const WORTH_PERCENT: usize = 95;

/// Bytes of a frame before a direct connection is authenticated.
pub const MAX_UNAUTHENTICATED: usize = 64;

/// Bytes of an AES-256-GCM tag.
pub const TAG: usize = 16;

/// Bytes of the largest sealed message after its length: a whole plain frame and the tag. The protocol states
/// the bound as 16 MiB + 16, so a plain frame that is sealed is at most 16 MiB with its own length prefix.
pub const MAX_SEALED: usize = MAX_PAYLOAD + TAG;

const _: () = {
    assert!(MAX_PAYLOAD <= u32::MAX as usize);
    assert!(DATA_HEADER + MAX_BLOCK < MAX_BODY);
    assert!(COMPRESSED_HEADER + MAX_BLOCK < MAX_BODY);
    assert!(RAW_BLOCK <= CODED_BLOCK && CODED_BLOCK <= MAX_BLOCK);
    assert!(MAX_PATH + 64 < MAX_REQUEST);
    assert!(MAX_ZSTD_WINDOW >= MAX_BLOCK as u64);
    assert!(WORTH_PERCENT < 100);
};
