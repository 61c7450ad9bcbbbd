//! What the buffer says of the window of an acknowledgement that is made as data arrives, before the application reads.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerWindow {
    /// It is less than was offered last.
    pub falls: bool,
    /// Less than half of the buffer is free.
    pub half_filled: bool,
}
