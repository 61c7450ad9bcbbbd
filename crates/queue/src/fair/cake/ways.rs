//! A set-associative hash table with 8 ways. Two keys share a place only if all 8 places of their set are in use.

use crate::fair::flow_hash::queue_of;

/// Number of places.
pub(super) const PLACES: usize = 1024;
const WAYS: usize = 8;

/// The key that each place was assigned to last.
#[derive(Debug)]
pub(super) struct Ways {
    tags: Vec<u64>,
}

impl Ways {
    pub fn new() -> Ways {
        Ways { tags: vec![0; PLACES] }
    }

    /// Returns the places that a hash may use, the preferred place first.
    pub fn set(hash: u64) -> impl Iterator<Item = usize> {
        // The high bits of the hash select the set, the low bits the way.
        let set = queue_of(hash, PLACES / WAYS) * WAYS;
        let first = (hash % WAYS as u64) as usize;
        (0..WAYS).map(move |way| set + (first + way) % WAYS)
    }

    /// Returns the place of a hash: its own, otherwise a free one of its set, otherwise its preferred place, which it
    /// then shares. The flag is true if the place was unused or belonged to another hash.
    pub fn place(&mut self, hash: u64, is_free: impl Fn(usize) -> bool) -> (usize, bool) {
        if let Some(own) = Ways::set(hash).find(|place| self.tags[*place] == hash && !is_free(*place)) {
            return (own, false);
        }
        // All ways are in use: two keys share a place, as in Linux.
        let alone = Ways::set(hash).next().unwrap_or(0);
        let place = Ways::set(hash).find(|place| is_free(*place)).unwrap_or(alone);
        self.tags[place] = hash;
        (place, true)
    }
}
