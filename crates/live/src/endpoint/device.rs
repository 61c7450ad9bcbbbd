//! Where the packets of an endpoint come from and go to.

use crate::linux::Tun;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A source and sink of IP packets.
pub trait Device: Send {
    /// The next packet, into `packet` from its beginning. False: none waits.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool>;

    /// Sends a packet. One that is not taken is lost, which is no error.
    ///
    /// # Errors
    /// If none can be sent any more.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// Readable when a packet waits.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

impl Device for Tun {
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        Ok(Tun::receive(self, packet)?.is_some())
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        Tun::send(self, packet).map(|_| ())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}
