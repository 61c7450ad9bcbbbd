//! How the window would change if an ACK were sent before the application reads the data that just arrived.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerWindow {
    /// True if the window would be smaller than the last advertised window.
    pub falls: bool,
    /// True if less than half of the buffer is free.
    pub half_filled: bool,
}
