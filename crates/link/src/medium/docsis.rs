//! A cable channel that modems share behind one CMTS (DOCSIS 3.1 MAC and upper layer protocols, CM-SP-MULPIv3.1,
//! section 7).
//!
//! - **Downstream.** The CMTS has a queue for each modem. It serves the queues in turn and sends frames back to back at
//!   the rate `down`.
//! - **Upstream.** Time is divided into intervals of `map_interval`. An interval starts with `request_slots` slots for
//!   requests. Two requests in the same slot collide. The CMTS grants the rest of the interval to the modems in turn,
//!   one frame at a time. A modem requests up to `burst` bytes. Its last granted frame carries the next request, so a
//!   busy modem seldom contends.
//! - **Contention.** A modem waits for a random number of slots below `2^backoff_start`. Each collision doubles the
//!   range, up to `2^backoff_end`. After more than 16 collisions, the frame is dropped.
//!
//! Not modelled: subscribed rates, fragment headers, several service flows per modem, unsolicited grants, maps more
//! than one interval ahead, channel bonding.

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::VecDeque;

/// Maximum number of collisions of a request. After one more collision, the frame is dropped (CM-SP-MULPIv3.1, section
/// 7.2.1).
const MOST_TRIES: u32 = 16;
/// Largest exponent of a backoff range.
const MOST_DOUBLINGS: u32 = 15;

/// Settings of a cable channel.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisConfig {
    /// Name of the medium, and queue of each station.
    pub settings: MediumSettings,
    /// Name of the station that is the CMTS. All other stations are modems. `None`: the station of the first link.
    pub cmts: Option<String>,
    /// Downstream rate, shared by all modems.
    pub down: BitRate,
    /// Upstream rate, shared by all modems.
    pub up: BitRate,
    /// Overhead of a frame on the channel in addition to its IP packet.
    pub framing: Framing,
    /// Length of the interval that a map describes.
    pub map_interval: Duration,
    /// Number of request slots in an interval.
    pub request_slots: u32,
    /// Size of a request slot, in bytes.
    pub request: Bytes,
    /// Maximum number of bytes that a modem requests at once.
    pub burst: Bytes,
    /// Exponent of the first backoff range: a modem waits fewer than 2^`backoff_start` slots.
    pub backoff_start: u32,
    /// Exponent of the largest backoff range.
    pub backoff_end: u32,
}

impl Default for DocsisConfig {
    fn default() -> DocsisConfig {
        DocsisConfig {
            settings: MediumSettings::default(),
            cmts: None,
            down: BitRate::from_bps(38_000_000),
            up: BitRate::from_bps(10_000_000),
            framing: Framing { overhead: Bytes::new(24), ..Framing::NONE },
            map_interval: Duration::from_millis(2),
            request_slots: 8,
            request: Bytes::new(16),
            burst: Bytes::new(16_000),
            backoff_start: 3,
            backoff_end: 10,
        }
    }
}

