//! One direction of a connection: the data that one end sends, and the ACKs that come back for it.

use crate::ack_path::AckPath;
use crate::clock::Clock;
use crate::control::Control;
use crate::flight::Flight;
use crate::points::{Kind, Points};
use crate::segment::{Options, Segment};
use crate::sender::{Sender, Sending, SlowStartEnd};
use crate::sketch::Sketch;
use crate::timeline::{Bin, Timeline};
use crate::waits::Ways;
use lopsided_core::Time;
use lopsided_core::packet::Flags;

/// Segments that carry less say nothing about the largest segment.
const LEAST_MSS: u32 = 88;
/// After a silence of this many nanoseconds a segment answers a timer or the application rather than an ACK.
const LONGEST_SILENCE: u64 = 200_000_000;

/// Round trips from the point of capture to one end and back.
#[derive(Clone, Debug, Default)]
pub struct Rtts {
    /// Their distribution, in ms.
    pub ms: Sketch,
    /// The smallest, in nanoseconds.
    pub least: Option<u64>,
    /// The largest, in nanoseconds.
    pub most: u64,
    /// Their sum and the sum of their squares, in ms.
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

    /// Their mean in ms; NaN without any.
    pub fn mean_ms(&self) -> f64 {
        self.sums.0 / self.ms.count() as f64
    }

    /// Their standard deviation in ms; NaN without any.
    pub fn std_ms(&self) -> f64 {
        let mean = self.mean_ms();
        let spread = self.sums.1 / self.ms.count() as f64 - mean * mean;
        if spread.is_nan() { f64::NAN } else { spread.max(0.0).sqrt() }
    }
}

/// One end of a connection as a sender of data.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Packets of any kind from this end, and octets of IP.
    pub packets: u64,
    /// Octets of their IP packets.
    pub wire_bytes: u64,
    /// Options of its SYN.
    pub syn: Option<Options>,
    /// Segments with data, and their octets.
    pub data_segments: u64,
    /// Octets of payload, those that passed again included.
    pub data_bytes: u64,
    /// Octets of IP packets with data.
    pub data_wire_bytes: u64,
    /// Segments that begin before the highest octet that passed (tcptrace's retransmitted packets).
    pub retransmitted_segments: u64,
    /// Octets of these.
    pub retransmitted_bytes: u64,
    /// Segments that passed again although the receiver had them: by ACK, SACK or DSACK (RFC 2883).
    pub spurious: u64,
    /// Segments that fill a hole which no segment had filled before: their first copy was lost before the point of
    /// capture, or they were overtaken.
    pub filled_holes: u64,
    /// Octets acknowledged.
    pub acked_bytes: u64,
    /// When the first and last data passed, in nanoseconds of the file.
    pub first_data: Option<u64>,
    /// When the last data passed.
    pub last_data: u64,
    /// When the last acknowledgement of new data passed.
    pub last_ack: u64,
    /// Segments that passed before the first acknowledgement of data.
    pub first_flight: (u32, u32),
    /// Round trips from the point of capture to the receiver.
    pub far: Rtts,
    /// The ACKs.
    pub ack_path: AckPath,
    /// Bins over time.
    pub timeline: Option<Box<Timeline>>,
    /// Segments marked CE, segments that can be marked, and ACKs that echo marks.
    pub ecn: (u64, u64, u64),
    /// Waiting time of data when a loss was found, in ms.
    pub wait_at_loss_ms: Sketch,
    /// Waiting time of data, in ms.
    pub data_wait_ms: Sketch,
    /// Most octets out at once, as the sender counts them.
    pub most_out: u32,
    /// Smallest, largest and sum of the receive windows that this end offers, scaled, and their number.
    pub windows: (u32, u32, u64, u64),
    /// Largest segment that passed.
    pub largest: u32,
    /// Traces of the sender's congestion control.
    pub control: Control,
    /// Points of its diagram, if they are wanted.
    pub points: Option<Box<Points>>,
    clock: Clock,
    last_id: Option<u16>,
    flight: Option<Flight>,
    sender: Option<Box<Sender>>,
    ways: Ways,
    mss: u32,
    /// Missing segments or SACK blocks show when losses happen; otherwise only retransmissions do.
    shows_holes: bool,
}

