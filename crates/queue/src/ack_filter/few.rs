//! A list that usually has at most one entry. With one entry or none, it allocates no memory.

use std::collections::VecDeque;

/// The entries, in order. If `first` is `None`, `others` is empty.
#[derive(Debug)]
pub(super) struct Few<T> {
    first: Option<T>,
    others: VecDeque<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few { first: None, others: VecDeque::new() }
    }
}

impl<T> Few<T> {
    #[inline]
    pub fn push(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.others.push_back(entry);
        }
    }

    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        at.checked_sub(1).map_or(self.first.as_ref(), |at| self.others.get(at))
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.others.back_mut().or(self.first.as_mut())
    }

    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Removes the first entry.
    #[inline]
    pub fn drop_first(&mut self) {
        self.first = if self.others.is_empty() { None } else { self.others.pop_front() };
    }

    /// Removes the entry at this position.
    #[inline]
    pub fn remove(&mut self, at: usize) -> Option<T> {
        match at.checked_sub(1) {
            None => std::mem::replace(&mut self.first, self.others.pop_front()),
            Some(at) => self.others.remove(at),
        }
    }

    /// Removes all entries up to and including the first entry that satisfies the condition. Removes nothing if no
    /// entry satisfies the condition.
    #[inline]
    pub fn drop_through(&mut self, is_last: impl Fn(&T) -> bool) {
        if !self.first.as_ref().is_some_and(&is_last) {
            let Some(at) = self.others.iter().position(is_last) else { return };
            self.others.drain(..=at);
        }
        self.first = self.others.pop_front();
    }
}
