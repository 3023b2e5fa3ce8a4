//! Paths as they come over the wire, checked when parsed.

use std::fmt;

use thiserror::Error;

use crate::limits::MAX_PATH;

/// Why a path from the wire is refused before anything is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PathError {
    /// Longer than [`MAX_PATH`] bytes.
    #[error("path is longer than {MAX_PATH} bytes")]
    TooLong,
    /// Holds a NUL byte.
    #[error("path holds a NUL byte")]
    Nul,
    /// Has a `..` component. The phrase is one that clients in the field look for.
    #[error("path escapes server root: it has a '..' component")]
    Parent,
}

/// A path without `..`, NUL, empty and `.` components, at most [`MAX_PATH`] bytes (wire-v2, "Paths"). Whether
/// it may be used, and relative to what, is not known here.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct RemotePath {
    normal: String,
    absolute: bool,
}

impl RemotePath {
    /// Parses a path as it stands in a request.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_PATH {
            return Err(PathError::TooLong);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let mut normal = String::with_capacity(text.len());
        for component in text.split('/') {
            match component {
                "" | "." => {}
                ".." => return Err(PathError::Parent),
                name => {
                    if !normal.is_empty() {
                        normal.push('/');
                    }
                    normal.push_str(name);
                }
            }
        }
        Ok(Self { normal, absolute: text.starts_with('/') })
    }

    /// Whether the path began with `/`.
    #[must_use]
    pub const fn is_absolute(&self) -> bool {
        self.absolute
    }

    /// The components joined by single slashes, without a leading or trailing one; empty for the start.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.normal
    }

    /// The components, from the start.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.normal.split('/').filter(|name| !name.is_empty())
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.absolute {
            f.write_str("/")?;
        }
        f.write_str(&self.normal)
    }
}
