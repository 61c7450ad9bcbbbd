//! A round of classes: who is in it, and whose turn it is.

/// Classes by number, and the class whose turn it is. Past the end the round restarts.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// In ascending order: a few, as a rule.
    members: Vec<usize>,
    turn: Option<usize>,
    /// Who left while it was its turn.
    left: Option<usize>,
}

impl Wheel {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn insert(&mut self, class: usize) {
        if let Err(place) = self.members.binary_search(&class) {
            self.members.insert(place, class);
        }
    }

    fn drop_out(&mut self, class: usize) {
        if let Ok(place) = self.members.binary_search(&class) {
            self.members.remove(place);
        }
    }

    /// The first from this number on.
    fn from(&self, class: usize) -> Option<usize> {
        self.members.get(self.members.partition_point(|member| *member < class)).copied()
    }

    /// Removes a class; if it is its turn, the turn passes to the next.
    pub fn remove(&mut self, class: usize) {
        if self.turn == Some(class) {
            self.advance();
        }
        self.drop_out(class);
    }

    /// Removes a class; if it is its turn, it keeps the turn if it returns before the round continues.
    pub fn remove_for_now(&mut self, class: usize) {
        if self.turn == Some(class) {
            (self.turn, self.left) = (None, Some(class));
        }
        self.drop_out(class);
    }

    /// Passes the turn to the next class, or past the end.
    pub fn advance(&mut self) {
        if let Some(turn) = self.turn {
            self.turn = self.from(turn + 1);
        }
    }

    /// Whose turn it is; `None` past the end.
    pub fn turn(&mut self) -> Option<usize> {
        if let Some(left) = self.left.take() {
            self.turn = self.turn.or_else(|| self.from(left));
        }
        self.turn
    }

    pub fn begin_again(&mut self) {
        self.turn = self.members.first().copied();
    }
}
