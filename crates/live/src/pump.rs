//! The loop that drives a network by a clock. Each iteration processes due events, sends and receives packets, and
//! waits.
//!
//! A packet enters the network at the time at which it was read, after all earlier events. If the loop is delayed, only
//! departing packets are late. [`Pumped::lateness`] records their delays.

use lopsided_core::{Duration, FlowId, NewPacket, Node, NodeId, Packet, Time, wire};
use lopsided_net::Network;
use lopsided_queue::Histogram;
use std::io;
use std::ops::ControlFlow;

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The requested time is reached, or packets may have arrived.
    Look,
    /// The run must end now.
    Stop,
}

/// The environment of a network: a clock, and the source and sink of its packets.
///
/// # Examples
///
/// An environment on a virtual clock without any packets:
///
/// ```
/// use lopsided_core::{NodeId, Packet, Time};
/// use lopsided_live::{Io, Wake};
/// use std::io;
///
/// struct Idle(Time);
///
/// impl Io for Idle {
///     fn now(&mut self) -> Time {
///         self.0
///     }
///
///     fn receive(&mut self, _packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
///         Ok(None)
///     }
///
///     fn send(&mut self, _edge: NodeId, _packet: &Packet) -> io::Result<()> {
///         Ok(())
///     }
///
///     fn wait(&mut self, until: Time) -> io::Result<Wake> {
///         self.0 = until;
///         Ok(Wake::Look)
///     }
/// }
///
/// assert!(!Idle(Time::ZERO).has_more());
/// ```
pub trait Io {
    /// Returns the current time. It never decreases.
    fn now(&mut self) -> Time;

    /// Reads the next packet into `packet`, and returns the edge at which it enters. Returns `None` if no packet is
    /// waiting.
    ///
    /// # Errors
    /// Returns an error if the source has failed, so that no packet can arrive.
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>>;

    /// Returns the flow of a received packet, for networks that keep statistics by flow.
    fn flow(&self, _packet: &NewPacket) -> FlowId {
        FlowId(0)
    }

    /// Called with the number of the last received packet; `None` if the packet was not an IP packet.
    fn entered(&mut self, _number: Option<u64>) {}

    /// Sends a packet that left the network at an edge. A rejected packet is lost. This is not an error.
    ///
    /// # Errors
    /// Returns an error if the sink has failed, so that no packet can be sent.
    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()>;

    /// Like [`Io::send`], for a packet that is already late. The packet may be held back until the next [`Io::flush`],
    /// to form a batch.
    ///
    /// # Errors
    /// Returns the errors of [`Io::send`].
    fn send_together(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        self.send(edge, packet)
    }

    /// Sends all packets that [`Io::send_together`] held back.
    ///
    /// # Errors
    /// Returns the errors of [`Io::send`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the last read also returned the next packet, so that `receive` needs no system call.
    fn has_more(&self) -> bool {
        false
    }

    /// Waits until the given time or the next packet. A wait may end early.
    ///
    /// # Errors
    /// Returns an error if waiting fails.
    fn wait(&mut self, until: Time) -> io::Result<Wake>;
}

/// The loop sends packets in batches if it is at least this late. Otherwise it sends each packet separately, because a
/// receiver acknowledges only the last packet of a batch.
const BEHIND: Duration = Duration::from_micros(50);

/// Counters and lateness of one run of the loop.
#[derive(Clone, Debug, Default)]
pub struct Pumped {
    /// Number of packets that entered the network.
    pub received: u64,
    /// Number of packets that left the network.
    pub sent: u64,
    /// Number of received packets that were not IP packets.
    pub malformed: u64,
    /// Time between a packet's departure from the network and the time at which the packet was sent.
    pub lateness: Histogram,
}

/// Drives the network until the time `until`. If the [`Io`] stops the run earlier, the network stays at that time.
///
/// # Errors
/// Returns the errors of the [`Io`].
pub fn pump<H: Node>(
    network: &mut Network<H>,
    io: &mut dyn Io,
    until: Time,
    pumped: &mut Pumped,
) -> io::Result<ControlFlow<()>> {
    let mut octets = Vec::new();
    let mut together = Vec::new();
    loop {
        let now = io.now().clamp(network.now(), until);
        let due = catch_up(network, io, now, pumped, &mut together)?.map_or(until, |due| due.min(until));
        if now == until {
            flush(io, pumped, &mut together)?;
            return Ok(ControlFlow::Continue(()));
        }
        loop {
            if !io.has_more() {
                flush(io, pumped, &mut together)?;
            }
            let Some(edge) = io.receive(&mut octets)? else { break };
            let now = io.now().clamp(network.now(), until);
            catch_up(network, io, now, pumped, &mut together)?;
            match wire::read_foreign(FlowId(0), &octets) {
                Ok(packet) => {
                    pumped.received += 1;
                    let flow = io.flow(&packet);
                    let number = network.inject(now, edge, packet.with_flow(flow));
                    io.entered(Some(number));
                }
                Err(_) => {
                    pumped.malformed += 1;
                    io.entered(None);
                }
            }
            if now == until {
                break;
            }
        }
        // Send replies now: a host directly at an edge may have replied to the packet that has just entered.
        let now = io.now().clamp(network.now(), until);
        send(network, io, now, pumped, &mut together)?;
        let due = network.next_time().map_or(due, |next| next.min(due));
        if io.wait(due)? == Wake::Stop {
            let now = io.now().clamp(network.now(), until);
            catch_up(network, io, now, pumped, &mut together)?;
            flush(io, pumped, &mut together)?;
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Processes the events that are due by `now`, and sends the departing packets. Returns the time of the next event.
/// `together` contains the departure times of the packets in the batch.
fn catch_up<H: Node>(
    network: &mut Network<H>,
    io: &mut dyn Io,
    now: Time,
    pumped: &mut Pumped,
    together: &mut Vec<Time>,
) -> io::Result<Option<Time>> {
    // Advance from event to event, so that each packet leaves at its exact time.
    while let Some(due) = network.next_time().filter(|due| *due <= now) {
        network.advance(due);
        send(network, io, now, pumped, together)?;
    }
    let next = network.advance(now);
    send(network, io, now, pumped, together)?;
    Ok(next)
}

fn send<H: Node>(
    network: &mut Network<H>,
    io: &mut dyn Io,
    now: Time,
    pumped: &mut Pumped,
    together: &mut Vec<Time>,
) -> io::Result<()> {
    while let Some((edge, packet)) = network.poll_egress() {
        let due = network.now();
        // If the pump is late, it sends batches. They save system calls, so that the pump can catch up.
        if now.saturating_since(due) > BEHIND {
            io.send_together(edge, &packet)?;
            together.push(due);
        } else {
            flush(io, pumped, together)?;
            io.send(edge, &packet)?;
            pumped.sent(io.now(), due);
        }
        network.recycle(packet);
    }
    Ok(())
}

/// Sends the batch. `together` contains the departure times of its packets.
fn flush(io: &mut dyn Io, pumped: &mut Pumped, together: &mut Vec<Time>) -> io::Result<()> {
    if together.is_empty() {
        return Ok(());
    }
    io.flush()?;
    let now = io.now();
    together.drain(..).for_each(|due| pumped.sent(now, due));
    Ok(())
}

impl Pumped {
    fn sent(&mut self, now: Time, due: Time) {
        self.sent += 1;
        self.lateness.add(now.saturating_since(due));
    }
}
