//! A TCP connection in a capture: its two endpoints, its two directions of data, and its handshake.

use crate::direction::{Direction, Peer};
use crate::load::Loads;
use crate::points::Points;
use crate::segment::{Endpoint, Segment};
use crate::waits::AT_AN_END;
use lopsided_core::packet::Flags;

/// Segment size in bytes if a SYN contains no MSS option (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// The place where the capture was taken, relative to one direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// Near the sender of the data.
    Sender,
    /// Near the receiver of the data.
    Receiver,
    /// Between the endpoints, near neither of them.
    Middle,
    /// Unknown, because the capture lacks the RTT to one of the endpoints.
    Unknown,
}

impl Vantage {
    /// Returns the name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Receiver => "receiver",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
    }
}

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The connection was still open at the end of the capture.
    #[default]
    Open,
    /// Both endpoints sent a FIN.
    Fin,
    /// One endpoint sent a RST.
    Rst,
}

impl Ending {
    /// Returns the name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Open => "open",
            Ending::Fin => "fin",
            Ending::Rst => "rst",
        }
    }
}

/// One connection of a capture.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The endpoints. The first endpoint sent the SYN, or the first captured packet if the capture has no SYN.
    pub ends: [Endpoint; 2],
    /// For each endpoint: the data that it sends, and the ACKs for this data.
    pub directions: [Direction; 2],
    /// Times of the first and the last packet, in nanoseconds since the epoch of the file's clock.
    pub times: (u64, u64),
    /// Frame numbers of the first and last packet.
    pub numbers: (u64, u64),
    /// Times of the first SYN, the first SYN-ACK and the handshake's ACK, in nanoseconds of the file's clock.
    pub handshake: [Option<u64>; 3],
    /// The way in which the connection ended.
    pub ending: Ending,
    /// Number of retransmitted SYNs and SYN-ACKs.
    pub repeated_syns: u32,
    fins: [bool; 2],
    /// Window scale shift of each endpoint's advertised windows; 0 if windows are not scaled.
    shifts: [u8; 2],
    /// The smaller of the two MSS options, in bytes; 0 if the capture has no SYN.
    mss: u32,
    /// Index of each endpoint's host in [`Loads`].
    hosts: [Option<usize>; 2],
    /// Queueing delays of packets from each endpoint before and after the point of capture, in nanoseconds, on an earlier
    /// connection at the time when this connection began.
    queued: [[u64; 2]; 2],
}