impl Part for DocsisConfig {
    const NAME: &'static str = "docsis";
    const TEXT: &'static str = "A cable channel between a CMTS and its modems, in which modems contend for requests and send in granted slots.";
    const KEYS: &'static [Key<DocsisConfig>] = &[
        key(
            "name",
            |cable: &mut Self| &mut cable.settings.name,
            "Name of the cable network. Each node with a link to this name is a station.",
        )
        .required("\"cable\""),
        key(
            "queue",
            |cable: &mut Self| &mut cable.settings.queue,
            "Queue of each modem, and of the CMTS for each modem.",
        )
        .default_text("50 packets"),
        key(
            "cmts",
            |cable: &mut Self| &mut cable.cmts,
            "Station that grants transmissions. All other stations are modems.",
        )
        .none_word("the first link's"),
        key("down", |cable: &mut Self| &mut cable.down, "Rate of the CMTS, shared by all modems."),
        key("up", |cable: &mut Self| &mut cable.up, "Rate of the upstream channel, shared by all modems."),
        key("framing", |cable: &mut Self| &mut cable.framing, "Framing of packets on the channel.")
            .default_text("24 octets of Ethernet and MAC header"),
        key(
            "map_interval",
            |cable: &mut Self| &mut cable.map_interval,
            "Length of the time that each MAP message schedules.",
        ),
        key(
            "request_slots",
            |cable: &mut Self| &mut cable.request_slots,
            "Number of contention slots for requests in each MAP interval.",
        ),
        key("request", |cable: &mut Self| &mut cable.request, "Octets of a contention slot."),
        key("burst", |cable: &mut Self| &mut cable.burst, "Largest number of octets that a modem requests at once."),
        key(
            "backoff_start",
            |cable: &mut Self| &mut cable.backoff_start,
            "Exponent of the first backoff window: a modem waits for a random number of slots from 0 to 2^backoff_start - 1.",
        ),
        key(
            "backoff_end",
            |cable: &mut Self| &mut cable.backoff_end,
            "Exponent of the largest backoff window, 2^backoff_end slots.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, rate) in [("down", self.down), ("up", self.up)] {
            if !(1000..=10_000_000_000_000).contains(&rate.as_bps()) {
                return Err(Fault::new(name, "a channel needs at least 1 kbit/s and at most 10 Tbit/s"));
            }
        }
        if self.request_slots == 0 {
            return Err(Fault::new("request_slots", "modems need at least one slot for requests"));
        }
        if self.backoff_start > self.backoff_end || self.backoff_end > MOST_DOUBLINGS {
            let what = format!("`backoff_start` must be at most `backoff_end`, which must be at most {MOST_DOUBLINGS}");
            return Err(Fault::new("backoff_start", what));
        }
        if self.burst == Bytes::ZERO {
            return Err(Fault::new("burst", "with a burst of zero, no frame could ever be sent"));
        }
        if self.map_interval > Duration::from_secs(1) {
            return Err(Fault::new("map_interval", "a map interval must be at most 1 s"));
        }
        if self.map_interval <= self.asking() {
            return Err(Fault::new("map_interval", "the interval is too short for its request slots at the rate `up`"));
        }
        Ok(())
    }
}

impl DocsisConfig {
    /// Returns the total duration of the request slots in an interval.
    fn asking(&self) -> Duration {
        self.up.time_to_send(self.request, 0).0 * u64::from(self.request_slots)
    }
}

impl MediumKind for DocsisConfig {
    fn settings(&self) -> &MediumSettings {
        &self.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.check()?;
        let cmts = match &self.cmts {
            None => 0,
            Some(name) => stations.iter().position(|station| station == name).ok_or_else(|| {
                Fault::new("cmts", format!("no station is called {name}: there are {}", stations.join(", ")))
            })?,
        };
        Ok(Box::new(Docsis::new(self.clone(), cmts, stations.len(), rng)))
    }
}

/// The state of the channel in one run.
#[derive(Debug)]
pub struct Docsis {
    config: DocsisConfig,
    rng: Rng,
    /// Number of the CMTS among the stations.
    cmts: usize,
    /// Frames of the CMTS in sending order, at most one per modem.
    down: VecDeque<Frame>,
    /// Time at which the transmission of the first frame in `down` ends; `None` if the CMTS is not sending.
    down_until: Option<Time>,
    /// The modems, indexed by station number. The entry of the CMTS only counts its frames.
    modems: Vec<Modem>,
    /// Number of the modem that gets the next grant, if it has a pending request.
    turn: usize,
    /// Modem and end of each transmission that was granted in this interval.
    grants: VecDeque<(usize, Time)>,
    /// Start of the next interval. `None` while no modem has a frame.
    next_map: Option<Time>,
    /// Another event at the time of the previous event. The next call of `on_event` returns this event.
    then: Option<(Time, MediumEvent)>,
    down_busy: Duration,
    up_busy: Duration,
}

/// A frame, and its size on the channel.
#[derive(Clone, Copy, Debug)]
struct Frame {
    id: FrameId,
    wire: Bytes,
}

/// The state of a modem, and the state that the CMTS stores for the modem.
#[derive(Debug, Default)]
struct Modem {
    frames: VecDeque<Frame>,
    /// Total size of `frames` on the channel, in bytes.
    held: u64,
    /// Number of frames granted in this interval.
    granted: usize,
    /// Number of frames that have been requested from the CMTS but not granted yet.
    asked: usize,
    /// Number of request slots left to wait; `None` if the modem does not contend.
    wait: Option<u64>,
    /// Number of collisions of the modem's current request.
    tries: u32,
    frames_sent: u64,
    requests: u64,
    collisions: u64,
    given_up: u64,
}

