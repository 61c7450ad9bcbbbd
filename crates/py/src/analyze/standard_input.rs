//! Standard input that Ctrl-C ends.

use pyo3::prelude::*;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Standard input that ends at Ctrl-C.
///
/// A separate thread reads the input. Otherwise a signal that arrives just before the system call would have no effect
/// until more input arrives.
pub(super) struct StandardInput {
    ended: Arc<AtomicBool>,
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

impl StandardInput {
    /// Interval between two checks for a signal.
    const CHECK: Duration = Duration::from_millis(100);
    /// Maximum number of bytes per read, and maximum number of pieces that wait.
    const PIECE: (usize, usize) = (1 << 18, 4);

    pub(super) fn new(ended: Arc<AtomicBool>) -> StandardInput {
        let (send, pieces) = sync_channel(Self::PIECE.1);
        thread::spawn(move || {
            let mut room = vec![0; Self::PIECE.0];
            loop {
                let piece = match io::stdin().read(&mut room) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    done => done.map(|len| room[..len].to_vec()),
                };
                let is_last = !matches!(&piece, Ok(piece) if !piece.is_empty());
                if send.send(piece).is_err() || is_last {
                    return;
                }
            }
        });
        StandardInput { ended, pieces, piece: io::Cursor::default() }
    }
}

impl Read for StandardInput {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.piece.read(room)?;
            if len > 0 || room.is_empty() {
                return Ok(len);
            }
            if self.ended.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(Self::CHECK) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = io::Cursor::new(piece);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    Python::attach(|py| signalled(py, &self.ended));
                }
            }
        }
    }
}

/// Handles pending signals. Returns true, and stores true in `ended`, if Ctrl-C was pressed now or before.
pub(super) fn signalled(py: Python<'_>, ended: &AtomicBool) -> bool {
    let now = py.check_signals().is_err();
    ended.fetch_or(now, Ordering::Relaxed) || now
}
