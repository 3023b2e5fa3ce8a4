//! Authentication and sealing of a direct TCP connection (wire-v2, "Direct TCP").

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use thiserror::Error;

use crate::Hash;
use crate::limits::{LENGTH_PREFIX, MAX_SEALED, TAG};

/// What the challenge's answer is bound to besides the nonce.
const CONTEXT: &[u8] = b"bcmr-direct-v1";

/// The answer to a challenge: BLAKE3 keyed with the session key over the context and the nonce.
///
/// Compare answers as [`blake3::Hash`], whose equality takes constant time.
#[must_use]
pub fn answer(session_key: &[u8; 32], nonce: &[u8; 32]) -> blake3::Hash {
    blake3::Hasher::new_keyed(session_key).update(CONTEXT).update(nonce).finalize()
}

/// Whether `mac` answers the challenge `nonce`, in constant time.
#[must_use]
pub fn is_answer(session_key: &[u8; 32], nonce: &[u8; 32], mac: &Hash) -> bool {
    answer(session_key, nonce) == blake3::Hash::from_bytes(*mac)
}

/// Which way a sealed message goes; the first byte of its nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Direction {
    /// From the client to the server.
    ClientToServer = 1,
    /// From the server to the client.
    ServerToClient = 2,
}

/// Why a sealed connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SealError {
    /// A message's length is not between a tag and 16 MiB + a tag.
    #[error("a sealed message of {0} bytes")]
    Length(usize),
    /// The tag does not fit: altered, replayed, reordered, or another key.
    #[error("a sealed message failed authentication")]
    Tag,
    /// The counter is used up.
    #[error("the connection's message counter is used up")]
    Counter,
}

/// One direction of a sealed connection: key, direction and counter. The key is wiped on drop.
pub struct Sealed {
    cipher: Aes256Gcm,
    direction: Direction,
    counter: Option<u64>,
}

impl Sealed {
    /// A direction whose first message has counter 0.
    #[must_use]
    pub fn new(session_key: &[u8; 32], direction: Direction) -> Self {
        Self::from_counter(session_key, direction, 0)
    }

    /// A direction whose next message has the given counter.
    #[must_use]
    pub fn from_counter(session_key: &[u8; 32], direction: Direction, counter: u64) -> Self {
        let cipher = Aes256Gcm::new(&Key::<Aes256Gcm>::from(*session_key));
        Self { cipher, direction, counter: Some(counter) }
    }

    /// Appends the sealed form of a plain frame, its length included, to `out`.
    ///
    /// # Errors
    /// [`SealError::Length`] for a frame above 16 MiB, [`SealError::Counter`]; `out` is then as it was.
    pub fn seal(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        let sealed = frame.len() + TAG;
        let length = u32::try_from(sealed).ok().filter(|_| sealed <= MAX_SEALED);
        let length = length.ok_or(SealError::Length(sealed))?;
        let nonce = self.next_nonce()?;
        let content = self.cipher.encrypt(&nonce, frame).map_err(|_| SealError::Length(sealed))?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&content);
        Ok(())
    }

    /// The length that a message's prefix announces: bytes of content and tag that follow it.
    ///
    /// # Errors
    /// [`SealError::Length`].
    pub fn length(prefix: [u8; LENGTH_PREFIX]) -> Result<usize, SealError> {
        let length = u32::from_le_bytes(prefix) as usize;
        if (TAG..=MAX_SEALED).contains(&length) { Ok(length) } else { Err(SealError::Length(length)) }
    }

    /// Opens a message, given without its length prefix.
    ///
    /// # Errors
    /// [`SealError::Tag`] or [`SealError::Counter`]; the connection must end.
    pub fn open(&mut self, content: &[u8]) -> Result<Vec<u8>, SealError> {
        let nonce = self.next_nonce()?;
        self.cipher.decrypt(&nonce, content).map_err(|_| SealError::Tag)
    }

    fn next_nonce(&mut self) -> Result<Nonce<aes_gcm::aead::consts::U12>, SealError> {
        let counter = self.counter.ok_or(SealError::Counter)?;
        self.counter = counter.checked_add(1);
        let mut nonce = [0; 12];
        nonce[0] = self.direction as u8;
        nonce[1..9].copy_from_slice(&counter.to_le_bytes());
        Ok(nonce.into())
    }
}
