//! A hash table of eight ways: as long as a set of eight places has a free one, no two keys share a place.

use crate::flow_hash::queue_of;

pub(super) const PLACES: usize = 1024;
const WAYS: usize = 8;

/// Which key each place was last given to.
#[derive(Debug)]
pub(super) struct Ways {
    tags: Vec<u64>,
}

impl Ways {
    pub fn new() -> Ways {
        Ways { tags: vec![0; PLACES] }
    }

    /// The places that a hash may take, its preferred place first.
    pub fn set(hash: u64) -> impl Iterator<Item = usize> {
        let set = queue_of(hash, PLACES / WAYS) * WAYS;
        let first = (hash % WAYS as u64) as usize;
        (0..WAYS).map(move |way| set + (first + way) % WAYS)
    }

    /// The place of a hash: its own, otherwise a free one of its set, otherwise its preferred place, which it then
    /// shares. Also returns whether the place belonged to another hash or was unused.
    pub fn place(&mut self, hash: u64, is_free: impl Fn(usize) -> bool) -> (usize, bool) {
        if let Some(own) = Ways::set(hash).find(|place| self.tags[*place] == hash && !is_free(*place)) {
            return (own, false);
        }
        let alone = Ways::set(hash).next().unwrap_or(0);
        let place = Ways::set(hash).find(|place| is_free(*place)).unwrap_or(alone);
        self.tags[place] = hash;
        (place, true)
    }
}
