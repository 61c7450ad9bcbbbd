//! Datagrams at a constant bit rate, and the end that receives them.

use crate::config::pair;
use crate::{
    AppError, AppPair, AppSettings, Application, FlowContext, RunApplications, Side, SocketEvent, SocketId, Sockets,
};
use lopsided_core::packet::{IPV4_HEADER, UDP_HEADER};
use lopsided_core::{BitRate, Bytes, Duration, Payload, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a stream of datagrams at a constant bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramConfig {
    /// Bit rate, including the IP and UDP headers.
    pub rate: BitRate,
    /// Size of each IP packet, including the headers.
    pub size: Bytes,
}

impl Default for DatagramConfig {
    fn default() -> DatagramConfig {
        DatagramConfig { rate: BitRate::from_bps(64_000), size: Bytes::new(200) }
    }
}

impl Part for DatagramConfig {
    const NAME: &'static str = "udp";
    const TEXT: &'static str = "UDP datagrams at a constant rate.";
    const KEYS: &'static [Key<DatagramConfig>] = &[
        key("rate", |udp: &mut Self| &mut udp.rate, "Bit rate, including the IP and UDP headers.")
            .required("\"64 kbit/s\""),
        key("size", |udp| &mut udp.size, "Size of the IP packets."),
    ];

    fn check(&self) -> Result<(), Fault> {
        // RFC 768 and RFC 791: a datagram without data is valid, so the headers alone are the minimum.
        let least = u64::from(IPV4_HEADER + UDP_HEADER);
        if !(least..=u64::from(u16::MAX)).contains(&self.size.get()) {
            return Err(Fault::new(
                "size",
                "the size of a UDP packet, including its headers, must be from 28 B to 65535 B",
            ));
        }
        Ok(())
    }
}

impl AppSettings for DatagramConfig {
    fn build(&self, flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(pair(DatagramSender::new(self.rate, self.size, flow.stop), DatagramReceiver, Side::To, true))
    }
}

/// Sends packets of one size at a constant rate, until just before `stop`.
#[derive(Debug)]
pub struct DatagramSender {
    rate: BitRate,
    /// Size of each IP packet, including the headers.
    size: Bytes,
    stop: Time,
    next: Option<Time>,
    /// Remainder of the last interval, in units of 1 / rate nanoseconds. The next interval includes it, so the rate is
    /// exact.
    carry: u64,
}

impl DatagramSender {
    /// Creates a sender of IP packets. Both `rate` and `size` include the headers.
    pub fn new(rate: BitRate, size: Bytes, stop: Time) -> DatagramSender {
        DatagramSender { rate, size, stop, next: None, carry: 0 }
    }

    fn send_due(&mut self, io: &mut dyn Sockets) {
        while let Some(next) = self.next.filter(|next| *next <= io.now() && *next < self.stop) {
            let (interval, carry) = self.rate.time_to_send(self.size, self.carry);
            // At very high rates the interval rounds to 0 ns. The minimum of 1 ns prevents an endless loop.
            self.next = Some(next + interval.max(Duration::from_nanos(1)));
            self.carry = carry;
            let headers = IPV4_HEADER + UDP_HEADER;
            // `size` is the size of the IP packet, so subtract the headers.
            io.send_datagram(Payload::virtual_len((self.size.get() as u32).saturating_sub(headers)));
        }
    }
}

impl Application for DatagramSender {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.next = Some(io.now());
        self.send_due(io);
    }

    fn on_event(&mut self, _socket: SocketId, _event: SocketEvent, _io: &mut dyn Sockets) {}

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        self.send_due(io);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next.filter(|next| *next < self.stop)
    }
}

/// Discards every datagram. The host counts the datagrams.
#[derive(Debug)]
pub struct DatagramReceiver;

impl Application for DatagramReceiver {
    fn on_start(&mut self, _io: &mut dyn Sockets) {}

    fn on_event(&mut self, _socket: SocketId, _event: SocketEvent, _io: &mut dyn Sockets) {}
}
