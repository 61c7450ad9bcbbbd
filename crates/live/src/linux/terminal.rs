//! The size of the terminal.

use nix::libc;
use std::os::fd::{AsFd, AsRawFd};

nix::ioctl_read_bad!(window_size, libc::TIOCGWINSZ, libc::winsize);

/// Returns the number of rows and columns; `None` if the descriptor is not a terminal or the size is unknown.
pub(crate) fn terminal_size(terminal: &impl AsFd) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    #[expect(unsafe_code, reason = "the kernel writes the size")]
    // SAFETY: the descriptor is borrowed for the call, and `size` is the structure that the call fills in.
    unsafe { window_size(terminal.as_fd().as_raw_fd(), &raw mut size) }.ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}
