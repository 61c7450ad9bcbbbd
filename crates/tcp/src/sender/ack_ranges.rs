//! The SACK blocks of an ACK, converted to stream offsets.

/// A range `[start, end)` of stream offsets. Offsets before the first byte are negative.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    pub start: i64,
    pub end: i64,
}

/// The SACK blocks of one ACK, at most 4, stored without heap allocation.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    items: [Range; 4],
    count: usize,
}

impl Ranges {
    pub fn push(&mut self, range: Range) {
        if self.count < self.items.len() {
            self.items[self.count] = range;
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[Range] {
        &self.items[..self.count]
    }
}
