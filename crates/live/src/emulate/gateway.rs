//! The gateway between the emulated link and the network. An ordinary socket of this machine continues each TCP
//! connection and UDP flow. The gateway needs no privilege.
//!
//! For a SYN that leaves the link, the gateway connects to the same destination. If that succeeds, the gateway opens a
//! listening socket in the outer namespace, passes the SYN to the kernel of that namespace, and copies data. If the
//! network refuses the connection, the command gets `connection refused`. If the network does not answer, the SYN stays
//! unanswered.
//!
//! **Consequence.** TCP connections end at the far end of the link. This machine's congestion control sends the data
//! over the link. Pings are answered at the far end too.
//!
//! Left out: connections that the network opens to the command, protocols other than TCP and UDP beyond the link, and
//! UDP flows whose first datagram is fragmented.
//!
//! At the gateway's own address, the command reaches services on 127.0.0.1. Port 53 of this address leads to the
//! machine's name server.

use super::datagrams::{Carrier, together};
use super::keeper::{self, Protocol};
use super::room::{GATEWAY, GATEWAY_V6};
use crate::linux::{Channel, Tun};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{setsockopt, sockopt};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Timeout for opening a connection to the network.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(75);
/// Timeout for the command's handshake after the connection to the network was opened.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);
/// Idle time after which a UDP flow is closed.
const IDLE: Duration = Duration::from_secs(180);
/// Idle time after which a UDP flow to a name server is closed.
const IDLE_NAMES: Duration = Duration::from_secs(10);
const NAMES: u16 = 53;
/// Number of reads from one socket before the other sockets get a turn.
const AT_ONCE: usize = 16;
/// Interval between checks of the timeouts.
const SWEEP: Duration = Duration::from_secs(1);
/// Maximum number of simultaneous connections. The gateway drops further SYNs, which their senders retransmit.
const MOST_CONNECTIONS: usize = 8192;
/// Stack size in bytes of the threads that only copy data.
const STACK: usize = 128 * 1024;
/// Largest number of bytes read from a connection with one call.
const CARRIED: usize = 128 * 1024;

/// Datagram flows may use at most the share 1 / `DATAGRAM_SHARE` of this process's descriptors.
const DATAGRAM_SHARE: usize = 2;

/// Source and destination of a connection or datagram flow.
type FlowEnds = (SocketAddr, SocketAddr);

/// A message to the gateway's thread.
enum Message {
    /// A SYN that left the link.
    Syn(FlowEnds, Vec<u8>),
    /// A datagram that left the link, for a destination that has no socket yet.
    Datagram(SocketAddr, Vec<u8>),
    /// The result of an attempt to connect to the network.
    Connected(FlowEnds, io::Result<TcpStream>),
    /// Both directions of a joined connection have ended.
    Ended(FlowEnds),
    /// The emulation ends.
    Stop,
}

