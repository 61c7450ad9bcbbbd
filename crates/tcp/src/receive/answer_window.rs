//! How an ACK sent as data arrives, before the application reads, would change the window.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerWindow {
    /// True if the window is smaller than the last one offered.
    pub falls: bool,
    /// True if less than half of the buffer is free.
    pub half_filled: bool,
}
