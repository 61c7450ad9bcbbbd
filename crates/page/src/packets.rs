//! Records the packets of the animated link in a period, and the segments and ACKs of flows for time-sequence diagrams.

use crate::answer::Columns;
use crate::json::Json;
use lopsided_core::packet::Flags;
use lopsided_core::{DropReason, Duration, Ecn, Event, EventMask, NodeId, Observer, Packet, Time, Transport};
use lopsided_sim::Watched;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of packets kept for one period.
const MOST: usize = 40_000;

/// The kind of a packet, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data = 0,
    Ack = 1,
    Datagram = 2,
    /// SYN, FIN or RST.
    Control = 3,
    Other = 4,
}

/// One packet's journey through one direction of the link. Unknown times are NaN.
#[derive(Clone, Debug)]
struct Crossing {
    up: bool,
    flow: u32,
    id: u64,
    kind: Kind,
    again: bool,
    marked: bool,
    size: u64,
    seq: u32,
    ack: u32,
    flags: u16,
    enters_s: f64,
    leaves_s: f64,
    arrives_s: f64,
    dropped: Option<DropReason>,
}

/// A data segment that a flow's sender sends, or an ACK that this sender receives.
#[derive(Clone, Copy, Debug)]
struct Step {
    at_s: f64,
    flow: u32,
    is_ack: bool,
    again: bool,
    /// Offset of the first byte in the flow's data.
    from: f64,
    /// Offset after the last byte in the flow's data; equal to `from` for an ACK.
    to: f64,
}

/// The start of a flow's current connection: its first sequence number, and offsets from the flow's first byte.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    begun: bool,
    first: u32,
    /// Offset of the current connection's first byte in the flow's data.
    offset: f64,
    highest: f64,
}

impl Base {
    fn of(&self, number: u32) -> f64 {
        self.offset + f64::from(number.wrapping_sub(self.first) as i32)
    }
}

#[derive(Debug)]
struct Log {
    /// The nodes of the two directions of the link: down, then up.
    line: [NodeId; 2],
    /// For each flow, the host that sends its data. `None` if the steps of the time-sequence diagram are not needed.
    senders: Option<Vec<NodeId>>,
    /// Packets that enter the link before this time are ignored.
    begin_s: f64,
    from_s: f64,
    to_s: f64,
    /// All packets that enter during the period have arrived by this time.
    end_s: f64,
    open: BTreeMap<(bool, u64), Crossing>,
    done: Vec<Crossing>,
    steps: Vec<Step>,
    /// Sequence number after the newest data that entered the link, by direction and flow.
    newest: BTreeMap<(bool, u32), u32>,
    bases: Vec<Base>,
    truncated: bool,
}

/// An observer that keeps the packets of a period. Clones share the packets.
#[derive(Clone, Debug)]
pub(crate) struct Packets(Arc<Mutex<Log>>);

impl Packets {
    /// Creates an observer. `wait_s` is the longest time in seconds that a packet may spend at the link. With `senders`
    /// the observer also keeps the steps of the time-sequence diagram.
    pub fn new(line: [NodeId; 2], senders: Option<Vec<NodeId>>, from_s: f64, to_s: f64, wait_s: f64) -> Packets {
        let bases = vec![Base::default(); senders.as_ref().map_or(0, Vec::len)];
        let log = Log {
            line,
            senders,
            begin_s: from_s - wait_s,
            from_s,
            to_s,
            end_s: to_s + wait_s,
            open: BTreeMap::new(),
            done: Vec::new(),
            steps: Vec::new(),
            newest: BTreeMap::new(),
            bases,
            truncated: false,
        };
        Packets(Arc::new(Mutex::new(log)))
    }

    /// Returns the period for which the observer needs events.
    pub fn watched(&self) -> Watched {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |seconds: f64| Time::ZERO + Duration::from_nanos((seconds.clamp(0.0, 1e9) * 1e9) as u64);
        // The steps are offsets from the first byte of a flow, so they need each SYN and the data sent so far.
        Watched { from: at(log.begin_s), to: at(log.end_s), hosts_before: log.senders.is_some() }
    }

