//! Lopsided's TCP as an endpoint for real packets: the simulator's [`Connection`] and [`Listener`], driven by the
//! machine's clock over a device.
//!
//! A [`TcpHost`] has one address and a thread. Applications use [`TcpSocket`]s, which block like the sockets of a
//! kernel. The peer may be any TCP.
//!
//! ```text
//! application ── TcpSocket ── Connection (crates/tcp) ── Device: TUN, or ports of this machine's own address
//! ```
//!
//! Each segment is one packet, because there is no offloading. Left out: urgent data, and path-MTU discovery (so IPv6
//! packets must fit every link).

mod device;
mod ports;
mod table;

pub use device::Device;
pub use ports::{OwnPorts, way_to};
pub use table::PacketCounts;

use crate::Clock;
use crate::linux::{Netlink, Reach, Tun};
use lopsided_core::{Bytes, Payload, Time};
use lopsided_tcp::cc::{self, Setup};
use lopsided_tcp::{
    CONTROLLERS, ConnConfig, ConnError, Connection, Endpoint, Listener, PROFILES, Profile, ReadError, State, TcpInfo,
    WriteError,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use table::{Ends, Table};

/// Number of packets that the thread handles before it releases the lock for the applications.
const BATCH: usize = 32;
/// Difference in bytes between an IPv6 and an IPv4 header. The simulator's MTU assumes IPv4.
const V6_MORE: u64 = 20;

/// Settings that determine the behaviour of a socket's connections.
///
/// # Examples
///
/// ```
/// use lopsided_live::endpoint::SocketSettings;
///
/// let settings = SocketSettings::named("linux-6.1", "cubic", 1500)?;
/// assert_eq!(settings.cc, "cubic");
/// assert!(SocketSettings::named("linux-6.1", "no such control", 1500).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct SocketSettings {
    /// Profile of the TCP stack to imitate.
    pub profile: Arc<Profile>,
    /// Name of the congestion control.
    pub cc: String,
    /// Largest IP packet in bytes.
    pub mtu: u32,
}

impl SocketSettings {
    /// Returns the settings for a profile and a congestion control, both given by name.
    ///
    /// # Errors
    /// Returns an error if there is no such profile or congestion control. The error lists the available names.
    pub fn named(profile: &str, cc: &str, mtu: u32) -> Result<SocketSettings, String> {
        let found = Profile::named(profile)
            .ok_or_else(|| format!("there is no profile {profile:?} of TCP; there are {}", PROFILES.join(", ")))?;
        if !CONTROLLERS.contains(&cc) {
            return Err(format!(
                "there is no congestion control {cc:?} in lopsided's TCP; there are {}",
                CONTROLLERS.join(", ")
            ));
        }
        Ok(SocketSettings { profile: Arc::new(found), cc: cc.to_owned(), mtu })
    }

    fn config(&self, local: Endpoint, remote: Endpoint, iss: u32) -> ConnConfig {
        let mtu = u64::from(self.mtu) - if local.addr.is_ipv6() { V6_MORE } else { 0 };
        ConnConfig::new(local, remote, iss, Bytes::new(mtu), Arc::clone(&self.profile), &self.cc)
            .expect("the name was looked up")
    }
}

/// Returns an initial sequence number that a peer cannot guess (RFC 6528), from the kernel's random numbers.
fn initial_sequence_number() -> io::Result<u32> {
    let mut octets = [0; 4];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(u32::from_ne_bytes(octets))
}

/// State shared by the thread and the applications' sockets.
struct Shared {
    address: IpAddr,
    clock: Clock,
    state: Mutex<HostState>,
    /// Notified after each event for which an application may be waiting.
    changed: Condvar,
    wake: EventFd,
}

struct HostState {
    table: Table,
    stopped: bool,
    /// The error that stopped the device; `None` while the device works.
    failed: Option<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, because a packet may be ready to send.
    fn wake(&self) {
        let _ = self.wake.write(1);
    }

