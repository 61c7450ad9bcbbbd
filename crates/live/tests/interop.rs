//! Lopsided's TCP and the kernel's TCP exchange data over a TUN device that loses, reorders and duplicates packets.
//!
//! `LOPSIDED_INTEROP_MB=1000` runs the long version (with `--release`). These tests print a note and pass without
//! namespaces or a TUN driver.
#![cfg(target_os = "linux")]

use lopsided_core::Rng;
use lopsided_live::Tun;
use lopsided_live::endpoint::{Device, OwnPorts, SocketSettings, TcpHost, TcpSocket, tun_between, way_to};
use nix::libc;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

const KERNEL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const KERNEL_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const OURS_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));
const MTU: u32 = 1500;
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(60));

/// Runs the same test in a second process with its own network namespace. Returns true inside that process.
fn in_namespace(test: &str) -> bool {
    if std::env::var_os("LOPSIDED_IN_A_ROOM").is_some() {
        return true;
    }
    let this = std::env::current_exe().expect("the path of the test binary");
    let room = |with: &[&str], command: &[&str]| {
        Command::new("unshare").args(with).args(command).env("LOPSIDED_IN_A_ROOM", "1").output()
    };
    let this = this.to_str().expect("a readable path");
    let ways: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let possible =
        |with: &&&[&str]| room(with, &["test", "-w", "/dev/net/tun"]).is_ok_and(|done| done.status.success());
    let Some(with) = ways.iter().find(possible) else {
        println!("left out: no network namespace or no TUN driver");
        return false;
    };
    let done = room(with, &[this, test, "--exact", "--nocapture"]).expect("the command can be started");
    print!("{}", String::from_utf8_lossy(&done.stdout));
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    false
}

/// A device that loses, delays and duplicates packets in both directions.
struct Rough {
    tun: Tun,
    rng: Rng,
    /// Percentages of packets that are lost, delayed and duplicated.
    lost: f64,
    late: f64,
    twice: f64,
    /// Delayed packets of each direction, with the number of packets that must still overtake them.
    inwards: VecDeque<(u32, Vec<u8>)>,
    outwards: VecDeque<(u32, Vec<u8>)>,
    again: VecDeque<Vec<u8>>,
}

impl Rough {
    fn new(tun: Tun, percent: f64) -> Rough {
        Rough {
            tun,
            rng: Rng::for_role(1, "interop"),
            lost: percent,
            late: percent,
            twice: percent,
            inwards: VecDeque::new(),
            outwards: VecDeque::new(),
            again: VecDeque::new(),
        }
    }

    fn happens(&mut self, percent: f64) -> bool {
        self.rng.chance(percent / 100.0)
    }
}

fn passed(waiting: &mut VecDeque<(u32, Vec<u8>)>) -> Option<Vec<u8>> {
    waiting.iter_mut().for_each(|(left, _)| *left = left.saturating_sub(1));
    let due = waiting.iter().position(|(left, _)| *left == 0)?;
    waiting.remove(due).map(|(_, packet)| packet)
}

impl Device for Rough {
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(again) = self.again.pop_front() {
            *packet = again;
            return Ok(true);
        }
        if let Some(late) = passed(&mut self.inwards) {
            *packet = late;
            return Ok(true);
        }
        loop {
            if !Device::receive(&mut self.tun, packet)? {
                // No further packet can overtake the delayed one, so release it.
                if let Some((_, late)) = self.outwards.pop_front() {
                    Device::send(&mut self.tun, &late)?;
                }
                let Some((_, late)) = self.inwards.pop_front() else { return Ok(false) };
                *packet = late;
                return Ok(true);
            }
            if self.happens(self.lost) {
                continue;
            }
            if self.happens(self.late) {
                let others = 2 + self.rng.below(8) as u32;
                self.inwards.push_back((others, packet.clone()));
                continue;
            }
            if self.happens(self.twice) {
                self.again.push_back(packet.clone());
            }
            return Ok(true);
        }
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.happens(self.lost) {
            return Ok(());
        }
        if self.happens(self.late) {
            let others = 2 + self.rng.below(8) as u32;
            self.outwards.push_back((others, packet.to_vec()));
            return Ok(());
        }
        Device::send(&mut self.tun, packet)?;
        if self.happens(self.twice) {
            Device::send(&mut self.tun, packet)?;
        }
        if let Some(late) = passed(&mut self.outwards) {
            Device::send(&mut self.tun, &late)?;
        }
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.tun.descriptor()
    }
}