    /// Writes the packets so far into columns of the answer, and returns their part of the head.
    pub fn head(&self, columns: &mut Columns) -> Json {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Packets that are in flight at the end of the period or of the run have no arrival time.
        let mut all: Vec<&Crossing> =
            log.done.iter().chain(log.open.values().filter(|open| open.enters_s <= log.to_s)).collect();
        all.sort_by(|one, other| one.enters_s.total_cmp(&other.enters_s));
        let mut narrow = |value: &dyn Fn(&Crossing) -> f64| columns.narrow(all.iter().map(|crossing| value(crossing)));
        let flag = |set: bool| f64::from(u8::from(set));
        let mut entries = vec![
            ("from_s", Json::number(log.from_s)),
            ("to_s", Json::number(log.to_s)),
            ("truncated", Json::flag(log.truncated)),
            ("up", narrow(&|crossing| flag(crossing.up))),
            ("flow", narrow(&|crossing| f64::from(crossing.flow))),
            ("kind", narrow(&|crossing| f64::from(crossing.kind as u8))),
            ("again", narrow(&|crossing| flag(crossing.again))),
            ("marked", narrow(&|crossing| flag(crossing.marked))),
            ("size", narrow(&|crossing| crossing.size as f64)),
            ("flags", narrow(&|crossing| f64::from(crossing.flags))),
            ("dropped", narrow(&|crossing| crossing.dropped.map_or(-1.0, |why| f64::from(why as u32)))),
        ];
        let mut wide = |value: &dyn Fn(&Crossing) -> f64| columns.wide(all.iter().map(|crossing| value(crossing)));
        entries.extend([
            ("id", wide(&|crossing| crossing.id as f64)),
            ("seq", wide(&|crossing| f64::from(crossing.seq))),
            ("ack", wide(&|crossing| f64::from(crossing.ack))),
            ("enters_s", wide(&|crossing| crossing.enters_s)),
            ("leaves_s", wide(&|crossing| crossing.leaves_s)),
            ("arrives_s", wide(&|crossing| crossing.arrives_s)),
        ]);
        let step = |value: &dyn Fn(&Step) -> f64, columns: &mut Columns| columns.wide(log.steps.iter().map(value));
        let steps = log.senders.is_some().then(|| {
            Json::object([
                ("at_s", step(&|step| step.at_s, columns)),
                ("flow", step(&|step| f64::from(step.flow), columns)),
                ("is_ack", step(&|step| flag(step.is_ack), columns)),
                ("again", step(&|step| flag(step.again), columns)),
                ("from", step(&|step| step.from, columns)),
                ("to", step(&|step| step.to, columns)),
            ])
        });
        entries.push(("steps", steps.unwrap_or_else(Json::null)));
        entries.push(("reasons", Json::texts(DropReason::ALL.iter().map(|why| why.name()))));
        Json::object(entries)
    }
}

impl Observer for Packets {
    fn mask(&self) -> EventMask {
        EventMask::HOSTS | EventMask::QUEUES | EventMask::DROPS
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(at.as_secs_f64(), node, event);
    }
}

impl Log {
    fn record(&mut self, at_s: f64, node: NodeId, event: &Event<'_>) {
        if at_s < self.begin_s {
            if let Event::Sent(packet) = event {
                self.step(at_s, node, packet, false);
            }
            return;
        }
        let line = self.line.iter().position(|direction| *direction == node).map(|place| place == 1);
        match (event, line) {
            (Event::Enqueued { packet, .. }, Some(up)) => {
                self.arrive(at_s, packet, Some(up));
                self.enter(at_s, up, packet);
            }
            (Event::Dequeued { packet, .. }, Some(up)) => {
                if let Some(open) = self.open.get_mut(&(up, packet.id())) {
                    open.leaves_s = at_s;
                }
            }
            (Event::Marked { packet, .. }, Some(up)) => {
                if let Some(open) = self.open.get_mut(&(up, packet.id())) {
                    open.marked = true;
                }
            }
            (Event::Dropped { packet, why }, Some(up)) => {
                if !self.open.contains_key(&(up, packet.id())) {
                    // The queue was full, so the packet was dropped on arrival.
                    self.enter(at_s, up, packet);
                }
                if let Some(mut open) = self.open.remove(&(up, packet.id())) {
                    open.dropped = Some(*why);
                    open.arrives_s = at_s;
                    self.keep(open);
                }
            }
            (Event::Dropped { packet, .. } | Event::Enqueued { packet, .. }, None) => self.arrive(at_s, packet, None),
            (Event::Received(packet), _) => {
                self.arrive(at_s, packet, None);
                self.step(at_s, node, packet, true);
            }
            (Event::Sent(packet), _) => self.step(at_s, node, packet, false),
            _ => {}
        }
    }

