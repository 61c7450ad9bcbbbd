//! Runs a TCP download between two smoltcp stacks over a line, and checks the goodput.
//!
//!     cargo run -p lopsided-line --example smoltcp

use lopsided_line::{Delivery, Dir, Line, LineConfig, Side, Time};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::collections::VecDeque;
use std::net::IpAddr;

const BYTES: usize = 2_000_000;
const MTU: usize = 1500;

/// A network device that consists of two packet queues.
#[derive(Default)]
struct Wire {
    received: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sending<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sending<'_>)> {
        self.received.pop_front().map(|packet| (Received(packet), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// One smoltcp host with one socket.
struct Host {
    side: Side,
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

impl Host {
    fn new(line: &Line, side: Side) -> Host {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = side as u64 + 1;
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address(line, side), 24)).expect("an interface has room for one address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; 256 << 10]);
        let mut sockets = SocketSet::new(vec![]);
        let socket = sockets.add(tcp::Socket::new(buffer(), buffer()));
        Host { side, wire, interface, sockets, socket }
    }

    fn tcp(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Polls smoltcp, sends its packets over the line, and returns the time of its next timer.
    fn drive(&mut self, now: Time, line: &mut Line) -> Option<Time> {
        let instant = Instant::from_micros((now.as_nanos() / 1000) as i64);
        self.interface.poll(instant, &mut self.wire, &mut self.sockets);
        for packet in self.wire.sent.drain(..) {
            line.send_ip(now, self.side, &packet).expect("smoltcp sends IP packets");
        }
        let delay = self.interface.poll_delay(instant, &self.sockets)?;
        // The clock of smoltcp counts whole microseconds, so a delay of 0 means any time within the current
        // microsecond. Wait until this microsecond has passed.
        let delay = delay.max(Duration::from_micros(1));
        Some(now + lopsided_line::Duration::from_micros(delay.total_micros()))
    }
}

fn address(line: &Line, side: Side) -> IpAddress {
    match line.address(side).ip() {
        IpAddr::V4(address) => IpAddress::Ipv4(Ipv4Address::from(address.octets())),
        IpAddr::V6(_) => unreachable!("the sides of a line have IPv4 addresses"),
    }
}

pub fn main() {
    let config = LineConfig::new("10 Mbit/s", "1 Mbit/s", "30 ms").queue(Dir::Down, "100 packets");
    let mut line = Line::new(config).expect("a valid line");
    let mut hosts = [Host::new(&line, Side::Client), Host::new(&line, Side::Server)];
    let server = address(&line, Side::Server);
    hosts[1].tcp().listen(80).expect("the port is free");
    let client = &mut hosts[0];
    let socket = client.sockets.get_mut::<tcp::Socket>(client.socket);
    socket.connect(client.interface.context(), (server, 80), 49152).expect("the socket is closed");

    let (mut sent, mut received, mut now) = (0, 0, Time::ZERO);
    while received < BYTES {
        for host in &mut hosts {
            host.drive(now, &mut line);
        }
        let sender = hosts[1].tcp();
        while sent < BYTES && sender.can_send() {
            sent += sender.send_slice(&[7; 4096][..4096.min(BYTES - sent)]).expect("the socket can send");
        }
        let receiver = hosts[0].tcp();
        while receiver.can_recv() {
            received += receiver.recv(|data| (data.len(), data.len())).expect("the socket can receive");
        }
        let timers = hosts.each_mut().map(|host| host.drive(now, &mut line));
        while let Some(Delivery { side, datagram, .. }) = line.poll(now) {
            hosts[side as usize].wire.received.push_back(datagram);
        }
        if hosts.iter().all(|host| host.wire.received.is_empty()) {
            let next = timers.into_iter().flatten().chain(line.next_wakeup()).min();
            now = next.expect("a timer is armed while data is missing").max(now);
        }
    }
    let goodput = 8e-6 * BYTES as f64 / now.as_secs_f64();
    println!("smoltcp: {goodput:.2} Mbit/s of 10 Mbit/s, {} packets dropped", line.dropped());
    // 1,460 of the 1,500 bytes of a packet are payload, so the goodput is at most 9.73 Mbit/s.
    assert!((5.0..9.74).contains(&goodput), "{goodput} Mbit/s");
}
