//! An 8-way set-associative hash table. Two keys share an entry only if all 8 entries of their set are in use.

use crate::fair::flow_hash::queue_of;

/// Number of entries in the table.
pub(super) const PLACES: usize = 1024;
const WAYS: usize = 8;

/// The key to which each entry was last assigned.
#[derive(Debug)]
pub(super) struct Ways {
    tags: Vec<u64>,
}

impl Ways {
    pub fn new() -> Ways {
        Ways { tags: vec![0; PLACES] }
    }

    /// Returns the entries that a key may use. The preferred entry comes first.
    pub fn set(hash: u64) -> impl Iterator<Item = usize> {
        // The high bits of the hash select the set, the low bits the way.
        let set = queue_of(hash, PLACES / WAYS) * WAYS;
        let first = (hash % WAYS as u64) as usize;
        (0..WAYS).map(move |way| set + (first + way) % WAYS)
    }

    /// Finds the entry for a key: the key's own entry, a free entry of its set, or its preferred entry, which two keys
    /// then share. Returns the index, and true if the entry was assigned to another key before.
    pub fn place(&mut self, hash: u64, is_free: impl Fn(usize) -> bool) -> (usize, bool) {
        if let Some(own) = Ways::set(hash).find(|place| self.tags[*place] == hash && !is_free(*place)) {
            return (own, false);
        }
        // If all entries of the set are in use, two keys share the preferred entry, as in Linux.
        let alone = Ways::set(hash).next().unwrap_or(0);
        let place = Ways::set(hash).find(|place| is_free(*place)).unwrap_or(alone);
        self.tags[place] = hash;
        (place, true)
    }
}
