//! The effect of an ACK on the window, if the ACK is sent before the application reads the new data.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerWindow {
    /// True if the window would be smaller than the last advertised window.
    pub falls: bool,
    /// True if less than half of the buffer is free.
    pub half_filled: bool,
}
