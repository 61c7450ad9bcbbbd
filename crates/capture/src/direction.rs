//! One direction of a connection: the data that one endpoint sends, and the ACKs that this endpoint receives for the
//! data.

use crate::ack_path::AckPath;
use crate::clock::Clock;
use crate::flight::Flight;
use crate::limit::Limit;
use crate::load::{Hosts, Loads, Towards};
use crate::losses::{Losses, Revealed};
use crate::occupancy::Occupancy;
use crate::points::{Kind, Points};
use crate::segment::{Options, Segment};
use crate::sender::{Arriving, Sender, Sending, SlowStartEnd};
use crate::sketch::Sketch;
use crate::steps::Step;
use crate::timeline::{Bin, Timeline};
use crate::waits::Ways;
use lopsided_core::Time;
use lopsided_core::packet::Flags;

/// An agreed MSS of at most this many bytes is implausible and is ignored (Linux's `TCP_MIN_MSS`).
const LEAST_MSS: u32 = 88;
/// If no segment was sent for this time, in nanoseconds, a timer or the application is assumed to have sent the next
/// segment, not an ACK.
const LONGEST_SILENCE: u64 = 200_000_000;

/// Statistics of the RTT from the point of capture to one endpoint and back.
#[derive(Clone, Debug, Default)]
pub struct Rtts {
    /// Distribution of the RTT in ms.
    pub ms: Sketch,
    /// Minimum RTT in nanoseconds; `None` without samples.
    pub least: Option<u64>,
    /// Maximum RTT in nanoseconds; 0 without samples.
    pub most: u64,
    /// Sum of the RTT samples in ms, and sum of their squares in ms².
    pub sums: (f64, f64),
}

impl Rtts {
    fn add(&mut self, nanos: u64) {
        let ms = nanos as f64 * 1e-6;
        self.ms.add(ms);
        self.least = Some(self.least.map_or(nanos, |least| least.min(nanos)));
        self.most = self.most.max(nanos);
        self.sums.0 += ms;
        self.sums.1 += ms * ms;
    }

    /// Returns the mean RTT in ms; NaN without samples.
    pub fn mean_ms(&self) -> f64 {
        self.sums.0 / self.ms.count() as f64
    }

    /// Returns the standard deviation of the RTT in ms; NaN without samples.
    pub fn std_ms(&self) -> f64 {
        let mean = self.mean_ms();
        let spread = self.sums.1 / self.ms.count() as f64 - mean * mean;
        // Rounding can make the variance of equal samples slightly negative.
        if spread.is_nan() { f64::NAN } else { spread.max(0.0).sqrt() }
    }
}

/// The data of one endpoint, the ACKs for this data, and measurements of data and ACKs.
///
/// All times are in nanoseconds since the epoch of the file's clock.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Number of packets that this endpoint sent, with or without data.
    pub packets: u64,
    /// Total size of all IP packets that this endpoint sent, in bytes.
    pub wire_bytes: u64,
    /// Options of the endpoint's SYN; `None` if the capture lacks the SYN.
    pub syn: Option<Options>,
    /// Number of segments with data.
    pub data_segments: u64,
    /// Total payload in bytes, including retransmissions.
    pub data_bytes: u64,
    /// Total size of the IP packets with data, in bytes.
    pub data_wire_bytes: u64,
    /// Number of segments that begin below the highest sequence number seen so far (tcptrace calls them retransmitted
    /// packets).
    pub retransmitted_segments: u64,
    /// Total payload of the retransmitted segments, in bytes.
    pub retransmitted_bytes: u64,
    /// Number of unnecessary retransmissions: an ACK, SACK or DSACK (RFC 2883) shows that the receiver already had the
    /// data.
    pub spurious: u64,
    /// Segments that fill a hole in the captured data. Their first copy was lost before the point of capture, or they
    /// arrived out of order.
    pub filled_holes: u64,
    /// Payload bytes that the receiver acknowledged.
    pub acked_bytes: u64,
    /// Time of the first segment with data.
    pub first_data: Option<u64>,
    /// Time of the last segment with data.
    pub last_data: u64,
    /// Time of the last ACK of new data.
    pub last_ack: u64,
    /// Number of full-size segments, and payload bytes, sent before the first ACK of data: the initial window.
    pub first_flight: (u32, u32),
    /// RTTs from the point of capture to the receiver.
    pub far: Rtts,
    /// Statistics of the ACKs; `None` without data.
    ack_path: Option<Box<AckPath>>,
    /// Measurements over time; `None` without data.
    pub timeline: Option<Box<Timeline>>,
    /// Three counts: segments marked CE, segments that are ECN-capable or marked, and ACKs with the flag ECE (RFC
    /// 3168).
    pub ecn: (u64, u64, u64),
    /// The losses; `None` before the first loss.
    pub(crate) losses: Option<Box<Losses>>,
    /// Number of packets that the latest segment with data found in the queue in front of the point of capture; 0 if
    /// unknown.
    ahead: u64,
    /// Queueing delay of data, in ms.
    pub data_wait_ms: Sketch,
    /// Lengths of the queue that data shares with ACKs behind the point of capture; `None` if the queue contains only
    /// data, or if the capture was not taken near the sender.
    pub(crate) occupancy: Option<Box<Occupancy>>,
    /// Capture time and queueing delay, in nanoseconds, of the data in the latest RTT sample. `None` after the packets in
    /// the queue were counted.
    delivered: Option<(u64, u64)>,
    /// Largest flight as seen by the sender, in bytes.
    pub most_out: u32,
    /// Minimum, maximum, sum and number of the receive windows that this endpoint advertised, in bytes.
    pub windows: (u32, u32, u64, u64),
    /// Largest payload of a segment, in bytes.
    pub largest: u32,
    /// Points of the time-sequence diagram; `None` if the caller did not request points.
    pub points: Option<Box<Points>>,
    /// Timestamp clock of this endpoint.
    clock: Clock,
    /// IPv4 identification of the endpoint's latest packet.
    last_id: Option<u16>,
    flight: Option<Flight>,
    sender: Option<Box<Sender>>,
    ways: Ways,
    /// Payload of a full-size segment, in bytes.
    mss: u32,
    /// True if a hole or a SACK block has revealed a loss. While this field is false, retransmissions count as losses.
    shows_holes: bool,
}

