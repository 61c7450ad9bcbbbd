//! TUN devices: kernel interfaces whose packets a process reads and writes.
//!
//! The kernel may pass several segments as one large packet (`IFF_VNET_HDR`, `TUNSETOFFLOAD`). `receive` returns one
//! segment per call. See [`crate::segments`].
//!
//! The calls that name the device and enable its offloads are `unsafe`, because no library has a safe version of them.

use crate::segments::{Bundle, Cut, OFFLOAD, Offload, complete};
use nix::errno::Errno;
use nix::libc;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// A TUN device. The kernel removes the device when this value is dropped or the process exits.
#[derive(Debug)]
pub struct Tun {
    file: File,
    read: RefCell<Piece>,
    takes_datagrams: bool,
}

/// The data of the last read. The buffer is reused for each read.
#[derive(Debug)]
struct Piece {
    octets: Vec<u8>,
    len: usize,
    /// Progress of cutting the data into packets; `None` if the data is a single packet.
    cut: Option<Cut>,
}

mod request {
    nix::ioctl_write_ptr_bad!(set_interface, nix::request_code_write!(b'T', 202, 4), nix::libc::ifreq);
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, 4));
}

/// TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 and TUN_F_TSO_ECN: the kernel may leave checksums and TCP segmentation to this
/// process.
const SEGMENTS: i32 = 0x01 | 0x02 | 0x04 | 0x08;
/// TUN_F_USO4 and TUN_F_USO6: the kernel may leave UDP segmentation to this process.
const DATAGRAMS: i32 = 0x20 | 0x40;

impl Tun {
    /// Creates a device with this name in the network namespace of this thread.
    ///
    /// # Errors
    /// Returns an error if the process lacks the privilege, or the kernel has no TUN driver.
    pub fn create(name: &str) -> io::Result<Tun> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        if name.is_empty() || name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a valid interface name")));
        }
        let mut characters = [0; libc::IFNAMSIZ];
        for (place, octet) in characters.iter_mut().zip(name.bytes()) {
            *place = octet as libc::c_char;
        }
        // IFF_NO_PI omits a 4-byte protocol header, which is redundant because the IP header contains the version.
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        let request =
            libc::ifreq { ifr_name: characters, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
        #[expect(
            unsafe_code,
            reason = "the kernel reads the request, which outlives the call, and writes the assigned name"
        )]
        // SAFETY: the descriptor is open, and `request` is the structure that the call takes.
        unsafe {
            request::set_interface(file.as_raw_fd(), &raw const request)?;
        }
        Ok(Tun::of(file))
    }

    /// Creates a device without offloads: the kernel segments packets before it passes them on.
    #[cfg(test)]
    pub(crate) fn create_plain(name: &str) -> io::Result<Tun> {
        let tun = Tun::create(name)?;
        offer(&tun.file, 0);
        Ok(tun)
    }

    fn of(file: File) -> Tun {
        let takes_datagrams = offer(&file, SEGMENTS | DATAGRAMS);
        if !takes_datagrams {
            // A kernel before Linux 6.2 has no UDP offload but may have TCP offload. Without any offload, the kernel
            // segments all packets itself.
            offer(&file, SEGMENTS);
        }
        let read = RefCell::new(Piece { octets: vec![0; OFFLOAD + MOST], len: 0, cut: None });
        Tun { file, read, takes_datagrams }
    }

    /// Returns a second handle of the same device, for sending. Each handle has its own read buffer.
    pub fn again(&self) -> io::Result<Tun> {
        Ok(Tun::of(self.file.try_clone()?))
    }

    /// Returns an empty bundle. The device sends the packets of a bundle with one call.
    pub(crate) fn bundle(&self) -> Bundle {
        Bundle::new(self.takes_datagrams)
    }

    /// Reads the next packet into `packet`. Returns `None` if no packet is waiting.
    ///
    /// # Errors
    /// Returns an error if the device was deleted or is down.
    pub fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Option<()>> {
        if self.receive_more(packet) {
            return Ok(Some(()));
        }
        let mut piece = self.read.borrow_mut();
        let Piece { octets, len, cut } = &mut *piece;
        let came = match (&self.file).read(octets) {
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        *len = came;
        packet.clear();
        let Some((offload, whole)) = octets[..came].split_first_chunk::<OFFLOAD>() else { return Ok(Some(())) };
        let offload = Offload::read(offload);
        // This call returns the first segment of a large packet. Later calls return the other segments.
        *cut = Cut::of(&offload, whole);
        match cut {
            Some(cut) => {
                cut.next(whole, packet);
            }
            None => {
                packet.extend_from_slice(whole);
                complete(&offload, packet);
            }
        }
        Ok(Some(()))
    }

    /// Like [`Tun::receive`], from data that was already read. Returns false if a system call is needed.
    pub(crate) fn receive_more(&self, packet: &mut Vec<u8>) -> bool {
        let mut piece = self.read.borrow_mut();
        let Piece { octets, len, cut } = &mut *piece;
        if cut.as_mut().is_some_and(|cut| cut.next(&octets[OFFLOAD..*len], packet)) {
            return true;
        }
        *cut = None;
        false
    }

    /// Returns true if the last read contains packets that `receive` has not returned yet.
    pub(crate) fn has_more(&self) -> bool {
        self.read.borrow().cut.as_ref().is_some_and(Cut::has_more)
    }

    /// Passes a packet to the kernel. Returns false if the kernel rejects the packet.
    ///
    /// # Errors
    /// Returns an error if the device was deleted.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        taken((&self.file).write_vectored(&[IoSlice::new(&[0; OFFLOAD]), IoSlice::new(packet)]))
    }

    /// Passes the bundle to the kernel and empties it. Returns the number of rejected packets.
    ///
    /// # Errors
    /// Returns an error if the device was deleted.
    pub(crate) fn send_bundle(&self, bundle: &mut Bundle) -> io::Result<u64> {
        if bundle.is_empty() {
            return Ok(0);
        }
        let count = bundle.count() as u64;
        let sent = taken((&self.file).write(bundle.whole()));
        bundle.clear();
        Ok(if sent? { 0 } else { count })
    }
}

/// Enables offloads of the device. Returns false and changes nothing if the kernel does not support all of them.
fn offer(device: &File, what: i32) -> bool {
    #[expect(unsafe_code, reason = "none of the libraries in use has this call")]
    // SAFETY: the argument of the call is a number.
    let taken = unsafe { request::set_offload(device.as_raw_fd(), what) };
    taken.is_ok()
}

/// Size of the largest IP packet in bytes, rounded up.
const MOST: usize = 65_536;

fn taken(written: io::Result<usize>) -> io::Result<bool> {
    match written {
        Ok(_) => Ok(true),
        Err(error) if gone(&error) => Err(error),
        // The kernel returns EINVAL for malformed packets, and EIO for any packet while the device is down.
        Err(_) => Ok(false),
    }
}

/// Returns true if the device was deleted while this process had it open.
fn gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADFD as i32)
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Assumes that the device was created with `IFF_VNET_HDR`, as [`Tun::create`] does.
impl From<OwnedFd> for Tun {
    fn from(device: OwnedFd) -> Tun {
        Tun::of(File::from(device))
    }
}

impl From<Tun> for OwnedFd {
    fn from(tun: Tun) -> OwnedFd {
        tun.file.into()
    }
}
