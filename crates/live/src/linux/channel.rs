//! Messages between a process and its children. A message may carry an open descriptor.
//!
//! If one process dies, the other process finds the channel closed.

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg, sendmsg,
    socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Largest message in bytes.
pub(crate) const MOST: usize = 4096;

#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    pub fn pair() -> io::Result<(Channel, Channel)> {
        let (here, there) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Channel(here), Channel(there)))
    }

    /// Sends a message, with a descriptor if one is given.
    ///
    /// # Errors
    /// Returns an error if the other end is closed.
    pub fn send(&self, message: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let descriptors: Vec<RawFd> = descriptor.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let control = if descriptors.is_empty() { &rights[..0] } else { &rights[..] };
        // An empty message would look to the receiver like a closed channel.
        debug_assert!(!message.is_empty() && message.len() <= MOST);
        sendmsg::<UnixAddr>(self.0.as_raw_fd(), &[IoSlice::new(message)], control, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }

    /// Receives the next message, and its descriptor if it carries one. Returns `None` if the other end is closed.
    pub fn receive(&self) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
        let mut message = vec![0; MOST];
        let mut control = cmsg_space!([RawFd; 1]);
        let mut slices = [IoSliceMut::new(&mut message)];
        let received = loop {
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<UnixAddr>(self.0.as_raw_fd(), &mut slices, Some(&mut control), flags) {
                Err(Errno::EINTR) => {}
                // The other process died before it had read all messages.
                Err(Errno::ECONNRESET) => return Ok(None),
                other => break other?,
            }
        };
        let mut descriptor = None;
        for part in received.cmsgs()? {
            if let ControlMessageOwned::ScmRights(descriptors) = part {
                for raw in descriptors {
                    #[expect(unsafe_code, reason = "no library takes ownership of a received descriptor")]
                    // SAFETY: the kernel created this descriptor for this process when the message was received.
                    // Nothing else uses its number.
                    descriptor.replace(unsafe { OwnedFd::from_raw_fd(raw) });
                }
            }
        }
        let len = received.bytes;
        message.truncate(len);
        Ok((len > 0).then_some((message, descriptor)))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