/// Values that a segment's analysis needs from the other direction of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Window scale shift of the segment's sender (RFC 7323, section 2).
    pub(crate) shift: u8,
    /// Queueing delay of the segment before the point of capture, from its timestamp, in nanoseconds; `None` if
    /// unknown.
    pub(crate) waited: Option<u64>,
    /// Number of packets that the segment found in this queue; `None` if unknown or not needed.
    pub(crate) ahead: Option<u64>,
    /// The smaller MSS option of the two SYNs, in bytes; 0 if unknown.
    pub(crate) mss: u32,
}

impl Direction {
    /// Records a packet of this endpoint. Returns the packet's queueing delay before the point of capture, in
    /// nanoseconds.
    pub(crate) fn passed(&mut self, segment: &Segment, shift: u8) -> Option<u64> {
        self.packets += 1;
        self.wire_bytes += u64::from(segment.ip_len);
        self.last_id = segment.ip_id.or(self.last_id);
        if segment.flags.has(Flags::SYN) {
            self.syn = Some(segment.options);
        } else if !segment.flags.has(Flags::RST) {
            let window = u32::from(segment.window) << shift;
            let (least, most, sum, count) = self.windows;
            let least = if count == 0 { window } else { least.min(window) };
            self.windows = (least, most.max(window), sum + u64::from(window), count + 1);
        }
        let (value, _) = segment.options.timestamps?;
        self.clock.passed(segment.at, value)
    }

