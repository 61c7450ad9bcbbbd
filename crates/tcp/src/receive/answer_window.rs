//! The window of an ACK sent as data arrives, before the application reads.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerWindow {
    /// The window is smaller than the last one offered.
    pub falls: bool,
    /// Less than half of the buffer is free.
    pub half_filled: bool,
}
