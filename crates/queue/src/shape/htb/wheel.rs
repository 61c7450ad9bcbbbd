//! A round robin over classes: its members, and the class whose turn it is.

/// Members by number, and the class whose turn it is. After the last member the round ends; `begin_again` restarts it.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// The members, usually few, in ascending order.
    members: Vec<usize>,
    /// The class whose turn it is. `None` after the end of the round.
    turn: Option<usize>,
    /// The class that left during its turn and keeps the turn if it returns.
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

    /// Returns the first member with at least this number.
    fn from(&self, class: usize) -> Option<usize> {
        self.members.get(self.members.partition_point(|member| *member < class)).copied()
    }

    /// Removes a class. If it is its turn, the turn passes to the next member.
    pub fn remove(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.advance();
        }
        self.drop_out(class);
    }

    /// Removes a class. If it is its turn, it resumes the turn if it returns before the round continues.
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
        // The class that left in its turn may be back; otherwise the next member has the turn.
        if let Some(left) = self.left.take() {
            self.turn = self.turn.or_else(|| self.from(left));
        }
        self.turn
    }

    /// Starts the round again with the first member.
    pub fn begin_again(&mut self) {
        self.turn = self.members.first().copied();
    }
}
