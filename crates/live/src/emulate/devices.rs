//! The world of an emulated line: two TUN devices, the gateway behind one of them, the machine's clock, and who may end it.

use super::gateway::Gateway;
use super::inside::EXITED;
use crate::linux::{Channel, Tun};
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

/// A sleeping process wakes this much late; for the rest of the time to a departure the loop does not sleep.
const WAKES_LATE: Duration = Duration::from_micros(60);

#[derive(Debug)]
pub(super) struct Devices {
    pub clock: Clock,
    /// Each with the edge of the network that it is.
    pub inner: (NodeId, Tun),
    pub outer: (NodeId, Tun),
    /// Which of the two is asked first: in turns.
    pub outer_first: bool,
    pub gateway: Gateway,
    /// The command's init: how it ended, and where signals go.
    pub init: Channel,
    pub signals: SignalFd,
    /// The command's exit code, once it is over.
    pub exit_code: Option<u8>,
    /// What the kernel did not take.
    pub refused: u64,
}

impl Io for Devices {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        self.outer_first = !self.outer_first;
        let (first, second) = if self.outer_first { (&self.outer, &self.inner) } else { (&self.inner, &self.outer) };
        for (edge, tun) in [first, second] {
            if tun.receive(packet)?.is_some() {
                return Ok(Some(*edge));
            }
        }
        Ok(None)
    }

    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        let mut octets = wire::encode(packet);
        if edge == self.outer.0 {
            match self.before_outer(packet, octets) {
                Some(kept) => octets = kept,
                None => return Ok(()),
            }
        }
        let tun = if edge == self.outer.0 { &self.outer.1 } else { &self.inner.1 };
        self.refused += u64::from(!tun.send(&octets)?);
        Ok(())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        loop {
            let left = until.saturating_since(self.clock.now());
            let asleep = left.saturating_sub(WAKES_LATE);
            let mut waits = [
                PollFd::new(self.inner.1.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.outer.1.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.init.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            let patience = TimeSpec::from_duration(std::time::Duration::from_nanos(asleep.as_nanos()));
            match ppoll(&mut waits, Some(patience), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [inner, outer, init, signals] = waits.map(|wait| wait.any().unwrap_or(true));
            if signals {
                self.pass_on_signals()?;
            }
            if init {
                let told = self.init.receive()?;
                // Init that is gone was killed.
                self.exit_code = Some(match told.as_ref().map(|(message, _)| message.as_slice()) {
                    Some([EXITED, code]) => *code,
                    _ => 128 + nix::libc::SIGKILL as u8,
                });
                return Ok(Wake::Stop);
            }
            if inner || outer || self.clock.now() >= until {
                return Ok(Wake::Look);
            }
        }
    }
}

impl Devices {
    /// What the gateway must see before the outer room. `None`: it has it now.
    fn before_outer(&self, packet: &Packet, octets: Vec<u8>) -> Option<Vec<u8>> {
        match packet.transport() {
            Transport::Tcp(header) if header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK) => {
                let ends =
                    (SocketAddr::new(packet.src(), header.src_port), SocketAddr::new(packet.dst(), header.dst_port));
                self.gateway.syn(ends, octets);
                None
            }
            Transport::Udp(header) => self.gateway.datagram(SocketAddr::new(packet.dst(), header.dst_port), octets),
            _ => Some(octets),
        }
    }

    /// Signals that end a program are for the command.
    fn pass_on_signals(&self) -> io::Result<()> {
        while let Some(signal) = self.signals.read_signal()? {
            // An init that is gone is noticed elsewhere.
            let _ = self.init.send(&[signal.ssi_signo as u8], None);
        }
        Ok(())
    }
}
