//! The window that an acknowledgement offers which is made as data arrives, before the application reads.

#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerWindow {
    pub window: u64,
    /// It is less than was offered last.
    pub falls: bool,
    /// Less than half of the buffer is free.
    pub half_filled: bool,
}