/// Returns `len` bytes of a pseudo-random stream, starting at position `from`. Each `seed` selects another stream.
fn stream(seed: u64, from: u64, len: usize) -> Vec<u8> {
    let octet = |place: u64| {
        let mixed = ((place / 8) ^ (seed << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.rotate_left(23) >> (8 * (place % 8))) as u8
    };
    (from..from + len as u64).map(octet).collect()
}

const CHUNK: usize = 1 << 16;

/// One end of a connection, with lopsided's TCP or the kernel's TCP.
trait End: Send + Sync {
    fn put(&self, octets: &[u8]) -> io::Result<usize>;
    fn get(&self) -> io::Result<Vec<u8>>;
    fn end(&self, how: Shutdown);
}

impl End for TcpSocket {
    fn put(&self, octets: &[u8]) -> io::Result<usize> {
        self.write(octets, TIMEOUT)
    }

    fn get(&self) -> io::Result<Vec<u8>> {
        self.read(CHUNK, TIMEOUT)
    }

    fn end(&self, how: Shutdown) {
        self.shutdown(how);
    }
}

impl End for TcpStream {
    fn put(&self, octets: &[u8]) -> io::Result<usize> {
        (&mut &*self).write(octets)
    }

    fn get(&self) -> io::Result<Vec<u8>> {
        let mut octets = vec![0; CHUNK];
        let len = (&mut &*self).read(&mut octets)?;
        octets.truncate(len);
        Ok(octets)
    }

    fn end(&self, how: Shutdown) {
        let _ = TcpStream::shutdown(self, how);
    }
}

fn send_all(end: &dyn End, seed: u64, size: u64) {
    let mut sent = 0;
    while sent < size {
        let chunk = stream(seed, sent, CHUNK.min((size - sent) as usize));
        let mut left = &chunk[..];
        while !left.is_empty() {
            let count = end.put(left).unwrap_or_else(|error| panic!("after {sent} of {size} octets: {error}"));
            left = &left[count..];
        }
        sent += chunk.len() as u64;
    }
    end.end(Shutdown::Write);
}

fn check_all(end: &dyn End, seed: u64, size: u64) {
    let mut got = 0;
    loop {
        let octets = end.get().unwrap_or_else(|error| panic!("after {got} of {size} octets: {error}"));
        if octets.is_empty() {
            break;
        }
        assert!(octets == stream(seed, got, octets.len()), "octets were changed near offset {got}");
        got += octets.len() as u64;
    }
    assert_eq!(got, size);
}

/// Lets both ends send `size` bytes in parallel and check the bytes that they receive.
fn exchange(ours: &dyn End, kernels: &dyn End, size: u64) {
    thread::scope(|scope| {
        scope.spawn(|| send_all(ours, 1, size));
        scope.spawn(|| send_all(kernels, 2, size));
        scope.spawn(|| check_all(ours, 2, size));
        check_all(kernels, 1, size);
    });
}

/// Opens a connection from lopsided's end if `we_begin` is true, otherwise from the kernel's end.
fn joined(host: &TcpHost, kernels: IpAddr, settings: &SocketSettings, we_begin: bool) -> (TcpSocket, TcpStream) {
    if we_begin {
        let listener = TcpListener::bind((kernels, 0)).expect("a port");
        let peer = listener.local_addr().expect("an address");
        // Use a different port each time: the kernel may still hold the previous connection in TIME-WAIT.
        static PORT: AtomicU16 = AtomicU16::new(40_000);
        let ours = host.connect(PORT.fetch_add(1, Ordering::Relaxed), peer, settings).expect("a free port");
        let (theirs, _) = listener.accept().expect("a connection");
        ours.established(TIMEOUT).expect("a handshake");
        return (ours, theirs);
    }
    let acceptor = host.listen(80, 8, settings).expect("a free port");
    let address = SocketAddr::new(host.address(), 80);
    let connecting = thread::spawn(move || TcpStream::connect_timeout(&address, Duration::from_secs(60)));
    let ours = acceptor.accept(TIMEOUT).expect("a connection");
    (ours, connecting.join().expect("the thread ends").expect("a connection"))
}

/// Returns the field `tcpi_options` of the kernel's end. From the lowest bit: timestamps, SACK, window scaling, ECN.
fn options(kernels: &TcpStream) -> u8 {
    // SAFETY: all zeros is a valid value of this structure.
    #[expect(unsafe_code, reason = "none of the libraries in use has this call")]
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    #[expect(unsafe_code, reason = "none of the libraries in use has this call")]
    // SAFETY: the descriptor is open, and the kernel writes at most `len` bytes.
    let done = unsafe {
        libc::getsockopt(kernels.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut len)
    };
    assert_eq!(done, 0);
    info.tcpi_options
}

fn set(what: &str, value: &str) {
    let path = format!("/proc/sys/net/ipv4/{what}");
    std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// Returns the settings that correspond to `stack.ecn = "on"` in a scenario.
fn with_ecn(profile: &str, cc: &str) -> SocketSettings {
    let mut settings = SocketSettings::named(profile, cc, MTU).expect("built in");
    let mut changed = (*settings.profile).clone();
    changed.ecn = lopsided_tcp::EcnRule::On;
    changed.ecn_fallback = false;
    settings.profile = changed.into();
    settings
}

#[test]
fn streams_arrive_unchanged_over_a_lossy_reordering_path() {
    if !in_namespace("streams_arrive_unchanged_over_a_lossy_reordering_path") {
        return;
    }
    let megabytes: u64 = std::env::var("LOPSIDED_INTEROP_MB").ok().and_then(|size| size.parse().ok()).unwrap_or(2);
    let tun = tun_between("ours0", KERNEL, OURS, MTU).expect("a device");
    set("tcp_ecn", "1");
    // On a busy machine, a SYN may be repeated. The repeated SYN must request ECN, too.
    set("tcp_ecn_fallback", "0");
    let host = TcpHost::start(OURS, Rough::new(tun, 1.0)).expect("a thread");
    for (profile, cc, we_begin) in
        [("linux-6.1", "cubic", true), ("linux-6.1", "reno", false), ("freebsd-7", "reno", true)]
    {
        let settings = with_ecn(profile, cc);
        let (ours, theirs) = joined(&host, KERNEL, &settings, we_begin);
        exchange(&ours, &theirs, megabytes * 1_000_000);
        let (kernel_options, agreed) = (options(&theirs), ours.info().options);
        assert_eq!(
            kernel_options & 0b1111,
            0b1111,
            "timestamps, SACK, window scaling and ECN hold at the kernel's end"
        );
        assert!(agreed.timestamps && agreed.sack && agreed.window_scaling && agreed.ecn, "{agreed:?}");
        let info = ours.info();
        println!(
            "{profile} {cc}: {megabytes} MB each way, {} of {} segments sent again, {} timeouts, cwnd {}",
            info.counters.retransmits,
            info.counters.data_segments_out,
            info.counters.timeouts,
            info.snd_cwnd.get()
        );
        assert!(
            info.counters.retransmits > 0 && info.counters.out_of_order_received > 0,
            "the path must have lost and reordered packets"
        );
    }
    assert_eq!(host.counts().malformed, 0, "no packet is malformed");
}

fn ended(got: io::Result<Vec<u8>>) -> bool {
    got.is_ok_and(|octets| octets.is_empty())
}

fn kind<T>(done: io::Result<T>) -> Option<ErrorKind> {
    done.err().map(|error| error.kind())
}

fn refused_later(end: &dyn End) -> Option<ErrorKind> {
    thread::sleep(Duration::from_millis(1));
    kind(end.put(b"x"))
}

/// Both streams end properly, whichever end closes first. Data sent to a closed end is answered with a reset.
#[test]
fn connections_end_in_every_order() {
    if !in_namespace("connections_end_in_every_order") {
        return;
    }
    let rooms = [("ours0", KERNEL, OURS), ("ours1", KERNEL_V6, OURS_V6)];
    for (name, kernels, address) in rooms {
        let tun = match tun_between(name, kernels, address, MTU) {
            // The kernel has no IPv6.
            Err(error) if kernels.is_ipv6() => {
                println!("left out: {error}");
                continue;
            }
            made => made.expect("a device"),
        };
        let host = TcpHost::start(address, tun).expect("a thread");
        for we_begin in [true, false] {
            for profile in ["linux-6.1", "freebsd-7", "windows"] {
                let settings = SocketSettings::named(profile, "cubic", MTU).expect("built in");
                every_order(|| joined(&host, kernels, &settings, we_begin));
            }
        }
        assert!(host.linger(Duration::from_secs(20)), "a connection did not end");
        assert_eq!(host.counts().malformed, 0);
    }
}

fn every_order(join: impl Fn() -> (TcpSocket, TcpStream)) {
    // Lopsided closes first. Data that the kernel sends afterwards still arrives.
    let (ours, theirs) = join();
    ours.put(b"ours").expect("the buffer has free space");
    ours.end(Shutdown::Write);
    assert_eq!(theirs.get().expect("data"), b"ours");
    assert!(ended(theirs.get()));
    assert_eq!(kind(ours.put(b"more")), Some(ErrorKind::BrokenPipe));
    theirs.put(b"theirs").expect("room");
    assert_eq!(ours.get().expect("data"), b"theirs");
    drop(theirs);
    assert!(ended(ours.get()));
    drop(ours);

    // The kernel closes first.
    let (ours, theirs) = join();
    theirs.put(b"theirs").expect("room");
    theirs.end(Shutdown::Write);
    assert_eq!(ours.get().expect("data"), b"theirs");
    assert!(ended(ours.get()));
    ours.put(b"ours").expect("room");
    ours.end(Shutdown::Write);
    assert_eq!(theirs.get().expect("data"), b"ours");
    assert!(ended(theirs.get()));
    drop((ours, theirs));

    // Both close at the same time.
    let (ours, theirs) = join();
    thread::scope(|scope| {
        scope.spawn(|| ours.end(Shutdown::Write));
        theirs.end(Shutdown::Write);
    });
    assert!(ended(ours.get()) && ended(theirs.get()));
    drop((ours, theirs));

    // Lopsided closes the connection while it has unread data, so it sends a reset (RFC 1122, section 4.2.2.13).
    let (ours, theirs) = join();
    theirs.put(b"never read").expect("room");
    while ours.info().counters.bytes_received.get() == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(ours);
    assert_eq!(kind(theirs.get()), Some(ErrorKind::ConnectionReset));

    // The kernel closes while it has unread data: it sends a reset too.
    let (ours, theirs) = join();
    ours.put(b"never read").expect("room");
    let mut first = [0; 1];
    theirs.peek(&mut first).expect("data");
    drop(theirs);
    assert_eq!(kind(ours.get()), Some(ErrorKind::ConnectionReset));
    assert_eq!(kind(ours.put(b"x")), Some(ErrorKind::ConnectionReset));

    // One end sends data after the other end has closed.
    let (ours, theirs) = join();
    drop(ours);
    assert!(ended(theirs.get()));
    theirs.put(b"too late").expect("the kernel's connection is open");
    // After the end of the stream, Linux returns an empty read to a reader and EPIPE to a writer.
    assert_eq!((0..1000).find_map(|_| refused_later(&theirs)), Some(ErrorKind::BrokenPipe));
    let (ours, theirs) = join();
    drop(theirs);
    assert!(ended(ours.get()));
    ours.put(b"too late").expect("this end's connection is open");
    assert_eq!((0..1000).find_map(|_| refused_later(&ours)), Some(ErrorKind::ConnectionReset));

    // The connection is aborted with a reset.
    let (ours, theirs) = join();
    ours.abort();
    assert_eq!(kind(theirs.get()), Some(ErrorKind::ConnectionReset));
}

#[test]
fn connections_to_closed_ports_are_refused_in_both_directions() {
    if !in_namespace("connections_to_closed_ports_are_refused_in_both_directions") {
        return;
    }
    let tun = tun_between("ours0", KERNEL, OURS, MTU).expect("a device");
    let host = TcpHost::start(OURS, tun).expect("a thread");
    let settings = SocketSettings::named("linux-6.1", "vegas", MTU).expect("built in");
    let ours = host.connect(40_000, SocketAddr::new(KERNEL, 9), &settings).expect("a free port");
    assert_eq!(kind(ours.established(TIMEOUT)), Some(ErrorKind::ConnectionRefused));
    assert_eq!(kind(TcpStream::connect(SocketAddr::new(OURS, 9))), Some(ErrorKind::ConnectionRefused));
    assert!(SocketSettings::named("linux-6.1", "vega", MTU).is_err_and(|said| said.contains("vegas")));
}

/// Lopsided's TCP on the machine's own address, connected to the machine's own kernel.
#[test]
fn ports_of_the_hosts_own_address_can_be_reserved() {
    if !in_namespace("ports_of_the_hosts_own_address_can_be_reserved") {
        return;
    }
    let _tun = tun_between("out0", KERNEL, OURS, MTU).expect("a device");
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(up.is_ok_and(|status| status.success()), "the loopback device could not be brought up");
    let (address, _) = way_to(KERNEL).expect("a way");
    assert_eq!(address, KERNEL);
    let device = match OwnPorts::reserve(address, 4) {
        Ok(device) => device,
        Err(error) => return println!("left out: {error}"),
    };
    let port = *device.ports().start();
    assert!(TcpListener::bind((address, port)).is_err(), "another program could bind the reserved port");
    let host = TcpHost::start(address, device).expect("a thread");
    let settings = SocketSettings::named("linux-6.1", "cubic", MTU).expect("built in");
    let listener = TcpListener::bind((address, 0)).expect("a port");
    let ours = host.connect(port, listener.local_addr().expect("an address"), &settings).expect("a free port");
    let (theirs, _) = listener.accept().expect("a connection");
    ours.established(TIMEOUT).expect("a handshake");
    exchange(&ours, &theirs, 300_000);
    drop((ours, theirs));
    assert!(host.linger(Duration::from_secs(10)), "the connection did not end");
    drop(host);
    // The kernel can listen on the ports again.
    let again = TcpListener::bind((address, port)).expect("the port is free");
    TcpStream::connect((address, port)).expect("a connection");
    drop(again);
}

/// Returns the number of rules in this network namespace that divert packets to a queue.
fn queue_rules() -> usize {
    let script =
        "{ nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; } 2>/dev/null | grep -ci queue";
    let counted = Command::new("sh").args(["-c", script]).output().expect("a shell");
    String::from_utf8_lossy(&counted.stdout).trim().parse().expect("a number")
}

/// Reserves ports until the process is killed. Does nothing unless the test below sets the variable `LOPSIDED_HOLDS`.
#[test]
fn reserve_ports_for_the_test_of_a_killed_process() {
    if std::env::var_os("LOPSIDED_HOLDS").is_none() {
        return;
    }
    let take = || match OwnPorts::reserve(KERNEL, 2) {
        Ok(ports) => Some(ports),
        Err(error) => {
            println!("\nleft out: {error}");
            None
        }
    };
    let Some(first) = take() else { return };
    let _second = take();
    // Dropping the first value must not wait for the process that removes the rules of the second value.
    drop(first);
    println!("\nheld {}", queue_rules());
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_process_leaves_no_firewall_rules() {
    if !in_namespace("a_killed_process_leaves_no_firewall_rules") {
        return;
    }
    let _tun = tun_between("out0", KERNEL, OURS, MTU).expect("a device");
    let mut holder = Command::new(std::env::current_exe().expect("the path of the test binary"))
        .args(["reserve_ports_for_the_test_of_a_killed_process", "--exact", "--nocapture"])
        .env("LOPSIDED_HOLDS", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut lines = BufReader::new(holder.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let held = lines.find(|line| line.starts_with("held ") || line.starts_with("left out"));
    holder.kill().expect("it runs");
    holder.wait().expect("the process ends");
    let Some(held) = held.filter(|line| line.starts_with("held ")) else { return println!("left out: no ports") };
    assert_ne!(held, "held 0");
    for _ in 0..400 {
        if queue_rules() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{} rules were not removed", queue_rules());
}
