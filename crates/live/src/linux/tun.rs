//! TUN devices: interfaces of the kernel whose packets a process reads and writes, one with each call.
//!
//! The one `unsafe` here is the call that names the device, for which no library has a safe form.

use nix::errno::Errno;
use nix::libc;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The device, which is gone when this is dropped or its process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
    /// Where a packet is read: none is larger, and it need not be cleared for each.
    space: RefCell<Vec<u8>>,
}

mod request {
    nix::ioctl_write_ptr_bad!(set_interface, nix::request_code_write!(b'T', 202, 4), nix::libc::ifreq);
}

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
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
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

    fn of(file: File) -> Tun {
        Tun { file, space: RefCell::new(vec![0; MOST]) }
    }

    /// The same device once more.
    pub fn again(&self) -> io::Result<Tun> {
        Ok(Tun::of(self.file.try_clone()?))
    }

    /// The next packet, into `packet` from its beginning; `None`: none waits.
    ///
    /// # Errors
    /// If the device is gone or down.
    pub fn receive(&self, packet: &mut Vec<u8>) -> io::Result<Option<()>> {
        let mut space = self.space.borrow_mut();
        match (&self.file).read(&mut space) {
            Ok(len) => {
                packet.clear();
                packet.extend_from_slice(&space[..len]);
                Ok(Some(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the kernel a packet. False: it did not take it, as a host does not take what is malformed.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        match (&self.file).write(packet) {
            Ok(_) => Ok(true),
            Err(error) if gone(&error) => Err(error),
            Err(_) => Ok(false),
        }
    }
}

/// No packet is larger.
const MOST: usize = 65_536;

/// The device was taken away under its process.
fn gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADFD as i32)
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

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
