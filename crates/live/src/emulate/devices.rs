//! The real environment of an emulated link: two TUN devices, the gateway and the machine's clock.

use super::gateway::Gateway;
use super::inside::EXITED;
use crate::linux::{Channel, Tun};
use crate::segments::Bundle;
use crate::{Clock, Io, Wake};
use lopsided_core::packet::Flags;
use lopsided_core::{Duration, NodeId, Packet, Time, Transport, wire};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Typical delay of a wake-up. The loop wakes up this early and polls the clock until the departure.
const WAKES_LATE: Duration = Duration::from_micros(60);

#[derive(Debug)]
pub(super) struct Devices {
    pub clock: Clock,
    pub inner: End,
    pub outer: End,
    /// True if the outer device is read first. The value alternates, so that no device can starve the other device.
    pub outer_first: bool,
    /// Reused buffer for the bytes of the packet that is written to a device.
    pub octets: Vec<u8>,
    /// Connects the link to the real network; `None` if a server is at the far end.
    pub gateway: Option<Gateway>,
    /// Channel to the command's init process: init sends the exit code, this process sends signals.
    pub init: Channel,
    pub signals: SignalFd,
    /// Exit code of the command, once it has ended.
    pub exit_code: Option<u8>,
    /// Number of packets that the kernel rejected.
    pub refused: u64,
}

/// One end of the emulated link.
#[derive(Debug)]
pub(super) struct End {
    /// Node at the edge of the emulated network. Packets read from the device enter the network there.
    edge: NodeId,
    tun: Tun,
    /// Packets to be written to the device with one call.
    bundle: Bundle,
    /// False after a read found the device empty, until `wait` reports the device as readable.
    is_ready: bool,
}

impl End {
    pub fn new(edge: NodeId, tun: Tun) -> End {
        End { edge, bundle: tun.bundle(), tun, is_ready: true }
    }

    /// Writes the bundled packets. Returns the number of packets that the kernel rejected.
    fn flush(&mut self) -> io::Result<u64> {
        self.tun.send_bundle(&mut self.bundle)
    }
}

impl Io for Devices {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        // The segments of one large packet enter the link back to back, so read the remaining segments first.
        for end in [&self.inner, &self.outer] {
            if end.tun.receive_more(packet) {
                return Ok(Some(end.edge));
            }
        }
        // Alternate, so that a busy direction cannot starve the other direction.
        self.outer_first = !self.outer_first;
        let (inner, outer) = (&mut self.inner, &mut self.outer);
        for end in if self.outer_first { [outer, inner] } else { [inner, outer] } {
            if end.is_ready && end.tun.receive(packet)?.is_some() {
                return Ok(Some(end.edge));
            }
            end.is_ready = false;
        }
        Ok(None)
    }

    fn has_more(&self) -> bool {
        self.inner.tun.has_more() || self.outer.tun.has_more()
    }

    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        if self.write_octets(edge, packet) {
            let end = if edge == self.outer.edge { &mut self.outer } else { &mut self.inner };
            self.refused += end.flush()? + u64::from(!end.tun.send(&self.octets)?);
        }
        Ok(())
    }

    fn send_together(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        if self.write_octets(edge, packet) {
            let end = if edge == self.outer.edge { &mut self.outer } else { &mut self.inner };
            if !end.bundle.take(&self.octets) {
                self.refused += end.flush()?;
                end.bundle.take(&self.octets);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.refused += self.inner.flush()? + self.outer.flush()?;
        Ok(())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        loop {
            let left = until.saturating_since(self.clock.now());
            // Wake up a little early; the loop then polls the clock until the exact time.
            let asleep = left.saturating_sub(WAKES_LATE);
            let mut waits = [
                PollFd::new(self.inner.tun.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.outer.tun.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.init.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(asleep.as_nanos()));
            match ppoll(&mut waits, Some(timeout), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [inner, outer, init, signals] = waits.map(|wait| wait.any().unwrap_or(true));
            if signals {
                self.pass_on_signals()?;
            }
            if init {
                let last_message = self.init.receive()?;
                // The channel closes without a last message only if init was killed.
                self.exit_code = Some(match last_message.as_ref().map(|(message, _)| message.as_slice()) {
                    Some([EXITED, code]) => *code,
                    _ => 128 + nix::libc::SIGKILL as u8,
                });
                return Ok(Wake::Stop);
            }
            // `poll` reports which of the two devices have packets.
            (self.inner.is_ready, self.outer.is_ready) = (inner, outer);
            if inner || outer || self.clock.now() >= until {
                return Ok(Wake::Look);
            }
        }
    }
}

impl Devices {
    /// Encodes the packet into `octets`. Returns false if the gateway takes the packet because it must first open a
    /// socket.
    fn write_octets(&mut self, edge: NodeId, packet: &Packet) -> bool {
        self.octets.clear();
        wire::encode_into(packet, &mut self.octets);
        let Some(gateway) = self.gateway.as_ref().filter(|_| edge == self.outer.edge) else { return true };
        match packet.transport() {
            // The first packet of a connection needs a listening socket in the outer namespace.
            Transport::Tcp(header) if header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK) => {
                let ends =
                    (SocketAddr::new(packet.src(), header.src_port), SocketAddr::new(packet.dst(), header.dst_port));
                gateway.syn(ends, self.octets.clone());
                false
            }
            Transport::Udp(header) => {
                let destination = SocketAddr::new(packet.dst(), header.dst_port);
                let is_known = gateway.knows(destination);
                if !is_known {
                    gateway.datagram(destination, self.octets.clone());
                }
                is_known
            }
            _ => true,
        }
    }

    /// Forwards signals such as SIGTERM to the command. These signals would otherwise end this program.
    fn pass_on_signals(&self) -> io::Result<()> {
        while let Some(signal) = self.signals.read_signal()? {
            // If init has ended, sending fails. `wait` then detects the end of init.
            let _ = self.init.send(&[signal.ssi_signo as u8], None);
        }
        Ok(())
    }
}
