//! The two sides of the emulated path: the TUN devices of the hosts and passages, and the clock of the run.

use super::ports::Ports;
use crate::linux::{Channel, Tun};
use crate::{Clock, Io, Wake};
use lopsided_app::Side;
use lopsided_core::{Duration, FlowId, NewPacket, NodeId, Packet, Time, wire};
use lopsided_scenario::Scenario;
use lopsided_sim::Passage;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

/// Typical delay of a wake-up. The loop wakes up this early and polls the clock until the departure.
const WAKES_LATE: Duration = Duration::from_micros(60);

/// One end of a flow: its sender or its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// True if this end sends the flow's data.
    pub sends: bool,
}

/// A TUN device of a host, and the flow ends that use it. A host may have one device per separate namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Index of the host in the scenario.
    pub host: usize,
    /// The flow ends that use the device.
    pub ends: Vec<End>,
}

#[derive(Debug)]
pub(super) struct Ends<'a> {
    clock: Clock,
    ports: Ports,
    /// Each device, with the edge at which its packets enter the network.
    tuns: Vec<(NodeId, Tun)>,
    /// For each device: false after a read found the device empty, until `wait` reports the device as readable.
    ready: Vec<bool>,
    /// Index of the device to read first. The index changes at each read, so that no device starves another device.
    next: usize,
    device_of: BTreeMap<End, usize>,
    agent: &'a Channel,
    abandoned: bool,
    refused: u64,
}

impl<'a> Ends<'a> {
    /// Creates the environment. `tuns` must contain one TUN device for each entry of `devices`, followed by two TUN
    /// devices for each passage.
    pub fn new(
        scenario: &Scenario,
        devices: &[Device],
        passages: &[Passage],
        tuns: Vec<Tun>,
        agent: &'a Channel,
        clock: Clock,
    ) -> Ends<'a> {
        let of_passages = passages.iter().flat_map(|passage| [passage.near, passage.far]);
        let edges = devices.iter().map(|device| NodeId(device.host as u32)).chain(of_passages);
        let ends =
            devices.iter().enumerate().flat_map(|(number, device)| device.ends.iter().map(move |end| (*end, number)));
        Ends {
            clock,
            ports: Ports::of(scenario),
            ready: vec![true; tuns.len()],
            tuns: edges.zip(tuns).collect(),
            next: 0,
            device_of: ends.collect(),
            agent,
            abandoned: false,
            refused: 0,
        }
    }

    /// Returns true if the agent exited before the end of the run.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Returns the number of packets that the kernel rejected.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the index of the device for a packet that left the network at an edge. A packet without a flow uses the
    /// host's first device.
    fn device(&self, edge: NodeId, packet: &Packet) -> Option<usize> {
        let known = self.ports.flow((packet.src(), packet.dst()), packet.transport());
        let end = known.map(|(flow, side)| End { flow: flow.0, sends: side == Side::From });
        // Flows of the same host may have separate devices, so the flow is looked up first.
        let device = end.and_then(|end| self.device_of.get(&end).copied());
        // A packet for another host can also leave at the edge of a passage, so check that the device belongs to this
        // edge.
        let device = device.filter(|device| self.tuns[*device].0 == edge);
        device.or_else(|| self.tuns.iter().position(|(host, _)| *host == edge))
    }
}

impl Io for Ends<'_> {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        let count = self.tuns.len();
        for _ in 0..count {
            let number = self.next % count;
            self.next = number + 1;
            if self.ready[number] {
                let (edge, tun) = &self.tuns[number];
                if tun.receive(packet)?.is_some() {
                    return Ok(Some(*edge));
                }
                self.ready[number] = false;
            }
        }
        Ok(None)
    }

    fn flow(&self, packet: &NewPacket) -> FlowId {
        let addresses = packet.ip().addresses;
        self.ports.flow((addresses.src(), addresses.dst()), packet.transport()).map_or(FlowId(0), |(flow, _)| flow)
    }

    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        let taken = match self.device(edge, packet) {
            Some(device) => self.tuns[device].1.send(&wire::encode(packet))?,
            None => false,
        };
        self.refused += u64::from(!taken);
        Ok(())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        loop {
            let left = until.saturating_since(self.clock.now());
            let asleep = left.saturating_sub(WAKES_LATE);
            let descriptors = self.tuns.iter().map(|(_, tun)| tun.as_fd()).chain([self.agent.as_fd()]);
            let mut waits: Vec<PollFd<'_>> = descriptors.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(asleep.as_nanos()));
            match ppoll(&mut waits, Some(timeout), None) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut ready: Vec<bool> = waits.iter().map(|wait| wait.any().unwrap_or(true)).collect();
            // The agent sends no message during a run, so a readable channel means that the agent has exited.
            if ready.pop() == Some(true) {
                self.abandoned = true;
                return Ok(Wake::Stop);
            }
            let found = ready.contains(&true);
            self.ready = ready;
            if found || self.clock.now() >= until {
                return Ok(Wake::Look);
            }
        }
    }
}