    /// Completes the record of a packet that has arrived at the node behind the link.
    fn arrive(&mut self, at_s: f64, packet: &Packet, but: Option<bool>) {
        for up in [false, true] {
            if but == Some(up) {
                continue;
            }
            if let Some(mut open) = self.open.remove(&(up, packet.id())) {
                open.arrives_s = at_s;
                self.keep(open);
            }
        }
    }

    fn keep(&mut self, crossing: Crossing) {
        if crossing.arrives_s < self.from_s || crossing.enters_s > self.to_s {
            return;
        }
        if self.done.len() >= MOST {
            self.truncated = true;
        } else {
            self.done.push(crossing);
        }
    }

    fn enter(&mut self, at_s: f64, up: bool, packet: &Packet) {
        // Packets that enter after the period are never shown.
        if at_s > self.to_s {
            return;
        }
        let (mut seq, mut ack, mut flags) = (0, 0, Flags::NONE);
        let payload = packet.payload_len();
        let kind = match packet.transport() {
            Transport::Tcp(header) => {
                (seq, ack, flags) = (header.seq.get(), header.ack.get(), header.flags);
                if flags.has(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
                    Kind::Control
                } else if payload > 0 {
                    Kind::Data
                } else {
                    Kind::Ack
                }
            }
            Transport::Udp(_) => Kind::Datagram,
            Transport::Other { .. } => Kind::Other,
        };
        let end = seq.wrapping_add(payload);
        let mut again = false;
        if kind == Kind::Data {
            let newest = self.newest.entry((up, packet.flow().0)).or_insert(seq);
            let ahead = end.wrapping_sub(*newest) as i32;
            // A larger jump means that another connection with other sequence numbers has started.
            again = (-(1 << 28)..=0).contains(&ahead);
            if !again {
                *newest = end;
            }
        }
        let crossing = Crossing {
            up,
            flow: packet.flow().0,
            id: packet.id(),
            kind,
            again,
            marked: packet.ecn() == Ecn::Ce,
            size: packet.size().get(),
            seq,
            ack,
            flags: flags.0,
            enters_s: at_s,
            leaves_s: f64::NAN,
            arrives_s: f64::NAN,
            dropped: None,
        };
        self.open.insert((up, packet.id()), crossing);
    }

    fn step(&mut self, at_s: f64, node: NodeId, packet: &Packet, is_ack: bool) {
        let flow = packet.flow().0 as usize;
        if self.senders.as_ref().and_then(|senders| senders.get(flow)) != Some(&node) {
            return;
        }
        let Transport::Tcp(header) = packet.transport() else { return };
        let base = &mut self.bases[flow];
        if !is_ack && header.flags.has(Flags::SYN) {
            // A retransmitted SYN has the same offset as the first SYN.
            let first = header.seq.get().wrapping_add(1);
            *base = Base { begun: true, first, offset: base.highest, highest: base.highest };
        }
        if !base.begun {
            return;
        }
        let payload = f64::from(packet.payload_len());
        let (from, to) = if is_ack {
            (base.of(header.ack.get()), base.of(header.ack.get()))
        } else {
            (base.of(header.seq.get()), base.of(header.seq.get()) + payload)
        };
        let again = !is_ack && payload > 0.0 && to <= base.highest;
        if !is_ack {
            base.highest = base.highest.max(to);
        }
        let shown = if is_ack { header.flags.has(Flags::ACK) } else { payload > 0.0 };
        if !shown || at_s < self.from_s || at_s > self.to_s {
            return;
        }
        if self.steps.len() >= MOST {
            self.truncated = true;
        } else {
            self.steps.push(Step { at_s, flow: flow as u32, is_ack, again, from, to });
        }
    }
}