    /// Records a segment with data from this endpoint.
    pub(crate) fn sends(&mut self, segment: &Segment, peer: Peer) {
        let (at, start, end) = (segment.at, segment.seq, segment.seq + segment.len);
        self.begin(segment);
        let mss = self.segment_size(segment, peer.mss);
        self.mss = mss;
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        let near = self.ways.now().near;
        // The time from an ACK to the data that echoes its timestamp is an RTT to the sender only if the ACK released
        // that data. After a pause, a timer or the application released the data.
        let clocked = self.sender.as_mut().is_some_and(|sender| {
            !sender.was_idle(at, echo, near) && sender.silence(at) < LONGEST_SILENCE.max(2 * near)
        });
        let wait_before = self.ways.data_wait_here();
        self.ways.data_passed(at, echo, peer.waited, clocked);
        let waits = self.ways.now();
        let (Some(flight), Some(sender), Some(timeline)) = (&mut self.flight, &mut self.sender, &mut self.timeline)
        else {
            return;
        };
        if start.after(flight.next()) {
            // There is a hole: segments were lost before the point of capture, just before this segment.
            // If the last segment of a flight was lost, the next segment is much later, and the queue has become shorter.
            let here = self.ways.data_wait_here();
            let wait = if wait_before > 2 * here { wait_before } else { here };
            let losses = self.losses.get_or_insert_default();
            losses.detected(at, at, wait, waits);
            self.shows_holes = true;
            // The segment before the hole entered the queue just before it was full, and the segment after the hole when
            // there was room again.
            if let Some(ahead) = peer.ahead {
                losses.hole_packets.add(self.ahead.max(ahead) as f64);
            }
        }
        self.ahead = peer.ahead.unwrap_or(0);
        let released = self.ways.released(at);
        let again = flight.record(Time::from_nanos(at), Time::from_nanos(released), start, end);
        self.data_segments += 1;
        self.data_bytes += u64::from(segment.len);
        self.data_wire_bytes += u64::from(segment.ip_len);
        self.last_data = at;
        // With segmentation offload, one captured record contains several segments.
        if self.acked_bytes == 0 && again.is_none() {
            self.first_flight =
                (self.first_flight.0 + segment.len.div_ceil(mss.max(1)), self.first_flight.1 + segment.len);
        }
        // RFC 3168, section 5: the codepoint 11 is CE.
        let is_mark = segment.ecn == 3;
        self.ecn.0 += u64::from(is_mark);
        self.ecn.1 += u64::from(segment.ecn != 0);
        if let Some(again) = again {
            self.retransmitted_segments += 1;
            self.retransmitted_bytes += u64::from(segment.len);
            self.spurious += u64::from(again.acked || again.sacked);
            self.filled_holes += u64::from(again.first_at.is_none() && !again.acked);
        }
        let pushed = segment.flags.has(Flags::PSH);
        let sending = Sending { at, start, end, again: again.is_some(), pushed, echo, mss };
        if sender.sends(sending, &waits, timeline) {
            // If the capture was taken near the sender and SACK is off, only the retransmission reveals the loss, about
            // one RTT later.
            if !self.shows_holes {
                self.losses.get_or_insert_default().wait_ms.add(self.ways.recent() as f64 * 1e-6);
            }
        }
        self.most_out = self.most_out.max(sender.out());
        let bin = timeline.packet(at, segment.number);
        bin.sent_bytes += u64::from(segment.len);
        bin.wire_bytes += u64::from(segment.ip_len);
        bin.most_out = bin.most_out.max(sender.out());
        bin.retransmitted += u32::from(again.is_some());
        if let Some(points) = &mut self.points {
            let kind = if again.is_some() { Kind::Again } else { Kind::Data };
            points.add(at, kind, start, end, segment.number);
        }
    }

    /// Allocates the state for data at the first data segment, because many directions never carry data.
    fn begin(&mut self, segment: &Segment) {
        if self.flight.is_none() {
            self.flight = Some(Flight::new(segment.seq));
            self.sender = Some(Box::new(Sender::new(segment.seq)));
            self.timeline = Some(Box::new(Timeline::new(segment.at)));
            self.ack_path = Some(Box::new(AckPath::NONE));
            self.first_data = Some(segment.at);
            self.last_ack = segment.at;
        }
    }

    /// Returns the payload of a full-size segment in bytes: the agreed MSS without timestamps, or the largest captured
    /// payload.
    fn segment_size(&mut self, segment: &Segment, agreed: u32) -> u32 {
        self.largest = self.largest.max(segment.len);
        // RFC 7323, appendix A: timestamps take 10 bytes plus 2 bytes of padding. RFC 6691: the MSS option does not
        // subtract the size of options.
        let options = if segment.options.timestamps.is_some() { 12 } else { 0 };
        let agreed = if agreed > LEAST_MSS { agreed - options } else { 1460 - options };
        if self.largest >= agreed { agreed } else { self.largest.max(1) }
    }

