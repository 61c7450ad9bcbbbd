//! A round robin over classes: the member classes, and the class that has the turn.

/// A round robin in the order of class numbers. `begin_again` starts a new round.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// The class numbers of the members, in ascending order. There are usually few members.
    members: Vec<usize>,
    /// The class that has the turn. `None` after the end of the round.
    turn: Option<usize>,
    /// A class that was removed temporarily during its turn.
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

    /// Removes a class from the members. Does not change the turn.
    fn drop_out(&mut self, class: usize) {
        if let Ok(place) = self.members.binary_search(&class) {
            self.members.remove(place);
        }
    }

    /// Returns the first member whose number is at least `class`.
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

    /// Removes a class temporarily. If the class is inserted again before the next call of `turn`, its turn continues.
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

    /// Returns the class that has the turn. `None` after the end of the round.
    pub fn turn(&mut self) -> Option<usize> {
        // If the class that was removed during its turn is a member again, it gets the turn. Otherwise the next member
        // gets the turn.
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