    /// Repeats `attempt` after each change until it returns a result. Fails with `WouldBlock` at time `until`.
    fn wait<T>(
        &self,
        until: Option<Instant>,
        mut attempt: impl FnMut(&mut Table) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let mut state = self.lock();
        loop {
            if let Some(done) = attempt(&mut state.table)? {
                return Ok(done);
            }
            // After a failure of the endpoint no further change occurs, so the wait would never end.
            if let Some(why) = &state.failed {
                return Err(io::Error::other(why.clone()));
            }
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(instant());
                    // The sockets of `std` also report an expired timeout with this kind of error.
                    if left.is_zero() {
                        return Err(ErrorKind::WouldBlock.into());
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("address", &self.address).finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "the timeout of an application needs the machine's clock")]
fn instant() -> Instant {
    Instant::now()
}

/// A host with one address and lopsided's TCP.
#[derive(Debug)]
pub struct TcpHost {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl TcpHost {
    /// Starts a host with this address, which sends and receives its packets through the device.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(address: IpAddr, device: impl Device + 'static) -> io::Result<TcpHost> {
        let shared = Arc::new(Shared {
            address,
            clock: Clock::start(),
            state: Mutex::new(HostState { table: Table::new(address), stopped: false, failed: None }),
            changed: Condvar::new(),
            wake: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("tcp".to_owned()).spawn(move || {
            // The kernel delays timers by the timer slack, 50 µs by default. Set it to 1 ns.
            let _ = nix::sys::prctl::set_timerslack(1);
            let mut device = device;
            let ended = drive(&of_thread, &mut device);
            let mut state = of_thread.lock();
            state.failed = Some(ended.map_or_else(|error| error.to_string(), |()| "it was stopped".to_owned()));
            of_thread.changed.notify_all();
        })?;
        Ok(TcpHost { shared, thread: Some(thread) })
    }

    /// Returns the address of the host.
    pub fn address(&self) -> IpAddr {
        self.shared.address
    }

    /// Opens a connection from a local port. You may write to the socket before the handshake is complete.
    ///
    /// # Errors
    /// Returns `AddrInUse` if the connection already exists, and `InvalidInput` if the peer's address has the other IP
    /// version.
    pub fn connect(&self, port: u16, peer: SocketAddr, settings: &SocketSettings) -> io::Result<TcpSocket> {
        if peer.is_ipv4() != self.shared.address.is_ipv4() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the peer's address has another IP version"));
        }
        let local = Endpoint { addr: self.shared.address, port };
        let remote = Endpoint { addr: peer.ip(), port: peer.port() };
        let config = settings.config(local, remote, initial_sequence_number()?);
        if !self.shared.lock().table.connect(config) {
            return Err(ErrorKind::AddrInUse.into());
        }
        self.shared.wake();
        Ok(TcpSocket { shared: Arc::clone(&self.shared), ends: (port, remote) })
    }

    /// Listens on a port.
    ///
    /// # Errors
    /// Returns `AddrInUse` if the port already has a listener.
    pub fn listen(&self, port: u16, backlog: usize, settings: &SocketSettings) -> io::Result<TcpAcceptor> {
        let (settings, local) = (settings.clone(), Endpoint { addr: self.shared.address, port });
        // RFC 6528: peers must not be able to guess the initial sequence numbers of other connections.
        let mut source = std::fs::File::open("/dev/urandom")?;
        let make = move |peer| {
            let mut iss = [0; 4];
            // Reading up to 256 bytes from /dev/urandom never fails and is never partial (urandom(4)).
            let _ = source.read_exact(&mut iss);
            settings.config(local, peer, u32::from_ne_bytes(iss))
        };
        if !self.shared.lock().table.listen(port, Listener::new(backlog, make).evicting()) {
            return Err(ErrorKind::AddrInUse.into());
        }
        Ok(TcpAcceptor { shared: Arc::clone(&self.shared), port })
    }

    /// Returns the packet counters since the start of the host.
    pub fn counts(&self) -> PacketCounts {
        self.shared.lock().table.counts
    }

    /// Waits until the peers have acknowledged all written data and all FINs. Returns false if the wait exceeds
    /// `timeout`.
    pub fn linger(&self, timeout: Duration) -> bool {
        let until = instant() + timeout;
        while self.shared.lock().table.under_way() > 0 {
            if instant() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for TcpHost {
    /// Resets all open connections.
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.wake();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Runs the main loop of a host's thread.
fn drive(shared: &Shared, device: &mut dyn Device) -> io::Result<()> {
    let mut octets = Vec::new();
    loop {
        let _ = shared.wake.read();
        let (mut more, mut has_events) = (true, false);
        let due = {
            let mut state = shared.lock();
            if state.stopped {
                // The next turn of the loop sends the resets.
                state.table.abort_all();
            }
            let table = &mut state.table;
            send_all(shared.clock.now(), table, device)?;
            for _ in 0..BATCH {
                if !device.receive(&mut octets)? {
                    more = false;
                    break;
                }
                // Send after each received segment, as the simulator does, because each segment may require its own
                // ACK.
                let now = shared.clock.now();
                has_events |= table.handle_packet(now, &octets);
                send_all(now, table, device)?;
            }
            let now = shared.clock.now();
            has_events |= table.handle_timeouts(now);
            send_all(now, table, device)?;
            let due = table.next_timeout();
            if state.stopped {
                return Ok(());
            }
            due
        };
        if has_events {
            shared.changed.notify_all();
        }
        if !more {
            wait(shared, device, due)?;
        }
    }
}

fn send_all(now: Time, table: &mut Table, device: &mut dyn Device) -> io::Result<()> {
    while let Some(packet) = table.poll_packet(now) {
        device.send(&packet)?;
    }
    Ok(())
}

/// Waits until a packet arrives, an application wakes the thread, or the next timeout is due.
fn wait(shared: &Shared, device: &dyn Device, due: Option<Time>) -> io::Result<()> {
    let timeout = due.map(|due| {
        let left = due.saturating_since(shared.clock.now());
        TimeSpec::from_duration(Duration::from_nanos(left.as_nanos()))
    });
    let mut waits =
        [PollFd::new(device.descriptor(), PollFlags::POLLIN), PollFd::new(shared.wake.as_fd(), PollFlags::POLLIN)];
    match ppoll(&mut waits, timeout, None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct TcpAcceptor {
    shared: Arc<Shared>,
    port: u16,
}

impl TcpAcceptor {
    /// Waits for the next connection for at most `timeout`, or without limit if `timeout` is `None`.
    ///
    /// # Errors
    /// Returns `WouldBlock` if no connection arrives in this time.
    pub fn accept(&self, timeout: Option<Duration>) -> io::Result<TcpSocket> {
        let until = timeout.map(|timeout| instant() + timeout);
        let ends = self.shared.wait(until, |table| Ok(table.accept(self.port)))?;
        self.shared.wake();
        Ok(TcpSocket { shared: Arc::clone(&self.shared), ends })
    }
}

impl Drop for TcpAcceptor {
    fn drop(&mut self) {
        self.shared.lock().table.close_listener(self.port);
        self.shared.wake();
    }
}

/// The application's handle of a connection. Dropping the handle closes the connection; written data is still
/// delivered.
#[derive(Debug)]
pub struct TcpSocket {
    shared: Arc<Shared>,
    ends: Ends,
}

fn failed(error: ConnError) -> io::Error {
    let kind = match error {
        ConnError::Refused => ErrorKind::ConnectionRefused,
        ConnError::Reset => ErrorKind::ConnectionReset,
        ConnError::TimedOut => ErrorKind::TimedOut,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the connection is closed")
}

impl TcpSocket {
    /// Returns the local port.
    pub fn port(&self) -> u16 {
        self.ends.0
    }

    /// Returns the address and port of the peer.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.ends.1.addr, self.ends.1.port)
    }

    /// Waits until the handshake is complete for at most `timeout`, or without limit if `timeout` is `None`.
    ///
    /// # Errors
    /// Returns the connection's error if the connection fails, and `WouldBlock` if the handshake takes longer.
    pub fn established(&self, timeout: Option<Duration>) -> io::Result<()> {
        let until = timeout.map(|timeout| instant() + timeout);
        self.shared.wait(until, |table| {
            let connection = table.connection(self.ends).ok_or_else(gone)?;
            match (connection.error(), connection.state()) {
                (Some(error), _) => Err(failed(error)),
                (None, State::SynSent | State::SynReceived | State::Listen) => Ok(None),
                (None, _) => Ok(Some(())),
            }
        })
    }

    /// Writes the bytes that fit into the send buffer, and returns their number. Waits for free space for at most
    /// `timeout`, or without limit if `timeout` is `None`.
    ///
    /// # Errors
    /// Returns the connection's error if the connection fails, `BrokenPipe` if this direction is closed, and
    /// `WouldBlock` if no space becomes free in this time.
    pub fn write(&self, octets: &[u8], timeout: Option<Duration>) -> io::Result<usize> {
        if octets.is_empty() {
            return Ok(0);
        }
        let until = timeout.map(|timeout| instant() + timeout);
        let payload = Payload::real(octets.to_vec());
        let written = self.shared.wait(until, |table| {
            let attempt = table.with(self.ends, |connection| connection.write(&payload)).ok_or_else(gone)?;
            match attempt {
                Ok(0) => Ok(None),
                Ok(count) => Ok(Some(count as usize)),
                Err(WriteError::Closed) => Err(ErrorKind::BrokenPipe.into()),
                Err(WriteError::Failed(error)) => Err(failed(error)),
            }
        })?;
        self.shared.wake();
        Ok(written)
    }

    /// Reads between 1 and `most` bytes. Waits for data for at most `timeout`, or without limit if `timeout` is
    /// `None`. An empty result means the end of the stream.
    ///
    /// # Errors
    /// Returns the connection's error if the connection fails, and `WouldBlock` if no data arrives in this time.
    pub fn read(&self, most: usize, timeout: Option<Duration>) -> io::Result<Vec<u8>> {
        let until = timeout.map(|timeout| instant() + timeout);
        let payload = self.shared.wait(until, |table| {
            let now = self.shared.clock.now();
            match table.with(self.ends, |connection| connection.read(now, most as u64)).ok_or_else(gone)? {
                Ok(payload) => Ok(Some(payload)),
                Err(ReadError::Blocked) => Ok(None),
                Err(ReadError::Ended) => Ok(Some(Payload::EMPTY)),
                Err(ReadError::Failed(error)) => Err(failed(error)),
            }
        })?;
        if !payload.is_empty() {
            // The read may have opened the receive window, so a window update may be due.
            self.shared.wake();
        }
        Ok(match payload.bytes() {
            Some(bytes) => bytes.to_vec(),
            None => vec![0; payload.len() as usize],
        })
    }

    /// Replaces the congestion control, like the socket option TCP_CONGESTION.
    ///
    /// # Errors
    /// Returns `InvalidInput` if there is no congestion control with that name.
    pub fn set_cc(&self, name: &str) -> io::Result<()> {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        let connection = state.table.connection(self.ends).ok_or_else(gone)?;
        let setup = Setup::new(connection.profile(), connection.info(now).snd_mss, u64::from(self.ends.0));
        let unknown = || io::Error::new(ErrorKind::InvalidInput, format!("there is no congestion control {name:?}"));
        let controller = cc::build(name, &setup).ok_or_else(unknown)?;
        state.table.with(self.ends, |connection| connection.set_controller(now, controller));
        Ok(())
    }

    /// Closes one direction or both, like shutdown(2).
    pub fn shutdown(&self, how: Shutdown) {
        self.act(|connection| connection.shutdown(how));
    }

    /// Aborts the connection with a reset.
    pub fn abort(&self) {
        self.act(Connection::abort);
    }

    fn act(&self, act: impl FnOnce(&mut Connection)) {
        self.shared.lock().table.with(self.ends, act);
        self.shared.wake();
        self.shared.changed.notify_all();
    }

    /// Returns the state of the connection, like the socket option TCP_INFO.
    pub fn info(&self) -> TcpInfo {
        let now = self.shared.clock.now();
        self.shared.lock().table.connection(self.ends).expect("held while it has a socket").info(now)
    }
}

impl Drop for TcpSocket {
    fn drop(&mut self) {
        self.shared.lock().table.close(self.ends, self.shared.clock.now());
        self.shared.wake();
    }
}

/// Creates a TUN device in this network namespace. `kernels` is the kernel's address, and `ours` the address behind the
/// device. Needs root.
///
/// # Errors
/// Returns an error if the kernel rejects a request.
pub fn tun_between(name: &str, kernels: IpAddr, ours: IpAddr, mtu: u32) -> io::Result<Tun> {
    let tun = Tun::create(name)?;
    let netlink = Netlink::open()?;
    netlink.bring_up(name, Some(mtu))?;
    netlink.add_address(name, kernels)?;
    let bits = if ours.is_ipv4() { 32 } else { 128 };
    netlink.add_route(name, ours, bits, Reach::Behind)?;
    Ok(tun)
}
