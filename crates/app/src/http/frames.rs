//! The frame header of HTTP/2 (RFC 9113, section 4.1): a 24-bit length, a type, flags and the stream.

/// Size of a frame header in bytes.
pub(super) const HEADER: usize = 9;
/// Largest payload of a frame under the default settings (RFC 9113, section 4.2), in bytes.
pub(super) const MAX_PAYLOAD: u64 = 1 << 14;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of an object. `ends` is the END_STREAM flag.
    Data { ends: bool },
    /// The text of a request, or of a response header.
    Headers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub kind: Kind,
    pub stream: u32,
    /// Length of the payload in bytes.
    pub len: u32,
}

impl Frame {
    pub fn encode(self) -> [u8; HEADER] {
        let (kind, flags) = match self.kind {
            Kind::Data { ends } => (DATA, if ends { END_STREAM } else { 0 }),
            Kind::Headers => (HEADERS, 0),
        };
        let [_, a, b, c] = self.len.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [a, b, c, kind, flags, s0, s1, s2, s3]
    }

    /// Parses a frame header. Returns `Ok(None)` if the header is incomplete. Returns the frame's type as an error if
    /// the type is not supported.
    pub fn decode(input: &[u8]) -> Result<Option<Frame>, u8> {
        let Some(&[a, b, c, kind, flags, s0, s1, s2, s3]) = input.first_chunk::<HEADER>() else { return Ok(None) };
        let kind = match kind {
            DATA => Kind::Data { ends: flags & END_STREAM != 0 },
            HEADERS => Kind::Headers,
            other => return Err(other),
        };
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        Ok(Some(Frame { kind, stream, len: u32::from_be_bytes([0, a, b, c]) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_frame_decodes_to_the_same_frame() {
        for kind in [Kind::Headers, Kind::Data { ends: false }, Kind::Data { ends: true }] {
            let frame = Frame { kind, stream: 0x0102_0304, len: 0x0a_0b0c };
            assert_eq!(Frame::decode(&frame.encode()), Ok(Some(frame)));
        }
        assert_eq!(Frame::decode(&[0; 8]), Ok(None), "not whole");
        assert_eq!(Frame::decode(&[0, 0, 0, 7, 0, 0, 0, 0, 0]), Err(7));
    }
}
