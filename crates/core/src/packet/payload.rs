//! What a packet carries.

use std::fmt;
use std::sync::Arc;

/// What a packet carries: real bytes (live, and tests), or only how many there would be (sim).
#[derive(Clone, Default)]
pub struct Payload {
    len: u32,
    bytes: Option<Arc<Vec<u8>>>,
}

impl Payload {
    /// No data.
    pub const EMPTY: Payload = Payload { len: 0, bytes: None };

    /// A payload of which only the length exists.
    pub const fn virtual_len(len: u32) -> Payload {
        Payload { len, bytes: None }
    }

    /// A payload of real bytes.
    pub fn real(bytes: Vec<u8>) -> Payload {
        Payload { len: bytes.len() as u32, bytes: Some(Arc::new(bytes)) }
    }

    #[inline]
    pub(super) fn from_parts(len: u32, bytes: Option<Arc<Vec<u8>>>) -> Payload {
        Payload { len, bytes }
    }

    /// How many octets, and which, where they are real.
    #[inline]
    pub(super) fn into_parts(self) -> (u32, Option<Arc<Vec<u8>>>) {
        (self.len, self.bytes)
    }

    /// Number of bytes.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True if there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, where they are real.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_ref().map(|bytes| bytes.as_slice())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B{}", self.len, if self.bytes.is_some() { "" } else { " (synthetic)" })
    }
}
