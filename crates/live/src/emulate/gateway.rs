//! From the outer room to the world: every connection and datagram flow that crosses the line goes on by sockets of
//! this machine, so that nothing needs to be forwarded or translated, and no privilege.
//!
//! A connection begins with a SYN that leaves the line. It waits here until the same connection from this machine is
//! made; then the outer room's kernel gets it, behind a socket that listens at its destination, and both connections
//! are joined. What the world refuses finds no socket, and the outer room's kernel refuses it: the command sees
//! `connection refused`, and what the world does not answer is not answered. A datagram for a destination without a
//! socket waits for its socket in the same way.
//!
//! **What this means.** TCP ends at the far end of the line: its congestion control there is this machine's, and the
//! way beyond is none of the line's business. A ping is answered there too. Left out: connections from the world to the
//! command, other protocols than TCP and UDP beyond the line, and first datagrams that are fragments.
//!
//! The gateway's own address stands for this machine: a service on 127.0.0.1 is reached there, and port 53 is the
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

/// So long the world may take to accept a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(75);
/// A connection that was made and whose handshake the command does not end is given up.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(60);
/// A datagram flow ends after so long without one; a question to a name server sooner.
const IDLE: Duration = Duration::from_secs(180);
const IDLE_NAMES: Duration = Duration::from_secs(10);
const NAMES: u16 = 53;
/// So often a socket is read before others have their turn.
const AT_ONCE: usize = 16;
/// How often the patience is looked at.
const SWEEP: Duration = Duration::from_secs(1);
/// Connections that are made, or joined, at one time; a SYN beyond is lost, and comes again.
const MOST_CONNECTIONS: usize = 8192;
/// A thread that copies octets needs little.
const STACK: usize = 128 * 1024;
/// Octets that are read at once from a connection.
const CARRIED: usize = 128 * 1024;

/// Share of this process' descriptors that sockets of datagram flows may take: the rest is for connections.
const DATAGRAM_SHARE: usize = 2;

/// The ends of a connection or datagram flow: who began it and whom it is for.
type Ends = (SocketAddr, SocketAddr);

/// What the gateway's thread is told.
enum Told {
    /// A SYN left the line.
    Syn(Ends, Vec<u8>),
    /// A datagram left the line for a destination without a socket.
    Datagram(SocketAddr, Vec<u8>),
    /// The world answered.
    Connected(Ends, io::Result<TcpStream>),
    /// Both directions of a joined connection are over.
    Ended(Ends),
    /// The line is taken down.
    Stop,
}