    /// Records an ACK for the data of this endpoint. Returns the newly delivered IP bytes.
    pub(crate) fn acknowledged(&mut self, segment: &Segment, peer: Peer) -> u64 {
        let at = segment.at;
        let timestamps = segment.options.timestamps;
        let (Some(flight), Some(sender), Some(timeline), Some(ack_path)) =
            (&mut self.flight, &mut self.sender, &mut self.timeline, &mut self.ack_path)
        else {
            return 0;
        };
        self.ways.ack_passed(at, timestamps.map(|(value, _)| value), peer.waited);
        ack_path.identified(segment.ip_id, self.last_id);
        let is_pure = segment.len == 0 && !(segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN));
        let bin = timeline.packet(at, segment.number);
        if is_pure {
            ack_path.passed(segment);
            bin.acks += 1;
            self.ecn.2 += u64::from(segment.flags.has(Flags::ECE));
        }
        let window = u32::from(segment.window) << peer.shift;
        bin.window = bin.window.min(window);
        let mut delivered = 0;
        // As in Linux (`tcp_clean_rtx_queue`), segments that SACK reports also produce an RTT for the congestion
        // control.
        let mut sack_rtt = None;
        let mut data_wait = None;
        for (start, end) in segment.options.sack() {
            // RFC 2883, section 4: a block at or below the acknowledgement number reports a duplicate segment (DSACK).
            self.spurious += u64::from(end.at_or_before(segment.ack) && start.before(*end));
            if let Some(found) = flight.sacked(Time::from_nanos(at), *start, *end) {
                delivered += found.bytes;
                sack_rtt = found.whole_rtt.or(sack_rtt);
                data_wait = found.rtt.map(|rtt| self.ways.data_wait(rtt.as_nanos(), peer.waited)).or(data_wait);
                if let Some(rtt) = found.after_loss {
                    self.shows_holes = true;
                    let wait = self.ways.data_wait(rtt.as_nanos(), peer.waited);
                    let losses = self.losses.get_or_insert_default();
                    losses.detected(at, at.saturating_sub(rtt.as_nanos()), wait, self.ways.now());
                }
            }
        }
        if segment.ack.before(flight.acked()) {
            ack_path.reordered += u64::from(is_pure);
        }
        let covered = flight.acked_to(Time::from_nanos(at), segment.ack);
        delivered += covered.map_or(0, |covered| covered.delivered);
        sender.acked(Arriving {
            at,
            value: timestamps.map(|(value, _)| value),
            ack: segment.ack,
            window,
            sacked: flight.sacked_bytes(),
            delivered,
            rtt: covered.and_then(|covered| covered.whole_rtt).or(sack_rtt).map(|rtt| rtt.as_nanos()),
        });
        if let Some(covered) = covered {
            self.acked_bytes += u64::from(covered.bytes);
            self.last_ack = at;
            bin.acked_bytes += u64::from(covered.bytes);
            // Skip ACKs in loss recovery: an ACK that fills a hole covers many segments, whatever the receiver's ACK
            // policy.
            if !sender.repairs() {
                ack_path.advanced(at, covered.bytes, self.mss);
            }
            if let Some(rtt) = covered.rtt {
                self.far.add(rtt.as_nanos());
                self.ways.round_trip(at, rtt.as_nanos(), peer.waited);
                note_waits(bin, &self.ways, rtt.as_nanos(), peer.waited);
                let wait = self.ways.data_wait(rtt.as_nanos(), peer.waited);
                self.data_wait_ms.add(wait as f64 * 1e-6);
                data_wait = Some(wait);
                self.delivered = Some((at.saturating_sub(rtt.as_nanos()), wait));
            }
            let waits = self.ways.now();
            ack_path.wait_ms.add(waits.acks as f64 * 1e-6);
            if let Some(points) = &mut self.points {
                points.add(at, Kind::Ack, segment.ack, segment.ack + window, segment.number);
            }
        }
        if let Some(points) = &mut self.points {
            for (start, end) in segment.options.sack() {
                points.add(at, Kind::Sack, *start, *end, segment.number);
            }
        }
        if let Some((losses, wait)) = self.losses.as_mut().zip(data_wait) {
            losses.follow(at, wait);
        }
        // Convert payload bytes to IP bytes with the average header overhead so far.
        u64::from(delivered) * self.data_wire_bytes / self.data_bytes.max(1)
    }

    /// Sets the minimum RTTs to the receiver and sender, in nanoseconds, from an earlier connection.
    pub(crate) fn start_from(&mut self, least: [Option<u64>; 2]) {
        self.ways.start_from(least);
    }

    /// Records the handshake's RTT from the point of capture to this endpoint, in nanoseconds. `reply` is the packet from
    /// this endpoint that ends the RTT. The part `share` of the queueing delay in this RTT is the reply's.
    pub(crate) fn handshake(&mut self, near: u64, reply: &Segment, share: f64) {
        let waited = self.ways.near_least().map_or(0, |least| near.saturating_sub(least)) as f64 * share;
        if let Some((value, _)) = reply.options.timestamps.filter(|_| waited > 0.0) {
            self.clock.is_queued(reply.at, value, waited as u64);
        }
        self.ways.handshake(near);
    }

    /// Returns the queueing delays of this endpoint's packets before and after the point of capture, in nanoseconds.
    /// `other` is the opposite direction.
    pub(crate) fn queued(&self, other: &Direction) -> [u64; 2] {
        let (data, acks) = (self.ways.data_parts(), other.ways.ack_parts());
        [data[0].max(acks[0]), data[1].max(acks[1])]
    }

    /// Returns the minimum RTTs from the point of capture to the receiver and to the sender, in nanoseconds.
    pub fn least(&self) -> [Option<u64>; 2] {
        [self.ways.far_least(), self.ways.near_least()]
    }

    /// Counts the packets that were in the queue at a loss. These packets passed while the packet after the lost packet
    /// waited. Also records the length of a queue of ACKs and data: see [`Occupancy`].
    pub(crate) fn count_queued(&mut self, loads: &Loads, hosts: Hosts) {
        let delivered = self.delivered.take();
        let lost = self.losses.as_mut().and_then(|losses| losses.take_latest());
        if hosts.0.is_some_and(|from| loads.is_mixed(from, Towards::Network)) && self.ways.is_near_sender() {
            let occupancy = self.occupancy.get_or_insert_default();
            if let Some(Revealed { at, wait, is_first }) = lost {
                occupancy.lost(loads, hosts, at, wait, is_first);
            }
            if let Some((at, wait)) = delivered {
                occupancy.delivered(loads, hosts, at, wait);
            }
        }
        let (Some(losses), Some(Revealed { at, wait, is_first })) = (&mut self.losses, lost) else { return };
        if let Some((packets, _)) = loads.packets_between(hosts, at.saturating_sub(wait), at) {
            losses.counted(packets, is_first);
        }
    }

    /// Returns the statistics of the ACKs.
    pub fn ack_path(&self) -> &AckPath {
        const NONE: &AckPath = &AckPath::NONE;
        self.ack_path.as_deref().unwrap_or(NONE)
    }

    /// Returns the losses of this direction.
    pub fn losses(&self) -> &Losses {
        const NONE: &Losses = &Losses::NONE;
        self.losses.as_deref().unwrap_or(NONE)
    }

    /// Returns the number of bytes that passed the point of capture and have not been acknowledged.
    pub(crate) fn out(&self) -> u32 {
        self.flight.as_ref().map_or(0, Flight::outstanding)
    }

    /// Returns the reason why slow start ended, the number of fast recoveries, and the number of timeouts. `None`
    /// without data.
    pub fn repairs(&self) -> Option<(Option<SlowStartEnd>, u32, u32)> {
        self.sender.as_ref().map(|sender| (sender.slow_start_end, sender.recoveries, sender.timeouts))
    }

    /// Returns the ACKs as the sender received them, grouped into steps; empty without data.
    pub fn steps(&self) -> &[Step] {
        self.sender.as_ref().map_or(&[], |sender| sender.steps.all())
    }

    /// Returns the number of full-size segments sent before the first ACK reached the endpoint; 0 if the capture lacks
    /// the start.
    pub fn start_segments(&self) -> u32 {
        let sent = self.sender.as_ref().filter(|_| self.syn.is_some()).map_or(0, |sender| sender.first_window);
        sent.div_ceil(self.mss.max(1))
    }

    /// Returns the payload of a full-size segment in bytes; 0 without data.
    pub fn full_segment(&self) -> u32 {
        self.mss
    }

    /// Returns the bins with their final limits. Pacing counts as a full congestion window if the capture cannot show
    /// pacing (`shows_pacing` is false), or if the window limited the sender for at least as long as pacing.
    pub fn judged(&self, shows_pacing: bool) -> Vec<Bin> {
        let bins = self.timeline.as_ref().map_or(&[][..], |timeline| timeline.bins());
        Bin::settled(bins, shows_pacing)
    }

    /// Merges the measurements after the time `at`, in nanoseconds of the file's clock, into one bin with its final
    /// limits. Returns the start of the bin and the bin; `None` if no packet has passed since `at`.
    pub fn latest(&self, at: u64, shows_pacing: bool) -> Option<(u64, Bin)> {
        let (begin, bin) = self.timeline.as_ref()?.since(at)?;
        Some((begin, bin.with_pacing_settled(shows_pacing, Limit::Avoidance)))
    }

    /// Frees the memory that only an open connection needs.
    pub(crate) fn close(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.clear();
        }
        if let Some(sender) = &mut self.sender {
            sender.close();
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.close();
        }
        self.ways.close();
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.close();
        }
    }
}

/// Records an RTT to the receiver in a bin, with the queueing delays of data and ACKs.
fn note_waits(bin: &mut Bin, ways: &Ways, rtt: u64, waited: Option<u64>) {
    let waits = ways.now();
    bin.rtt_ms.add((rtt + waits.near) as f64 * 1e-6);
    bin.data_wait_ms.add(ways.data_wait(rtt, waited) as f64 * 1e-6);
    bin.ack_wait_ms.add(ways.ack_wait() as f64 * 1e-6);
}
