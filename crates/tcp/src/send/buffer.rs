//! The written data that the peer has not acknowledged. Only the length of synthetic data is stored.

use lopsided_core::Payload;
use std::collections::VecDeque;
use std::ops::Range;

/// The send buffer. All positions are offsets from the first byte of the stream.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// Offset of the first stored byte.
    start: u64,
    /// Offset after the last written byte.
    end: u64,
    /// The bytes from `start` to `end`; `None` while all written data is synthetic.
    #[expect(clippy::box_collection, reason = "in a simulation, all data is synthetic")]
    bytes: Option<Box<VecDeque<u8>>>,
}

impl SendBuffer {
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Appends the first `len` bytes of the payload. After the first payload with real bytes, the buffer stores bytes
    /// for all data.
    pub fn push(&mut self, payload: &Payload, len: u32) {
        match (payload.bytes(), &mut self.bytes) {
            (Some(real), bytes) => {
                let kept = (self.end - self.start) as usize;
                bytes.get_or_insert_with(|| Box::new(VecDeque::from(vec![0; kept]))).extend(&real[..len as usize]);
            }
            (None, Some(bytes)) => bytes.extend(std::iter::repeat_n(0, len as usize)),
            (None, None) => {}
        }
        self.end += u64::from(len);
    }

    /// Returns the bytes `[from, from + len)` of the stream.
    pub fn slice(&self, from: u64, len: u32) -> Payload {
        match &self.bytes {
            None => Payload::virtual_len(len),
            Some(bytes) => {
                let at = (from - self.start) as usize;
                Payload::real(copied(bytes, at..at + len as usize))
            }
        }
    }

    /// Removes the bytes before `offset`, which the peer has acknowledged.
    pub fn release(&mut self, offset: u64) {
        if let Some(bytes) = &mut self.bytes {
            bytes.drain(..(offset - self.start) as usize);
        }
        self.start = offset;
    }
}

/// Copies a part of a ring buffer as two slices, because a copy byte by byte is slower.
pub(crate) fn copied(ring: &VecDeque<u8>, part: Range<usize>) -> Vec<u8> {
    let (front, back) = ring.as_slices();
    let cut = front.len();
    let mut octets = Vec::with_capacity(part.len());
    octets.extend_from_slice(&front[part.start.min(cut)..part.end.min(cut)]);
    octets.extend_from_slice(&back[part.start.max(cut) - cut..part.end.max(cut) - cut]);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_ring_buffer_is_copied_across_the_wrap() {
        let mut ring: VecDeque<u8> = (0..8).collect();
        ring.rotate_left(3);
        ring.drain(..5);
        ring.extend(8..13);
        let octets: Vec<u8> = ring.iter().copied().collect();
        for start in 0..=ring.len() {
            for end in start..=ring.len() {
                assert_eq!(copied(&ring, start..end), octets[start..end]);
            }
        }
    }
}