/// The pump's side of the gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    tell: Sender<Told>,
    wake: Arc<EventFd>,
    /// Destinations of datagrams that have a socket.
    open: Arc<Mutex<BTreeSet<SocketAddr>>>,
    starved: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Starts the thread. `resolver` is the name server behind port 53 of the gateway, `descriptors` how many this
    /// process may have open.
    pub fn start(keeper: Channel, outer: Tun, resolver: Option<SocketAddr>, descriptors: usize) -> io::Result<Gateway> {
        let (tell, told) = channel();
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let open = Arc::new(Mutex::new(BTreeSet::new()));
        let back = Back { tell: tell.clone(), wake: Arc::clone(&wake) };
        let starved = Arc::new(AtomicU64::new(0));
        let work = Work {
            keeper,
            outer,
            resolver,
            back,
            told,
            open: Arc::clone(&open),
            connections: BTreeMap::new(),
            listeners: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            carrier: Carrier::new(),
            most_datagram_sockets: descriptors / DATAGRAM_SHARE,
            starved: Arc::clone(&starved),
        };
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || work.go_on())?;
        Ok(Gateway { tell, wake, open, starved, thread: Some(thread) })
    }

    /// Number of times that no descriptor was free for a connection, or that a datagram flow lost its own to another.
    pub fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }

    /// A SYN left the line. The gateway gives it to the outer room in its time.
    pub fn syn(&self, ends: Ends, packet: Vec<u8>) {
        self.say(Told::Syn(ends, packet));
    }

    /// Whether the outer room can have a datagram for this destination at once.
    pub fn knows(&self, destination: SocketAddr) -> bool {
        lock(&self.open).contains(&destination)
    }

    /// A datagram left the line for a destination that is not known. The gateway gives it to the outer room in its
    /// time.
    pub fn datagram(&self, destination: SocketAddr, packet: Vec<u8>) {
        self.say(Told::Datagram(destination, packet));
    }

    fn say(&self, told: Told) {
        // Without its thread there is no gateway, and the packet is lost.
        if self.tell.send(told).is_ok() {
            let _ = self.wake.write(1);
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.say(Told::Stop);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How other threads tell the gateway's.
#[derive(Clone)]
struct Back {
    tell: Sender<Told>,
    wake: Arc<EventFd>,
}

impl Back {
    fn say(&self, told: Told) {
        let _ = self.tell.send(told);
        let _ = self.wake.write(1);
    }
}

/// How far a connection is.
enum Stage {
    /// With the SYN that waits for it.
    Connecting(Vec<u8>),
    /// The world's end is there; the command's handshake is not over.
    Waiting(TcpStream, Instant),
    Joined,
}

/// A socket of the outer room, and the sockets of this machine for those who send to it.
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
    told: Receiver<Told>,
    open: Arc<Mutex<BTreeSet<SocketAddr>>>,
    connections: BTreeMap<Ends, Stage>,
    /// By the address at which they listen.
    listeners: BTreeMap<SocketAddr, TcpListener>,
    datagrams: BTreeMap<SocketAddr, Datagrams>,
    carrier: Carrier,
    most_datagram_sockets: usize,
    starved: Arc<AtomicU64>,
}

/// What a descriptor in a poll is.
enum Watched {
    Listener(SocketAddr),
    Room(SocketAddr),
    World(SocketAddr, SocketAddr),
}

#[expect(clippy::disallowed_methods, reason = "the patience of sockets is counted by the machine's clock")]
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

    /// Waits for anything, and handles it.
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
        let _ = self.back.wake.read();
        while let Ok(told) = self.told.try_recv() {
            self.hear(told)?;
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

    fn hear(&mut self, told: Told) -> io::Result<()> {
        match told {
            Told::Syn(ends, packet) => self.syn(ends, packet),
            Told::Datagram(destination, packet) => self.open_datagrams(destination, &packet),
            Told::Connected(ends, result) => self.connected(ends, result),
            Told::Stop => Err(ErrorKind::Interrupted.into()),
            Told::Ended(ends) => {
                self.connections.remove(&ends);
                self.close_listener(ends.1);
                Ok(())
            }
        }
    }

    fn syn(&mut self, ends: Ends, packet: Vec<u8>) -> io::Result<()> {
        match self.connections.get(&ends) {
            // It comes again for want of an answer, which the world has not given yet.
            Some(Stage::Connecting(_)) => return Ok(()),
            Some(_) => return self.outer.send(&packet).map(|_| ()),
            None if self.connections.len() >= MOST_CONNECTIONS => return Ok(()),
            None => {}
        }
        let (back, target) = (self.back.clone(), self.target(ends.1));
        let connect = std::thread::Builder::new().name("connect".to_owned()).stack_size(STACK);
        let connecting = connect.spawn(move || {
            back.say(Told::Connected(ends, TcpStream::connect_timeout(&target, CONNECT_PATIENCE)));
        });
        if connecting.is_ok() {
            self.connections.insert(ends, Stage::Connecting(packet));
        }
        Ok(())
    }

    fn connected(&mut self, ends: Ends, result: io::Result<TcpStream>) -> io::Result<()> {
        let Some(Stage::Connecting(packet)) = self.connections.remove(&ends) else { return Ok(()) };
        match result {
            Ok(stream) if self.listen(ends.1) => {
                self.connections.insert(ends, Stage::Waiting(stream, now()));
            }
            // Nobody answered: nor does the outer room.
            Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(()),
            // Not the world's refusal. The SYN comes again, when a descriptor may be free.
            Err(error) if is_out_of_descriptors(&error) => {
                self.starved.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            // No socket waits for it in the outer room, whose kernel says so.
            _ => {}
        }
        self.outer.send(&packet).map(|_| ())
    }

    /// Makes sure that the outer room listens there.
    fn listen(&mut self, address: SocketAddr) -> bool {
        if self.listeners.contains_key(&address) {
            return true;
        }
        match keeper::ask(&self.keeper, Protocol::Tcp, address) {
            Ok(socket) => self.listeners.insert(address, TcpListener::from(socket)).is_none(),
            Err(_) => false,
        }
    }

    /// Ends a listener that no connection needs any more.
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

    /// Datagrams that have crossed the line go out into the world.
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

    /// Ends the datagram flows that were idle longest, until their sockets leave descriptors to connections.
    fn make_room(&mut self) {
        let sockets: usize = self.datagrams.values().map(|datagrams| 1 + datagrams.senders.len()).sum();
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

    /// The world's answers go back over the line.
    fn inwards(&mut self, destination: SocketAddr, sender: SocketAddr) {
        let Some(datagrams) = self.datagrams.get_mut(&destination) else { return };
        let Some((socket, used)) = datagrams.senders.get_mut(&sender) else { return };
        for _ in 0..AT_ONCE {
            // Or a refusal was told, and is over now that it was read.
            let Ok(came) = self.carrier.receive(socket) else { return };
            *used = now();
            came.send_on(&datagrams.socket, Some(sender));
        }
    }

    /// Ends what nobody has used for long.
    fn sweep(&mut self) {
        let given_up = |stage: &Stage| matches!(stage, Stage::Waiting(_, since) if since.elapsed() > ACCEPT_PATIENCE);
        let late: Vec<Ends> =
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

    /// Where the world has what the command calls so.
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

/// Ends a connection so that the other side sees a reset.
fn reset(stream: &impl AsFd) {
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(stream, sockopt::Linger, &at_once);
}

/// Carries octets one way until they are over.
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

/// Carries octets both ways until both are over, each on a thread of its own.
fn join(near: TcpStream, far: TcpStream, ends: Ends, back: &Back) -> io::Result<()> {
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
                    let _ = to.shutdown(Shutdown::Write);
                }
                Err(_) => {
                    // Reset by one of the two: then by both.
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
                back.say(Told::Ended(ends));
            }
        })?;
    }
    Ok(())
}
