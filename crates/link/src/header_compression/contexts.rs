//! The contexts of the sending end: a connection has the number that it was last given, or that of the connection not
//! heard of for longest.

/// Contexts by number, most recently used first.
#[derive(Debug)]
pub(super) struct Contexts<C>(Vec<(u8, Option<C>)>);

impl<C> Contexts<C> {
    /// These numbers, of which the last is the first to be given.
    pub fn new(numbers: impl Iterator<Item = u32>) -> Contexts<C> {
        Contexts(numbers.map(|number| (number as u8, None)).collect())
    }

    /// Moves a connection's context to the front: its number, and the stored state, which is `None` if the number
    /// belonged to another connection.
    pub fn bring(&mut self, is_own: impl Fn(&C) -> bool) -> (u8, &mut Option<C>) {
        let found = self.0.iter().position(|(_, context)| context.as_ref().is_some_and(&is_own));
        let place = found.unwrap_or(self.0.len() - 1);
        self.0[..=place].rotate_right(1);
        let (number, context) = &mut self.0[0];
        if found.is_none() {
            *context = None;
        }
        (*number, context)
    }

    /// The stored state of a number.
    pub fn numbered(&mut self, wanted: u8) -> Option<&mut C> {
        self.0.iter_mut().find(|(number, _)| *number == wanted)?.1.as_mut()
    }
}