impl Connection {
    /// Creates a connection from its first packet. The caller must pass the same packet to `passed`. If `points` is
    /// true, the points of its diagrams are kept.
    pub(crate) fn new(segment: &Segment, points: bool, loads: &mut Loads) -> Connection {
        // If the capture begins with the SYN-ACK, the receiver of that packet opened the connection.
        let answers = segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK);
        let ends = if answers { [segment.to, segment.from] } else { [segment.from, segment.to] };
        let mut directions = [Direction::default(), Direction::default()];
        if points {
            directions.iter_mut().for_each(|direction| direction.points = Some(Box::new(Points::default())));
        }
        Connection {
            ends,
            directions,
            times: (segment.at, segment.at),
            numbers: (segment.number, segment.number),
            handshake: [None; 3],
            ending: Ending::Open,
            repeated_syns: 0,
            fins: [false; 2],
            shifts: [0; 2],
            mss: 0,
            hosts: ends.map(|end| loads.host(end.address)),
            queued: [[0; 2]; 2],
        }
    }

    /// Returns true if `segment` is a SYN that opens another connection. A SYN before any data is a retransmission.
    pub(crate) fn is_followed_by(&self, segment: &Segment) -> bool {
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        opens && (self.ending != Ending::Open || self.directions.iter().any(|direction| direction.data_segments > 0))
    }

    /// Records a packet of the connection, and its bytes in `loads`.
    pub(crate) fn passed(&mut self, segment: &Segment, loads: &mut Loads) {
        self.times.1 = self.times.1.max(segment.at);
        self.numbers.1 = segment.number;
        let from = usize::from(segment.from != self.ends[0]);
        self.shake_hands(segment, from);
        // RFC 7323, section 2.2: the window of a SYN is never scaled.
        let opens = segment.flags.has(Flags::SYN);
        let shift = if opens { 0 } else { self.shifts[from] };
        let waited = self.directions[from].passed(segment, shift);
        if opens {
            self.agree();
        }
        let (source, target) = (self.hosts[from], self.hosts[1 - from]);
        let ahead = loads.passed(segment, source, target, waited);
        let peer = Peer { shift, waited, ahead, mss: self.mss };
        let [one, other] = &mut self.directions;
        let (mine, others) = if from == 0 { (one, other) } else { (other, one) };
        if segment.flags.has(Flags::ACK) {
            // Data is counted when its ACK passes the point of capture. Data that was lost after this point did not
            // cross the bottleneck link.
            let delivered = others.acknowledged(segment, peer);
            loads.add(segment.at, target, source, delivered);
            others.count_queued(loads, (target, source));
        }
        if segment.len > 0 {
            mine.sends(segment, peer);
            mine.count_queued(loads, (source, target));
        } else {
            loads.add(segment.at, source, target, u64::from(segment.ip_len));
        }
        self.end(segment, from);
    }

    /// Copies the minimum RTTs and the present queueing delays of an earlier connection between the same hosts.
    pub(crate) fn start_from(&mut self, earlier: &Connection) {
        let same = earlier.ends[0].address == self.ends[0].address;
        for sender in 0..2 {
            let of = if same { sender } else { 1 - sender };
            self.directions[sender].start_from(earlier.halves(of));
            self.queued[sender] = earlier.directions[of].queued(&earlier.directions[1 - of]);
        }
    }

    /// Returns the reply's share of the queueing delay in an RTT of the handshake. The endpoint `from` sends the reply.
    /// Both packets wait behind the packets of the earlier connection. 0 if that connection shows no queueing delay.
    fn share_of_reply(&self, from: usize) -> f64 {
        let (reply, first) = (self.queued[from][0] as f64, self.queued[1 - from][1] as f64);
        if reply > 0.0 { reply / (reply + first) } else { 0.0 }
    }

    /// Records the times of the three packets of the handshake.
    fn shake_hands(&mut self, segment: &Segment, from: usize) {
        let place = match (segment.flags.has(Flags::SYN), segment.flags.has(Flags::ACK)) {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) if from == 0 && self.handshake[1].is_some() => 2,
            _ => return,
        };
        if place < 2 && self.handshake[place].is_some() {
            self.repeated_syns += 1;
        } else if self.handshake[place].is_none() {
            self.handshake[place] = Some(segment.at);
            // The reply to a SYN shows the RTT to the endpoint that replies. The ACK of the reply shows the RTT to the
            // other endpoint.
            if let Some(near) = place.checked_sub(1).and_then(|rtt| self.handshake_rtts()[rtt]) {
                let share = self.share_of_reply(from);
                self.directions[from].handshake(near, segment, share);
            }
        }
    }

    /// Records a FIN or RST, and frees memory once no further packet is expected.
    fn end(&mut self, segment: &Segment, from: usize) {
        self.fins[from] |= segment.flags.has(Flags::FIN);
        let before = self.ending;
        if segment.flags.has(Flags::RST) {
            self.ending = Ending::Rst;
        } else if self.fins == [true; 2] && self.ending == Ending::Open {
            self.ending = Ending::Fin;
        }
        // After both FINs, data may still be unacknowledged. The FIN itself occupies one sequence number.
        let is_over = match self.ending {
            Ending::Open => false,
            Ending::Fin => self.directions.iter().all(|direction| direction.out() <= 1),
            Ending::Rst => before == Ending::Open,
        };
        if is_over {
            self.close();
        }
    }

    /// Frees the memory that only an open connection needs.
    pub(crate) fn close(&mut self) {
        self.directions.iter_mut().for_each(Direction::close);
    }

    /// Stores the window scale shifts and the MSS on which the SYNs of both endpoints agree.
    fn agree(&mut self) {
        let syns = [0, 1].map(|end| self.directions[end].syn);
        // RFC 7323, section 2.2: windows are scaled only if both SYNs contain the option.
        let shifts = syns.map(|syn| syn.and_then(|options| options.window_scale));
        self.shifts = if let [Some(one), Some(other)] = shifts { [one, other] } else { [0; 2] };
        let options = syns.into_iter().flatten();
        self.mss = options.map(|options| options.mss.map_or(DEFAULT_MSS, u32::from)).min().unwrap_or(0);
    }

    /// Returns the smaller of the two MSS options, in bytes; 0 if the capture has no SYN.
    pub fn agreed_mss(&self) -> u32 {
        self.mss
    }

    /// Returns the RTTs of the handshake in nanoseconds, to the receiver of the SYN and to its sender. `None` after a
    /// retransmission.
    pub fn handshake_rtts(&self) -> [Option<u64>; 2] {
        // Karn's algorithm (RFC 6298, section 3): the reply may belong to either copy.
        if self.repeated_syns > 0 {
            return [None, None];
        }
        let [syn, answer, last] = self.handshake;
        let between =
            |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| other.saturating_sub(one));
        [between(syn, answer), between(answer, last)]
    }

    /// Returns the RTT of the handshake on the whole path, in nanoseconds. `None` if the capture lacks a packet of the
    /// handshake, or after a retransmission.
    pub fn handshake_rtt(&self) -> Option<u64> {
        let [far, near] = self.handshake_rtts();
        Some(far? + near?)
    }

    /// Returns the minimum RTTs from the point of capture to the receiver and to the sender of `sender`'s data, in
    /// nanoseconds.
    pub fn halves(&self, sender: usize) -> [Option<u64>; 2] {
        let shaken = self.handshake_rtts();
        let (towards_receiver, towards_sender) =
            if sender == 0 { (shaken[0], shaken[1]) } else { (shaken[1], shaken[0]) };
        let least = |one: Option<u64>, other: Option<u64>| [one, other].into_iter().flatten().min();
        let (data, back) = (self.directions[sender].least(), self.directions[1 - sender].least());
        let far = least(least(data[0], towards_receiver), back[1]);
        let near = least(least(data[1], towards_sender), back[0]);
        [far, near]
    }

    /// Returns the place where the capture was taken, relative to the data that endpoint `sender` (0 or 1) sends.
    pub fn vantage(&self, sender: usize) -> Vantage {
        match self.halves(sender) {
            [Some(far), Some(near)] => {
                let share = near as f64 / (near + far).max(1) as f64;
                if share <= AT_AN_END {
                    Vantage::Sender
                } else if share >= 1.0 - AT_AN_END {
                    Vantage::Receiver
                } else {
                    Vantage::Middle
                }
            }
            _ => Vantage::Unknown,
        }
    }
}
