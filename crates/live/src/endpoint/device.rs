//! The interface between a TCP endpoint and the source and sink of its packets.

use crate::linux::Tun;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A source and sink of IP packets.
pub trait Device: Send {
    /// Reads the next packet into `packet`. Returns false if no packet is waiting.
    ///
    /// # Errors
    /// Returns an error if the device has failed, so that no packet can arrive.
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool>;

    /// Sends a packet. A packet that the device rejects counts as lost and is not an error.
    ///
    /// # Errors
    /// Returns an error if the device has failed, so that no packet can be sent.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// Returns a descriptor that is readable while a packet is waiting.
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