impl Docsis {
    /// Creates an idle channel. `cmts` is the number of the CMTS among the stations.
    pub fn new(config: DocsisConfig, cmts: usize, stations: usize, rng: Rng) -> Docsis {
        Docsis {
            config,
            rng,
            cmts,
            down: VecDeque::new(),
            down_until: None,
            modems: (0..stations).map(|_| Modem::default()).collect(),
            turn: 0,
            grants: VecDeque::new(),
            next_map: None,
            then: None,
            down_busy: Duration::ZERO,
            up_busy: Duration::ZERO,
        }
    }

    /// Starts to send the first frame of the CMTS, if it has one.
    fn begin_down(&mut self, now: Time) {
        // Downstream frames need no grants and follow each other without a gap.
        let took = self.down.front().map(|frame| self.config.down.time_to_send(frame.wire, 0).0);
        self.down_busy += took.unwrap_or(Duration::ZERO);
        self.down_until = took.map(|took| now + took);
    }

    fn on_down_sent(&mut self, now: Time) -> MediumEvent {
        let frame = self.down.pop_front().expect("the first frame was sent");
        self.modems[self.cmts].frames_sent += 1;
        self.begin_down(now);
        self.delivered(frame, now)
    }

    fn on_up_sent(&mut self, number: usize, now: Time) -> MediumEvent {
        self.grants.pop_front();
        let modem = &mut self.modems[number];
        let frame = modem.frames.pop_front().expect("the first frame was granted");
        modem.held -= frame.wire.get();
        modem.granted -= 1;
        modem.frames_sent += 1;
        if modem.granted == 0 && modem.asked < modem.frames.len() {
            // CM-SP-MULPIv3.1, section 7.2.1: a request piggybacked on the last granted frame avoids contention.
            modem.asked = modem.frames.len();
            modem.wait = None;
        }
        self.delivered(frame, now)
    }

    fn delivered(&mut self, frame: Frame, now: Time) -> MediumEvent {
        self.then = Some((now, MediumEvent::Done(frame.id)));
        MediumEvent::Delivered(frame.id)
    }

    /// Starts an interval: grants the pending requests that fit, and runs the request slots for the other modems.
    fn on_map(&mut self, now: Time) -> MediumEvent {
        let over = now + self.config.map_interval;
        // The request slots come first in each interval.
        self.grant(now + self.config.asking(), over);
        // Requests that are received in this interval are granted in the next interval.
        let hopeless = self.contend();
        self.next_map = self.modems.iter().any(|modem| !modem.frames.is_empty()).then_some(over);
        match hopeless {
            Some(frame) => MediumEvent::Lost(frame.id, DropReason::RetriesExhausted),
            None => MediumEvent::Nothing,
        }
    }

    /// Grants transmissions that start in `from..over` to modems with pending requests.
    fn grant(&mut self, from: Time, over: Time) {
        let count = self.modems.len();
        // The rest of a frame from the previous interval is sent first.
        let mut at = self.grants.back().map_or(from, |(_, until)| from.max(*until));
        let mut passed_over = 0;
        while passed_over < count && at < over {
            // Each modem with a pending request gets one frame per turn.
            let number = self.turn;
            self.turn = (self.turn + 1) % count;
            let modem = &mut self.modems[number];
            // Skip modems without a pending request. The loop ends when no modem has a pending request.
            if modem.asked == 0 {
                passed_over += 1;
                continue;
            }
            passed_over = 0;
            let took = self.config.up.time_to_send(modem.frames[modem.granted].wire, 0).0;
            modem.asked -= 1;
            modem.granted += 1;
            at = self.sent(at, took, over);
            self.up_busy += took;
            self.grants.push_back((number, at));
        }
    }

    /// Returns the end of a frame that starts at `at`. The current interval ends at `over`; the next intervals carry
    /// the rest of the frame.
    fn sent(&self, mut at: Time, mut took: Duration, mut over: Time) -> Time {
        // A frame is split at the end of an interval. Fragment headers are not modelled.
        while at + took > over {
            took = took - (over - at);
            at = over + self.config.asking();
            over += self.config.map_interval;
        }
        at + took
    }

