//! A round robin over classes: the members, and the class whose turn it is.

/// The members, in the order of their numbers, and the class whose turn it is. The round ends after the last member;
/// `begin_again` starts a new one.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// The numbers of the members, in ascending order. A wheel usually has few members.
    members: Vec<usize>,
    /// The class whose turn it is. `None` after the end of the round.
    turn: Option<usize>,
    /// A class that was removed during its turn, and that gets the turn back if it returns.
    left: Option<usize>,
}

impl Wheel {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a class.
    pub fn insert(&mut self, class: usize) {
        if let Err(place) = self.members.binary_search(&class) {
            self.members.insert(place, class);
        }
    }

    /// Removes a class without changing the turn.
    fn drop_out(&mut self, class: usize) {
        if let Ok(place) = self.members.binary_search(&class) {
            self.members.remove(place);
        }
    }

    /// The first member whose number is at least `class`.
    fn from(&self, class: usize) -> Option<usize> {
        self.members.get(self.members.partition_point(|member| *member < class)).copied()
    }

    /// Removes a class. If the class has the turn, the turn passes to the next member.
    pub fn remove(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.advance();
        }
        self.drop_out(class);
    }

    /// Removes a class temporarily. If the class has the turn, it gets the turn back if it returns before the next call
    /// of `turn`.
    pub fn remove_for_now(&mut self, class: usize) {
        if self.turn == Some(class) {
            (self.turn, self.left) = (None, Some(class));
        }
        self.drop_out(class);
    }

    /// Passes the turn to the next member, or ends the round.
    pub fn advance(&mut self) {
        if let Some(turn) = self.turn {
            self.turn = self.from(turn + 1);
        }
    }

    /// Returns the class whose turn it is. `None` after the end of the round.
    pub fn turn(&mut self) -> Option<usize> {
        // If the class that left during its turn has returned, it gets the turn; otherwise the next member gets it.
        if let Some(left) = self.left.take() {
            self.turn = self.turn.or_else(|| self.from(left));
        }
        self.turn
    }

    /// Starts a new round with the first member.
    pub fn begin_again(&mut self) {
        self.turn = self.members.first().copied();
    }
}
