//! A round of classes: who is in it, and whose turn it is.

use std::collections::BTreeSet;

/// Classes by number, and the one whose turn it is. Past the end there is nobody: the round begins again.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    members: BTreeSet<usize>,
    turn: Option<usize>,
    /// Who left while it was its turn.
    left: Option<usize>,
}

impl Wheel {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn insert(&mut self, class: usize) {
        self.members.insert(class);
    }

    /// A class leaves; if it is its turn, the next one's turn comes.
    pub fn remove(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.advance();
        }
        self.members.remove(&class);
    }

    /// A class leaves; if it is its turn, it still is when the class comes back before the round goes on.
    pub fn remove_for_now(&mut self, class: usize) {
        if self.turn == Some(class) {
            (self.turn, self.left) = (None, Some(class));
        }
        self.members.remove(&class);
    }

    /// The turn goes to the next one, or past the end.
    pub fn advance(&mut self) {
        if let Some(turn) = self.turn {
            self.turn = self.members.range(turn + 1..).next().copied();
        }
    }

    /// Whose turn it is; `None` past the end.
    pub fn turn(&mut self) -> Option<usize> {
        if let Some(left) = self.left.take() {
            self.turn = self.turn.or_else(|| self.members.range(left..).next().copied());
        }
        self.turn
    }

    pub fn begin_again(&mut self) {
        self.turn = self.members.first().copied();
    }
}
