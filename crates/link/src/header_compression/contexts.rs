//! The contexts of the compressor. A new connection takes over the least recently used context number.

/// Contexts with their numbers, the most recently used first.
#[derive(Debug)]
pub(super) struct Contexts<C>(Vec<(u8, Option<C>)>);

impl<C> Contexts<C> {
    /// Creates unused contexts with these numbers. The last number is assigned first.
    pub fn new(numbers: impl Iterator<Item = u32>) -> Contexts<C> {
        Contexts(numbers.map(|number| (number as u8, None)).collect())
    }

    /// Moves a connection's context to the front. Returns its number and state; the state is `None` if the number is
    /// new.
    pub fn bring(&mut self, is_own: impl Fn(&C) -> bool) -> (u8, &mut Option<C>) {
        let found = self.0.iter().position(|(_, context)| context.as_ref().is_some_and(&is_own));
        // A connection without a context takes over the least recently used context.
        let place = found.unwrap_or(self.0.len() - 1);
        // Most recently used first: the last entry is the next to be reassigned.
        self.0[..=place].rotate_right(1);
        let (number, context) = &mut self.0[0];
        if found.is_none() {
            *context = None;
        }
        (*number, context)
    }

    /// Returns the stored state of a context, or `None` if the context is unused.
    pub fn numbered(&mut self, wanted: u8) -> Option<&mut C> {
        self.0.iter_mut().find(|(number, _)| *number == wanted)?.1.as_mut()
    }
}