/// Facts about a segment that its own direction does not hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Shift of the windows that the segment's sender offers.
    pub(crate) shift: u8,
    /// Nanoseconds that the segment waited on its way to the point of capture, by its timestamp.
    pub(crate) waited: Option<u64>,
    /// Largest segment that the SYNs agreed on.
    pub(crate) mss: u32,
}

impl Direction {
    /// Records any packet of this end. Returns what its timestamp says about its waiting time.
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

    /// Records data that this end sends.
    pub(crate) fn sends(&mut self, segment: &Segment, peer: Peer) {
        let (at, start, end) = (segment.at, segment.seq, segment.seq + segment.len);
        self.begin(segment);
        let mss = self.segment_size(segment, peer.mss);
        self.mss = mss;
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        let near = self.ways.now().near;
        // An echo times the way to the sender only if the ACK released the segment: not after silence.
        let clocked = self.sender.as_mut().is_some_and(|sender| {
            !sender.was_idle(at, echo, near) && sender.silence(at) < LONGEST_SILENCE.max(2 * near)
        });
        self.ways.data_passed(at, echo, peer.waited, clocked);
        let waits = self.ways.now();
        let (Some(flight), Some(sender), Some(timeline)) = (&mut self.flight, &mut self.sender, &mut self.timeline)
        else {
            return;
        };
        if start.after(flight.next()) {
            // Segments are missing: they were lost before the point of capture, just before this one.
            self.wait_at_loss_ms.add(self.ways.data_wait_here() as f64 * 1e-6);
            self.shows_holes = true;
        }
        let again = flight.sent(Time::from_nanos(at), start, end);
        self.data_segments += 1;
        self.data_bytes += u64::from(segment.len);
        self.data_wire_bytes += u64::from(segment.ip_len);
        self.last_data = at;
        if self.acked_bytes == 0 && again.is_none() {
            self.first_flight =
                (self.first_flight.0 + segment.len.div_ceil(mss.max(1)), self.first_flight.1 + segment.len);
        }
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
            if !self.shows_holes {
                self.wait_at_loss_ms.add(self.ways.recent() as f64 * 1e-6);
            }
            self.control.reduced(sender.flight_at_loss().unwrap_or(sender.out()));
        }
        self.most_out = self.most_out.max(sender.out());
        if !sender.is_in_slow_start() {
            self.control.flight(at, sender.out(), waits.rtt, mss, sender.repairs());
        }
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

    fn begin(&mut self, segment: &Segment) {
        if self.flight.is_none() {
            self.flight = Some(Flight::new(segment.seq));
            self.sender = Some(Box::new(Sender::new(segment.seq)));
            self.timeline = Some(Box::new(Timeline::new(segment.at)));
            self.first_data = Some(segment.at);
            self.last_ack = segment.at;
        }
    }

    /// Octets of a full segment: what the SYNs agreed on less the options, or the largest that passed, as far as no
    /// segmentation was offloaded.
    fn segment_size(&mut self, segment: &Segment, agreed: u32) -> u32 {
        self.largest = self.largest.max(segment.len);
        let options = if segment.options.timestamps.is_some() { 12 } else { 0 };
        let agreed = if agreed > LEAST_MSS { agreed - options } else { 1460 - options };
        if self.largest >= agreed { agreed } else { self.largest.max(1) }
    }

