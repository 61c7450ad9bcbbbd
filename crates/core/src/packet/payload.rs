//! The payload of a packet.

use std::fmt;
use std::sync::Arc;

/// The payload of a packet: bytes (in live mode and in tests), or only their number (in simulations).
#[derive(Clone, Default)]
pub struct Payload {
    len: u32,
    bytes: Option<Arc<Vec<u8>>>,
}

impl Payload {
    /// No data.
    pub const EMPTY: Payload = Payload { len: 0, bytes: None };

    /// Creates a payload that consists only of a length.
    pub const fn virtual_len(len: u32) -> Payload {
        Payload { len, bytes: None }
    }

    /// Creates a payload that consists of bytes.
    pub fn real(bytes: Vec<u8>) -> Payload {
        // Share the bytes: segments and retransmissions refer to the same data.
        Payload { len: bytes.len() as u32, bytes: Some(Arc::new(bytes)) }
    }

    #[inline]
    pub(super) fn from_parts(len: u32, bytes: Option<Arc<Vec<u8>>>) -> Payload {
        Payload { len, bytes }
    }

    /// Splits the payload into its length and its bytes. The bytes are `None` if the payload consists only of a length.
    #[inline]
    pub(super) fn into_parts(self) -> (u32, Option<Arc<Vec<u8>>>) {
        (self.len, self.bytes)
    }

    /// Number of bytes.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True if the length is 0.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes; `None` if the payload consists only of a length.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_ref().map(|bytes| bytes.as_slice())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B{}", self.len, if self.bytes.is_some() { "" } else { " (synthetic)" })
    }
}