    /// Runs the request slots of an interval. Returns a frame that has used up its retries, if there is one.
    fn contend(&mut self) -> Option<Frame> {
        let slots = u64::from(self.config.request_slots);
        let mut asking: Vec<(u64, usize)> = Vec::new();
        for (number, modem) in self.modems.iter_mut().enumerate() {
            // A modem with a grant or a pending request does not contend.
            if modem.granted > 0 || modem.asked > 0 || modem.frames.is_empty() {
                continue;
            }
            let range = 1 << (self.config.backoff_start + modem.tries).min(self.config.backoff_end);
            let wait = *modem.wait.get_or_insert_with(|| self.rng.below(range));
            if wait < slots {
                asking.push((wait, number));
                modem.requests += 1;
                modem.wait = None;
            } else {
                modem.wait = Some(wait - slots);
            }
        }
        let mut hopeless = None;
        for &(slot, number) in &asking {
            let modem = &mut self.modems[number];
            // A request is received only if no other modem uses its slot.
            if asking.iter().filter(|(other, _)| *other == slot).count() == 1 {
                modem.asked = modem.frames.len();
                modem.tries = 0;
                continue;
            }
            modem.collisions += 1;
            modem.tries += 1;
            // Drop at most one frame per map. Another frame that has used up its retries is dropped at the next map.
            if modem.tries > MOST_TRIES && hopeless.is_none() {
                hopeless = modem.frames.pop_front();
                modem.held -= hopeless.map_or(0, |frame: Frame| frame.wire.get());
                modem.tries = 0;
                modem.given_up += 1;
            }
        }
        hopeless
    }
}

impl Medium for Docsis {
    fn request(&mut self, id: FrameId, _to: usize, size: Bytes, now: Time) {
        let frame = Frame { id, wire: self.config.framing.wire_size(size) };
        if id.station == self.cmts {
            self.down.push_back(frame);
            // A frame for an idle downstream channel is sent at once.
            if self.down_until.is_none() {
                self.begin_down(now);
            }
            return;
        }
        let modem = &mut self.modems[id.station];
        modem.frames.push_back(frame);
        modem.held += frame.wire.get();
        // The CMTS sends no MAP messages while the upstream channel is idle. The first frame starts them again.
        if self.next_map.is_none() {
            // Maps start at multiples of the interval, even after an idle time.
            let interval = self.config.map_interval.as_nanos();
            self.next_map = Some(Time::from_nanos(now.as_nanos().div_ceil(interval) * interval));
        }
    }

    /// True if the medium accepts another frame from the station: one frame per modem from the CMTS, and up to `burst`
    /// bytes from a modem.
    fn takes(&self, station: usize, _receiver: usize, with_medium: usize) -> bool {
        // With one frame per modem at a time, the CMTS serves its queues in turn.
        if station == self.cmts { with_medium == 0 } else { self.modems[station].held < self.config.burst.get() }
    }

    fn queue_per_receiver(&self) -> bool {
        true
    }

    fn next_hop(&self, from: usize, to: usize) -> usize {
        if from == self.cmts { to } else { self.cmts }
    }

    fn next_event(&self) -> Option<Time> {
        // Use `Time::MAX` instead of an `Option`, because comparing times is cheaper. This is the medium's most
        // frequent call.
        let then = self.then.map_or(Time::MAX, |(at, _)| at);
        let granted = self.grants.front().map_or(Time::MAX, |(_, until)| *until);
        let (down, map) = (self.down_until.unwrap_or(Time::MAX), self.next_map.unwrap_or(Time::MAX));
        let first = then.min(granted).min(down).min(map);
        (first != Time::MAX).then_some(first)
    }

    fn on_event(&mut self, now: Time) -> MediumEvent {
        if let Some((_, event)) = self.then.take() {
            return event;
        }
        if self.down_until.is_some_and(|until| until <= now) {
            return self.on_down_sent(now);
        }
        if let Some((number, _)) = self.grants.front().copied().filter(|(_, until)| *until <= now) {
            return self.on_up_sent(number, now);
        }
        if self.next_map.is_some_and(|at| at <= now) {
            return self.on_map(now);
        }
        MediumEvent::Nothing
    }

    /// Reports the counters of the stations and modems, and the medium's busy time per direction in seconds.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64)) {
        for (number, station) in self.modems.iter().enumerate() {
            out(Some(number), "frames_sent", station.frames_sent as f64);
            if number != self.cmts {
                out(Some(number), "requests", station.requests as f64);
                out(Some(number), "collisions", station.collisions as f64);
                out(Some(number), "frames_given_up", station.given_up as f64);
            }
        }
        out(None, "down_busy_s", self.down_busy.as_secs_f64());
        out(None, "up_busy_s", self.up_busy.as_secs_f64());
    }
}