    /// Records an acknowledgement of this end's data, which the other end sends. Returns octets of IP packets that it
    /// says were delivered.
    pub(crate) fn acknowledged(&mut self, segment: &Segment, peer: Peer) -> u64 {
        let at = segment.at;
        let timestamps = segment.options.timestamps;
        let (Some(flight), Some(sender), Some(timeline)) = (&mut self.flight, &mut self.sender, &mut self.timeline)
        else {
            return 0;
        };
        self.ways.ack_passed(at, timestamps.map(|(value, _)| value), peer.waited);
        self.ack_path.identified(segment.ip_id, self.last_id);
        let is_pure = segment.len == 0 && !(segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN));
        let bin = timeline.packet(at, segment.number);
        if is_pure {
            self.ack_path.passed(segment);
            bin.acks += 1;
            self.ecn.2 += u64::from(segment.flags.has(Flags::ECE));
        }
        let window = u32::from(segment.window) << peer.shift;
        bin.window = bin.window.min(window);
        let mut delivered = 0;
        for (start, end) in segment.options.sack() {
            // RFC 2883: a block at or below the acknowledgement reports a segment that came twice.
            self.spurious += u64::from(end.at_or_before(segment.ack) && start.before(*end));
            if let Some(found) = flight.sacked(Time::from_nanos(at), *start, *end) {
                delivered += found.bytes;
                if let Some(rtt) = found.after_loss {
                    self.shows_holes = true;
                    self.wait_at_loss_ms.add(self.ways.data_wait(rtt.as_nanos(), peer.waited) as f64 * 1e-6);
                }
            }
        }
        if segment.ack.before(flight.acked()) {
            self.ack_path.reordered += u64::from(is_pure);
        }
        let covered = flight.acked_to(Time::from_nanos(at), segment.ack);
        sender.acked(at, timestamps.map(|(value, _)| value), segment.ack, window);
        if let Some(covered) = covered {
            self.acked_bytes += u64::from(covered.bytes);
            self.last_ack = at;
            bin.acked_bytes += u64::from(covered.bytes);
            if !sender.repairs() {
                self.ack_path.advanced(at, covered.bytes, self.mss);
            }
            if let Some(rtt) = covered.rtt {
                self.far.add(rtt.as_nanos());
                self.ways.round_trip(at, rtt.as_nanos(), peer.waited);
                note_waits(bin, &self.ways, rtt.as_nanos(), peer.waited);
                self.data_wait_ms.add(self.ways.data_wait(rtt.as_nanos(), peer.waited) as f64 * 1e-6);
            }
            let waits = self.ways.now();
            self.ack_path.wait_ms.add(waits.acks as f64 * 1e-6);
            if let Some(points) = &mut self.points {
                points.add(at, Kind::Ack, segment.ack, segment.ack + window, segment.number);
            }
        }
        if let Some(points) = &mut self.points {
            for (start, end) in segment.options.sack() {
                points.add(at, Kind::Sack, *start, *end, segment.number);
            }
        }
        let delivered = u64::from(delivered + covered.map_or(0, |covered| covered.delivered));
        delivered * self.data_wire_bytes / self.data_bytes.max(1)
    }

    /// Takes over the smallest round trips of an earlier connection between the same hosts: to the receiver and to the
    /// sender.
    pub(crate) fn start_from(&mut self, least: [Option<u64>; 2]) {
        self.ways.start_from(least);
    }

    /// The smallest round trips from the point of capture to the receiver and to the sender, in nanoseconds.
    pub fn least(&self) -> [Option<u64>; 2] {
        [self.ways.far_least(), self.ways.near_least()]
    }

    /// Octets that passed and are not yet acknowledged.
    pub(crate) fn out(&self) -> u32 {
        self.flight.as_ref().map_or(0, Flight::outstanding)
    }

    /// Why slow start ended, recoveries by duplicate ACKs or SACK, and timeouts; `None` without data.
    pub fn repairs(&self) -> Option<(Option<SlowStartEnd>, u32, u32)> {
        self.sender.as_ref().map(|sender| (sender.slow_start_end, sender.recoveries, sender.timeouts))
    }

    /// The bins with their limits as they count: pacing that the point of capture cannot show, or that holds in the
    /// smaller part of a bin's time, is the congestion window's.
    pub fn judged(&self, shows_pacing: bool) -> Vec<Bin> {
        let bins = self.timeline.as_ref().map_or(&[][..], |timeline| timeline.bins());
        bins.iter().map(|bin| bin.with_pacing_settled(shows_pacing)).collect()
    }

    /// Frees what only an open connection needs.
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
    }
}

/// Records the waits of a round trip in its bin.
fn note_waits(bin: &mut Bin, ways: &Ways, rtt: u64, waited: Option<u64>) {
    let waits = ways.now();
    bin.rtt_ms.add((rtt + waits.near) as f64 * 1e-6);
    bin.data_wait_ms.add(ways.data_wait(rtt, waited) as f64 * 1e-6);
    bin.ack_wait_ms.add(ways.ack_wait() as f64 * 1e-6);
}
