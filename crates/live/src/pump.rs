//! The loop that drives a network by a clock: what is due happens, what came out is sent, what came in enters, and then
//! it waits.
//!
//! A packet enters at the instant at which it was read. What is due by then happens first, each event at its own time,
//! so that a loop that was late changes no instant within the network; only what comes out is late, and
//! [`Pumped::lateness`] says by how much.

use lopsided_core::{Duration, FlowId, NewPacket, Node, NodeId, Packet, Time, wire};
use lopsided_net::Network;
use lopsided_queue::Histogram;
use std::io;
use std::ops::ControlFlow;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The time has come, or there may be packets.
    Look,
    /// Whoever the run was for is done.
    Stop,
}

/// The world outside of a network: its clock, and the packets of others.
pub trait Io {
    /// Never earlier than it said before.
    fn now(&mut self) -> Time;

    /// Puts the octets of the next packet that waits into `packet`, and says by which edge it enters. `None`: there is
    /// none now.
    ///
    /// # Errors
    /// If none can come any more.
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>>;

    /// The flow of a packet that was received, for a network that asks.
    fn flow(&self, _packet: &NewPacket) -> FlowId {
        FlowId(0)
    }

    /// What became of the packet that was received last: its number in the network, or `None` where it was no packet of
    /// IP.
    fn entered(&mut self, _number: Option<u64>) {}

    /// Sends what came out at an edge. A packet that the world does not take is lost there, which is no error.
    ///
    /// # Errors
    /// If none can be sent any more.
    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()>;

    /// As [`Io::send`], of a packet that is late anyhow: it may go together with others, at the next [`Io::flush`].
    ///
    /// # Errors
    /// As of [`Io::send`].
    fn send_together(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        self.send(edge, packet)
    }

    /// Sends what waits to go together.
    ///
    /// # Errors
    /// As of [`Io::send`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The next packet was read together with the one before it, so that the world need not be asked.
    fn has_more(&self) -> bool {
        false
    }

    /// Waits until that instant or for a packet, whichever is first. It may end early for no reason.
    ///
    /// # Errors
    /// If it cannot wait.
    fn wait(&mut self, until: Time) -> io::Result<Wake>;
}

/// A packet that is later than this need not go by itself: the loop does not keep up. On a line that it keeps up with
/// each packet goes by itself, so that a receiver acknowledges as it does without us: of packets that come together it
/// acknowledges only the last one.
const BEHIND: Duration = Duration::from_micros(50);

/// What passed the loop.
#[derive(Clone, Debug, Default)]
pub struct Pumped {
    pub received: u64,
    pub sent: u64,
    /// What came in and was no IP packet.
    pub malformed: u64,
    /// How much later than their time packets were sent.
    pub lateness: Histogram,
}

/// Brings the network to `until`, by the clock. Where it breaks off, the network stands at the instant of that.
///
/// # Errors
/// Those of the [`Io`].
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
        // What came in last may have been answered at once, where a host stands at the edge.
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

/// Lets happen what is due by now, and sends what came out, or keeps it in `together`. Gives the next instant at which
/// something is due.
fn catch_up<H: Node>(
    network: &mut Network<H>,
    io: &mut dyn Io,
    now: Time,
    pumped: &mut Pumped,
    together: &mut Vec<Time>,
) -> io::Result<Option<Time>> {
    // One instant at a time, so that what comes out has the instant at which it should.
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

/// Sends what was kept, of the instants that stand in `together`.
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
