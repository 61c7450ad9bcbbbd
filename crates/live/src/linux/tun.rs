//! TUN devices: interfaces of the kernel whose packets a process reads and writes.
//!
//! The kernel hands over, with one call, as much of one flow as it sends at once (`IFF_VNET_HDR`, `TUNSETOFFLOAD`),
//! with checksums that are ours to complete; what is received are packets all the same, as its own segmentation would
//! make them. See [`crate::segments`].
//!
//! `unsafe` are the calls that name the device and say what it may hand over, for which no library has a safe form.

use crate::segments::{Bundle, Cut, OFFLOAD, Offload, complete};
use nix::errno::Errno;
use nix::libc;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The device, which is gone when this is dropped or its process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
    read: RefCell<Piece>,
    takes_datagrams: bool,
}

/// What was read last, which need not be cleared for each.
#[derive(Debug)]
struct Piece {
    octets: Vec<u8>,
    len: usize,
    /// Where it is more than one packet.
    cut: Option<Cut>,
}

mod request {
    nix::ioctl_write_ptr_bad!(set_interface, nix::request_code_write!(b'T', 202, 4), nix::libc::ifreq);
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, 4));
}

/// What the kernel may leave to us: checksums, TCP of both versions, also with CWR; and datagrams of UDP.
const SEGMENTS: i32 = 0x01 | 0x02 | 0x04 | 0x08;
const DATAGRAMS: i32 = 0x20 | 0x40;

impl Tun {
    /// Makes a device of that name in the network namespace of this thread.
    ///
    /// # Errors
    /// If this process may not, or there is no such driver.
    pub fn create(name: &str) -> io::Result<Tun> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        if name.is_empty() || name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of an interface")));
        }
        let mut characters = [0; libc::IFNAMSIZ];
        for (place, octet) in characters.iter_mut().zip(name.bytes()) {
            *place = octet as libc::c_char;
        }
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        let request =
            libc::ifreq { ifr_name: characters, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
        #[expect(
            unsafe_code,
            reason = "the kernel reads the request, which outlives the call, and writes the name that it gave"
        )]
        // SAFETY: the descriptor is open and `request` is the structure that this call takes.
        unsafe {
            request::set_interface(file.as_raw_fd(), &raw const request)?;
        }
        Ok(Tun::of(file))
    }

    /// One to which the kernel hands over nothing but packets.
    #[cfg(test)]
    pub(crate) fn create_plain(name: &str) -> io::Result<Tun> {
        let tun = Tun::create(name)?;
        offer(&tun.file, 0);
        Ok(tun)
    }

    fn of(file: File) -> Tun {
        let takes_datagrams = offer(&file, SEGMENTS | DATAGRAMS);
        if !takes_datagrams {
            // One that does not take this either cuts by itself.
            offer(&file, SEGMENTS);
        }
        let read = RefCell::new(Piece { octets: vec![0; OFFLOAD + MOST], len: 0, cut: None });
        Tun { file, read, takes_datagrams }
    }

    /// The same device once more, for sending: what one of the two has read is not known to the other.
    pub fn again(&self) -> io::Result<Tun> {
        Ok(Tun::of(self.file.try_clone()?))
    }

    /// For what is sent on this device together.
    pub(crate) fn bundle(&self) -> Bundle {
        Bundle::new(self.takes_datagrams)
    }

    /// The next packet, into `packet` from its beginning; `None`: none waits.
    ///
    /// # Errors
    /// If the device is gone or down.
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

    /// As [`Tun::receive`], of what is read already. False: the kernel is to be asked.
    pub(crate) fn receive_more(&self, packet: &mut Vec<u8>) -> bool {
        let mut piece = self.read.borrow_mut();
        let Piece { octets, len, cut } = &mut *piece;
        if cut.as_mut().is_some_and(|cut| cut.next(&octets[OFFLOAD..*len], packet)) {
            return true;
        }
        *cut = None;
        false
    }

    /// Something that was read is not received yet.
    pub(crate) fn has_more(&self) -> bool {
        self.read.borrow().cut.as_ref().is_some_and(Cut::has_more)
    }

    /// Gives the kernel a packet. False: it did not take it, as a host does not take what is malformed.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        taken((&self.file).write_vectored(&[IoSlice::new(&[0; OFFLOAD]), IoSlice::new(packet)]))
    }

    /// Gives the kernel all that is in the bundle, which is empty then; says how many packets it did not take.
    ///
    /// # Errors
    /// If the device is gone.
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

/// Says what the kernel may leave to us. False: it does not know all of that, and nothing is changed.
fn offer(device: &File, what: i32) -> bool {
    #[expect(unsafe_code, reason = "no library that is used here has this call")]
    // SAFETY: the call takes a number.
    let taken = unsafe { request::set_offload(device.as_raw_fd(), what) };
    taken.is_ok()
}

/// No packet is larger.
const MOST: usize = 65_536;

fn taken(written: io::Result<usize>) -> io::Result<bool> {
    match written {
        Ok(_) => Ok(true),
        Err(error) if gone(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// The device was taken away under its process.
fn gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADFD as i32)
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Of a device that was made with `IFF_VNET_HDR`, as [`Tun::create`] does.
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
