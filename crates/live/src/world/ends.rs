//! The ends of the path: the devices of the hosts that the agent plays, those of passages, and the clock that it agreed
//! on.

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

/// A sleeping process wakes this much late; for the rest of the time to a departure the loop does not sleep.
const WAKES_LATE: Duration = Duration::from_micros(60);

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub flow: u32,
    /// It sends the flow's data.
    pub sends: bool,
}

/// A device that the agent makes: of a host, for the ends of some flows. A host may have several, where its flows must
/// live apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// A place in the scenario's hosts.
    pub host: usize,
    pub ends: Vec<End>,
}

#[derive(Debug)]
pub(super) struct Ends<'a> {
    clock: Clock,
    ports: Ports,
    /// Each with the edge of the network that it is.
    tuns: Vec<(NodeId, Tun)>,
    /// Which of them have packets, as far as is known.
    ready: Vec<bool>,
    /// The one to be asked first: in turns.
    next: usize,
    device_of: BTreeMap<End, usize>,
    agent: &'a Channel,
    abandoned: bool,
    refused: u64,
}

impl<'a> Ends<'a> {
    /// `tuns` are those of the devices, then the two of each passage.
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

    /// The agent ended before the run did.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Packets that the kernel did not take.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Where a packet goes that came out at the edge: what belongs to no flow goes to the host's first device.
    fn device(&self, edge: NodeId, packet: &Packet) -> Option<usize> {
        let known = self.ports.flow((packet.src(), packet.dst()), packet.transport());
        let end = known.map(|(flow, side)| End { flow: flow.0, sends: side == Side::From });
        let device = end.and_then(|end| self.device_of.get(&end).copied());
        // At the edges of a passage packets come out that are for another host.
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
            let patience = TimeSpec::from_duration(std::time::Duration::from_nanos(asleep.as_nanos()));
            match ppoll(&mut waits, Some(patience), None) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut ready: Vec<bool> = waits.iter().map(|wait| wait.any().unwrap_or(true)).collect();
            // It says nothing while the run goes on.
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
