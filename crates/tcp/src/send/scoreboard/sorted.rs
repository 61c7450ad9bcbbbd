//! A sorted list of the marked segments.

use crate::growth::make_room;
use std::collections::VecDeque;

/// Values in ascending order, without duplicates.
///
/// Marks are usually set and removed in stream order, so most changes are at an end of the list and take constant time.
/// A change in the middle moves the shorter side of the list. A short list has less overhead than a tree.
#[derive(Debug)]
pub(super) struct Sorted<T>(VecDeque<T>);

impl<T> Sorted<T> {
    pub const fn new() -> Sorted<T> {
        Sorted(VecDeque::new())
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Sorted<T> {
        Sorted::new()
    }
}

impl<T: Copy + Ord> Sorted<T> {
    /// The smallest value.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.0.front().copied()
    }

    /// The largest value below `bound`.
    pub fn before(&self, bound: T) -> Option<T> {
        let below = self.0.partition_point(|value| *value < bound);
        below.checked_sub(1).map(|place| self.0[place])
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Inserts a value.
    pub fn insert(&mut self, value: T) {
        make_room(&mut self.0);
        if self.0.back().is_none_or(|last| *last < value) {
            self.0.push_back(value);
        } else if let Err(place) = self.0.binary_search(&value) {
            self.0.insert(place, value);
        }
    }

    /// Removes `value` if the list contains it.
    pub fn remove(&mut self, value: T) {
        if self.0.front() == Some(&value) {
            self.0.pop_front();
        } else if let Ok(place) = self.0.binary_search(&value) {
            self.0.remove(place);
        }
    }

    /// Removes all values and frees their memory.
    pub fn clear(&mut self) {
        self.0 = VecDeque::new();
    }

    #[cfg(test)]
    pub fn contains(&self, value: T) -> bool {
        self.0.binary_search(&value).is_ok()
    }
}

impl<T: Copy + Ord> FromIterator<T> for Sorted<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Sorted<T> {
        let mut sorted = Sorted::default();
        values.into_iter().for_each(|value| sorted.insert(value));
        sorted
    }
}

impl<T> IntoIterator for Sorted<T> {
    type Item = T;
    type IntoIter = std::collections::vec_deque::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