/// The pump's handle to the gateway. The gateway runs on its own thread.
#[derive(Debug)]
pub(super) struct Gateway {
    sender: Sender<Message>,
    wake: Arc<EventFd>,
    /// Destinations that already have a UDP socket.
    open: Arc<Mutex<BTreeSet<SocketAddr>>>,
    starved: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Starts the gateway's thread. `resolver` is the name server behind port 53. `descriptors` is the maximum number
    /// of open files.
    pub fn start(keeper: Channel, outer: Tun, resolver: Option<SocketAddr>, descriptors: usize) -> io::Result<Gateway> {
        let (sender, inbox) = channel();
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let open = Arc::new(Mutex::new(BTreeSet::new()));
        let back = Back { sender: sender.clone(), wake: Arc::clone(&wake) };
        let starved = Arc::new(AtomicU64::new(0));
        let work = Work {
            keeper,
            outer,
            resolver,
            back,
            inbox,
            open: Arc::clone(&open),
            connections: BTreeMap::new(),
            listeners: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            carrier: Carrier::new(),
            most_datagram_sockets: descriptors / DATAGRAM_SHARE,
            starved: Arc::clone(&starved),
        };
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || work.go_on())?;
        Ok(Gateway { sender, wake, open, starved, thread: Some(thread) })
    }

    /// Returns the number of connections that failed for lack of a descriptor, plus the number of datagram flows that
    /// were closed to free descriptors.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// Accepts a SYN that left the link. The outer namespace receives it after the network has answered.
    pub fn syn(&self, ends: FlowEnds, packet: Vec<u8>) {
        self.send_message(Message::Syn(ends, packet));
    }

    /// Returns true if this destination has a socket, so that a datagram can be passed on directly.
    pub fn knows(&self, destination: SocketAddr) -> bool {
        lock(&self.open).contains(&destination)
    }

    /// Accepts a datagram that left the link for a destination without a socket. The gateway opens the socket first.
    pub fn datagram(&self, destination: SocketAddr, packet: Vec<u8>) {
        self.send_message(Message::Datagram(destination, packet));
    }

    fn send_message(&self, message: Message) {
        // Sending fails only if the thread has ended. The packet is then lost.
        if self.sender.send(message).is_ok() {
            let _ = self.wake.write(1);
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.send_message(Message::Stop);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends messages to the gateway's thread from other threads.
#[derive(Clone)]
struct Back {
    sender: Sender<Message>,
    wake: Arc<EventFd>,
}

impl Back {
    fn send_message(&self, message: Message) {
        let _ = self.sender.send(message);
        let _ = self.wake.write(1);
    }
}

/// Progress of a connection.
enum Stage {
    /// The connection to the network is being opened. Contains the SYN, which waits for the result.
    Connecting(Vec<u8>),
    /// The connection to the network has been established since this instant. The command has not completed its
    /// handshake yet.
    Waiting(TcpStream, Instant),
    /// Both connections are established, and data is copied between them.
    Joined,
}

/// The sockets of one UDP destination: one in the outer namespace, and one to the network for each sender.
struct Datagrams {
    socket: UdpSocket,
    senders: BTreeMap<SocketAddr, (UdpSocket, Instant)>,
    made: Instant,
}

struct Work {
    keeper: Channel,
    outer: Tun,
    resolver: Option<SocketAddr>,
    back: Back,
    inbox: Receiver<Message>,
    open: Arc<Mutex<BTreeSet<SocketAddr>>>,
    connections: BTreeMap<FlowEnds, Stage>,
    /// Listening sockets in the outer namespace, by address.
    listeners: BTreeMap<SocketAddr, TcpListener>,
    datagrams: BTreeMap<SocketAddr, Datagrams>,
    carrier: Carrier,
    most_datagram_sockets: usize,
    starved: Arc<AtomicU64>,
}

/// The purpose of a polled descriptor.
enum Watched {
    Listener(SocketAddr),
    Room(SocketAddr),
    World(SocketAddr, SocketAddr),
}

#[expect(clippy::disallowed_methods, reason = "the timeouts of sockets need the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

impl Work {
    fn go_on(mut self) {
        let mut swept = now();
        while self.wait().is_ok() {
            if swept.elapsed() >= SWEEP {
                self.sweep();
                swept = now();
            }
        }
    }

    /// Waits for messages and readable sockets, then handles them.
    fn wait(&mut self) -> io::Result<()> {
        let ready: Vec<Watched> = {
            let mut watched = Vec::new();
            let mut waits = vec![PollFd::new(self.back.wake.as_fd(), PollFlags::POLLIN)];
            let mut watch = |what, descriptor| {
                watched.push(what);
                waits.push(PollFd::new(descriptor, PollFlags::POLLIN));
            };
            for (address, listener) in &self.listeners {
                watch(Watched::Listener(*address), listener.as_fd());
            }
            for (address, datagrams) in &self.datagrams {
                watch(Watched::Room(*address), datagrams.socket.as_fd());
                for (sender, (socket, _)) in &datagrams.senders {
                    watch(Watched::World(*address, *sender), socket.as_fd());
                }
            }
            match poll(&mut waits, PollTimeout::from(1000u16)) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let awake = waits[1..].iter().map(|wait| wait.any().unwrap_or(false));
            watched.into_iter().zip(awake).filter(|(_, ready)| *ready).map(|(what, _)| what).collect()
        };
        // Clear the event before taking messages, so that a later message wakes the next poll.
        let _ = self.back.wake.read();
        while let Ok(message) = self.inbox.try_recv() {
            self.handle_message(message)?;
        }
        for what in ready {
            match what {
                Watched::Listener(address) => self.accept(address),
                Watched::Room(address) => {
                    self.outwards(address);
                    self.make_room();
                }
                Watched::World(address, sender) => self.inwards(address, sender),
            }
        }
        Ok(())
    }

    fn handle_message(&mut self, message: Message) -> io::Result<()> {
        match message {
            Message::Syn(ends, packet) => self.syn(ends, packet),
            Message::Datagram(destination, packet) => self.open_datagrams(destination, &packet),
            Message::Connected(ends, result) => self.connected(ends, result),
            Message::Stop => Err(ErrorKind::Interrupted.into()),
            Message::Ended(ends) => {
                self.connections.remove(&ends);
                self.close_listener(ends.1);
                Ok(())
            }
        }
    }

    fn syn(&mut self, ends: FlowEnds, packet: Vec<u8>) -> io::Result<()> {
        match self.connections.get(&ends) {
            // The SYN is a retransmission, and the network has not answered the first SYN yet.
            Some(Stage::Connecting(_)) => return Ok(()),
            Some(_) => return self.outer.send(&packet).map(|_| ()),
            None if self.connections.len() >= MOST_CONNECTIONS => return Ok(()),
            None => {}
        }
        let (back, target) = (self.back.clone(), self.target(ends.1));
        // Connect with a blocking call on a separate thread, so that the kernel's SYN retransmissions and timeouts
        // apply.
        let connect = std::thread::Builder::new().name("connect".to_owned()).stack_size(STACK);
        let connecting = connect.spawn(move || {
            back.send_message(Message::Connected(ends, TcpStream::connect_timeout(&target, CONNECT_TIMEOUT)));
        });
        if connecting.is_ok() {
            self.connections.insert(ends, Stage::Connecting(packet));
        }
        Ok(())
    }

    fn connected(&mut self, ends: FlowEnds, result: io::Result<TcpStream>) -> io::Result<()> {
        let Some(Stage::Connecting(packet)) = self.connections.remove(&ends) else { return Ok(()) };
        match result {
            Ok(stream) if self.listen(ends.1) => {
                self.connections.insert(ends, Stage::Waiting(stream, now()));
            }
            // The network did not answer, so the SYN must stay unanswered in the outer namespace too.
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(()),
            // This machine had no free file descriptor, so no connection was attempted. Leave the SYN unanswered,
            // because a descriptor may be free when the SYN is retransmitted.
            Err(error) if is_out_of_descriptors(&error) => {
                self.starved.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            // The outer namespace has no listening socket for this SYN, so its kernel refuses the connection.
            _ => {}
        }
        self.outer.send(&packet).map(|_| ())
    }

    /// Opens a listening socket in the outer namespace if none is open. Returns false on failure.
    fn listen(&mut self, address: SocketAddr) -> bool {
        if self.listeners.contains_key(&address) {
            return true;
        }
        match keeper::ask(&self.keeper, Protocol::Tcp, address) {
            Ok(socket) => self.listeners.insert(address, TcpListener::from(socket)).is_none(),
            Err(_) => false,
        }
    }

    /// Closes a listening socket if no connection uses it.
    fn close_listener(&mut self, address: SocketAddr) {
        if !self.connections.keys().any(|(_, listened)| *listened == address) {
            self.listeners.remove(&address);
        }
    }

    fn accept(&mut self, address: SocketAddr) {
        while let Some((near, sender)) = self.listeners.get(&address).and_then(|listener| listener.accept().ok()) {
            let ends = (sender, address);
            match self.connections.remove(&ends) {
                Some(Stage::Waiting(far, _)) => {
                    if join(near, far, ends, &self.back).is_ok() {
                        self.connections.insert(ends, Stage::Joined);
                    }
                }
                // The command completed the handshake, but the connection to the network no longer exists. Reset the
                // command's connection.
                other => {
                    if let Some(stage) = other {
                        self.connections.insert(ends, stage);
                    }
                    reset(&near);
                }
            }
        }
    }

    fn open_datagrams(&mut self, destination: SocketAddr, packet: &[u8]) -> io::Result<()> {
        if !self.datagrams.contains_key(&destination) {
            self.make_room();
            let Ok(socket) = keeper::ask(&self.keeper, Protocol::Udp, destination) else { return Ok(()) };
            let socket = UdpSocket::from(socket);
            together(&socket);
            let datagrams = Datagrams { socket, senders: BTreeMap::new(), made: now() };
            self.datagrams.insert(destination, datagrams);
            lock(&self.open).insert(destination);
        }
        self.outer.send(packet).map(|_| ())
    }

    /// Sends the datagrams that have crossed the link to the network.
    fn outwards(&mut self, destination: SocketAddr) {
        let target = self.target(destination);
        let Some(datagrams) = self.datagrams.get_mut(&destination) else { return };
        for _ in 0..AT_ONCE {
            let Ok(came) = self.carrier.receive(&datagrams.socket) else { return };
            let Some(sender) = came.from else { continue };
            let (socket, used) = match datagrams.senders.entry(sender) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => match datagram_socket(target) {
                    Ok(socket) => new.insert((socket, now())),
                    Err(_) => continue,
                },
            };
            *used = now();
            came.send_on(socket, None);
        }
    }

    /// Closes the datagram flows with the longest idle time until enough descriptors are free for connections.
    fn make_room(&mut self) {
        let sockets: usize = self.datagrams.values().map(|datagrams| 1 + datagrams.senders.len()).sum();
        // Include the socket that is about to be opened.
        let mut excess = (sockets + 1).saturating_sub(self.most_datagram_sockets);
        if excess == 0 {
            return;
        }
        let last_used = |datagrams: &Datagrams| datagrams.senders.values().map(|(_, used)| *used).max();
        let mut idle: Vec<(Instant, SocketAddr)> = self
            .datagrams
            .iter()
            .map(|(destination, datagrams)| (last_used(datagrams).unwrap_or(datagrams.made), *destination))
            .collect();
        // Sort by the time of last use, so that the flows with the longest idle time are closed first.
        idle.sort();
        for (_, destination) in idle {
            if excess == 0 {
                break;
            }
            if let Some(ended) = self.datagrams.remove(&destination) {
                lock(&self.open).remove(&destination);
                excess = excess.saturating_sub(1 + ended.senders.len());
                self.starved.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Sends the network's responses back over the link.
    fn inwards(&mut self, destination: SocketAddr, sender: SocketAddr) {
        let Some(datagrams) = self.datagrams.get_mut(&destination) else { return };
        let Some((socket, used)) = datagrams.senders.get_mut(&sender) else { return };
        for _ in 0..AT_ONCE {
            // An error may mean that the network refused an earlier datagram (ICMP). The failed call also clears this
            // error.
            let Ok(came) = self.carrier.receive(socket) else { return };
            *used = now();
            came.send_on(&datagrams.socket, Some(sender));
        }
    }

    /// Closes connections and datagram flows whose timeout has expired.
    fn sweep(&mut self) {
        let given_up = |stage: &Stage| matches!(stage, Stage::Waiting(_, since) if since.elapsed() > ACCEPT_TIMEOUT);
        let late: Vec<FlowEnds> =
            self.connections.iter().filter(|(_, stage)| given_up(stage)).map(|(ends, _)| *ends).collect();
        for ends in late {
            self.connections.remove(&ends);
            self.close_listener(ends.1);
        }
        let mut open = lock(&self.open);
        self.datagrams.retain(|destination, datagrams| {
            let idle = if destination.port() == NAMES { IDLE_NAMES } else { IDLE };
            datagrams.senders.retain(|_, (_, used)| used.elapsed() < idle);
            let kept = !datagrams.senders.is_empty() || datagrams.made.elapsed() < idle;
            if !kept {
                open.remove(destination);
            }
            kept
        });
    }

    /// Translates a destination of the command into the address to use on this machine's network.
    fn target(&self, destination: SocketAddr) -> SocketAddr {
        match (destination.ip(), self.resolver) {
            (ip, Some(resolver)) if is_gateway(ip) && destination.port() == NAMES => resolver,
            (IpAddr::V4(ip), _) if ip == GATEWAY => (Ipv4Addr::LOCALHOST, destination.port()).into(),
            (IpAddr::V6(ip), _) if ip == GATEWAY_V6 => (Ipv6Addr::LOCALHOST, destination.port()).into(),
            _ => destination,
        }
    }
}

fn is_gateway(ip: IpAddr) -> bool {
    ip == GATEWAY || ip == GATEWAY_V6
}

fn datagram_socket(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr =
        if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(target)?;
    together(&socket);
    Ok(socket)
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

/// Makes closing the connection send a reset (SO_LINGER with a timeout of 0).
fn reset(stream: &impl AsFd) {
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(stream, sockopt::Linger, &at_once);
}

/// Copies data from one connection to the other until the end of the stream.
fn carry(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let mut octets = vec![0; CARRIED];
    loop {
        match from.read(&mut octets) {
            Ok(0) => return Ok(()),
            Ok(len) => to.write_all(&octets[..len])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Copies data in both directions, with one thread per direction, until both streams have ended.
fn join(near: TcpStream, far: TcpStream, ends: FlowEnds, back: &Back) -> io::Result<()> {
    // The relay threads need blocking reads.
    near.set_nonblocking(false)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (near, far) = (Arc::new(near), Arc::new(far));
    let left = Arc::new(Mutex::new(2));
    for (from, to) in [(Arc::clone(&near), Arc::clone(&far)), (far, near)] {
        let (back, left) = (back.clone(), Arc::clone(&left));
        std::thread::Builder::new().name("relay".to_owned()).stack_size(STACK).spawn(move || {
            match carry(&from, &to) {
                Ok(()) => {
                    // A FIN ends one direction only. The other direction stays open.
                    let _ = to.shutdown(Shutdown::Write);
                }
                Err(_) => {
                    // One side was reset, so reset both.
                    reset(&*from);
                    reset(&*to);
                    let _ = from.shutdown(Shutdown::Both);
                    let _ = to.shutdown(Shutdown::Both);
                }
            }
            drop((from, to));
            let mut left = lock(&left);
            *left -= 1;
            if *left == 0 {
                back.send_message(Message::Ended(ends));
            }
        })?;
    }
    Ok(())
}
