//! A cable channel that modems share behind one CMTS (DOCSIS 3.1 MAC and upper layer protocols, CM-SP-MULPIv3.1 section
//! 7): all of them downstream, and upstream in what the CMTS grants.
//!
//! - **Downstream** the CMTS sends one frame after another at `down`, in turn to the modems that it has something for.
//!   It has a queue for each.
//! - **Upstream** time is divided into intervals, each with its map. A map begins with `request_slots` in which modems
//!   may ask; two that take the same slot collide. What is left of the interval goes to the modems that were heard
//!   before it began, frame by frame in turn. A modem asks for all that it holds, up to `burst` octets. With the last
//!   frame that it was granted it asks for what it holds by then, so that a busy modem seldom contends.
//! - A modem that contends waits a random number of slots below `2^backoff_start`. Each collision doubles the range, up
//!   to `2^backoff_end`; after 16 the frame is given up.
//!
//! What the modems were sold is no matter of the channel's: where they are sent more than it carries, packets wait
//! here, below IP.
//!
//! A frame that does not fit into what is left of an interval is continued in the next one.
//!
//! Left out: the headers of fragments, several service flows of a modem, unsolicited grants, the time by which maps run
//! ahead beyond one interval, and several channels that are bonded.

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::VecDeque;

/// Number of collisions after which a frame is given up (section 7.2.1).
const MOST_TRIES: u32 = 16;
/// The largest exponent of a range.
const MOST_DOUBLINGS: u32 = 15;

/// A cable channel as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisConfig {
    pub settings: MediumSettings,
    /// The station that grants; the others are modems.
    pub cmts: Option<String>,
    pub down: BitRate,
    pub up: BitRate,
    pub framing: Framing,
    pub map_interval: Duration,
    pub request_slots: u32,
    pub request: Bytes,
    pub burst: Bytes,
    pub backoff_start: u32,
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
    const TEXT: &'static str = "A cable channel of a CMTS and its modems: requests that contend, and grants.";
    const KEYS: &'static [Key<DocsisConfig>] = &[
        key("name", |cable: &mut Self| &mut cable.settings.name, "Links join stations to it by this name.")
            .required("\"cable\""),
        key(
            "queue",
            |cable: &mut Self| &mut cable.settings.queue,
            "The queue of each modem, and of the CMTS for each.",
        )
        .default_text("50 packets"),
        key("cmts", |cable: &mut Self| &mut cable.cmts, "The station that grants; all others are modems.")
            .none_word("the first link's"),
        key("down", |cable: &mut Self| &mut cable.down, "What the CMTS sends at, to all modems together."),
        key("up", |cable: &mut Self| &mut cable.up, "What all modems together send at."),
        key("framing", |cable: &mut Self| &mut cable.framing, "Octets that a frame takes on the channel.")
            .default_text("24 octets of Ethernet and MAC header"),
        key("map_interval", |cable: &mut Self| &mut cable.map_interval, "For so long each map says who may send."),
        key("request_slots", |cable: &mut Self| &mut cable.request_slots, "Slots of a map in which modems may ask."),
        key("request", |cable: &mut Self| &mut cable.request, "Octets of such a slot."),
        key("burst", |cable: &mut Self| &mut cable.burst, "A modem asks for at most so much at once."),
        key(
            "backoff_start",
            |cable: &mut Self| &mut cable.backoff_start,
            "A modem first waits for fewer slots than two to this power.",
        ),
        key("backoff_end", |cable: &mut Self| &mut cable.backoff_end, "And never for more than two to this power."),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, rate) in [("down", self.down), ("up", self.up)] {
            if !(1000..=10_000_000_000_000).contains(&rate.as_bps()) {
                return Err(Fault::new(name, "a channel needs at least 1 kbit/s and at most 10 Tbit/s"));
            }
        }
        if self.request_slots == 0 {
            return Err(Fault::new("request_slots", "without a slot no modem could ever ask"));
        }
        if self.backoff_start > self.backoff_end || self.backoff_end > MOST_DOUBLINGS {
            let what = format!("the exponents are at most {MOST_DOUBLINGS}, and the first is no larger than the last");
            return Err(Fault::new("backoff_start", what));
        }
        if self.burst == Bytes::ZERO {
            return Err(Fault::new("burst", "a burst of zero would never let a frame go"));
        }
        if self.map_interval > Duration::from_secs(1) {
            return Err(Fault::new("map_interval", "a map is for at most 1 s"));
        }
        if self.map_interval <= self.asking() {
            return Err(Fault::new("map_interval", "the slots take longer at the rate `up` than an interval is"));
        }
        Ok(())
    }
}

impl DocsisConfig {
    /// Duration of a map's request slots.
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

/// The channel of one run.
#[derive(Debug)]
pub struct Docsis {
    config: DocsisConfig,
    rng: Rng,
    cmts: usize,
    /// The CMTS's frames for the modems, at most one each, and when the first has been sent.
    down: VecDeque<Frame>,
    down_until: Option<Time>,
    /// By station; the CMTS's place stays empty.
    modems: Vec<Modem>,
    /// The modem whose turn it is at the next map.
    turn: usize,
    /// The transmissions of this interval: whose, and when each ends.
    grants: VecDeque<(usize, Time)>,
    next_map: Option<Time>,
    /// An event that follows the one before at once.
    then: Option<(Time, MediumEvent)>,
    down_busy: Duration,
    up_busy: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    id: FrameId,
    wire: Bytes,
}

#[derive(Debug, Default)]
struct Modem {
    frames: VecDeque<Frame>,
    held: u64,
    /// Number of frames granted in this interval, and of further frames requested from the CMTS.
    granted: usize,
    asked: usize,
    /// While it contends: slots to wait, and collisions so far.
    wait: Option<u64>,
    tries: u32,
    frames_sent: u64,
    requests: u64,
    collisions: u64,
    given_up: u64,
}

impl Docsis {
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

    /// The CMTS begins to send the first of its frames.
    fn begin_down(&mut self, now: Time) {
        let took = self.down.front().map(|frame| self.config.down.time_to_send(frame.wire, 0).0);
        self.down_busy += took.unwrap_or(Duration::ZERO);
        self.down_until = took.map(|took| now + took);
    }

    fn on_down_sent(&mut self, now: Time) -> MediumEvent {
        let frame = self.down.pop_front().expect("it was sent");
        self.modems[self.cmts].frames_sent += 1;
        self.begin_down(now);
        self.delivered(frame, now)
    }

    fn on_up_sent(&mut self, number: usize, now: Time) -> MediumEvent {
        self.grants.pop_front();
        let modem = &mut self.modems[number];
        let frame = modem.frames.pop_front().expect("it was granted");
        modem.held -= frame.wire.get();
        modem.granted -= 1;
        modem.frames_sent += 1;
        if modem.granted == 0 && modem.asked < modem.frames.len() {
            // It requests with its last frame and need not contend.
            modem.asked = modem.frames.len();
            modem.wait = None;
        }
        self.delivered(frame, now)
    }

    fn delivered(&mut self, frame: Frame, now: Time) -> MediumEvent {
        self.then = Some((now, MediumEvent::Done(frame.id)));
        MediumEvent::Delivered(frame.id)
    }

    /// Begins an interval: grants earlier requests as far as they fit, and the other modems contend.
    fn on_map(&mut self, now: Time) -> MediumEvent {
        let over = now + self.config.map_interval;
        self.grant(now + self.config.asking(), over);
        let hopeless = self.contend();
        self.next_map = self.modems.iter().any(|modem| !modem.frames.is_empty()).then_some(over);
        match hopeless {
            Some(frame) => MediumEvent::Lost(frame.id, DropReason::RetriesExhausted),
            None => MediumEvent::Nothing,
        }
    }

    /// Who was heard sends from `from` on, or once the last interval's transmissions are over, and begins before
    /// `over`.
    fn grant(&mut self, from: Time, over: Time) {
        let count = self.modems.len();
        let mut at = self.grants.back().map_or(from, |(_, until)| from.max(*until));
        let mut passed_over = 0;
        while passed_over < count && at < over {
            let number = self.turn;
            self.turn = (self.turn + 1) % count;
            let modem = &mut self.modems[number];
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

    /// When a frame that begins at `at` has been sent. The part that does not fit before `over` follows after the slots
    /// of the next intervals.
    fn sent(&self, mut at: Time, mut took: Duration, mut over: Time) -> Time {
        while at + took > over {
            took = took - (over - at);
            at = over + self.config.asking();
            over += self.config.map_interval;
        }
        at + took
    }

    /// Runs the request slots of a map. Returns a frame that is given up.
    fn contend(&mut self) -> Option<Frame> {
        let slots = u64::from(self.config.request_slots);
        let mut asking: Vec<(u64, usize)> = Vec::new();
        for (number, modem) in self.modems.iter_mut().enumerate() {
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
            if asking.iter().filter(|(other, _)| *other == slot).count() == 1 {
                modem.asked = modem.frames.len();
                modem.tries = 0;
                continue;
            }
            modem.collisions += 1;
            modem.tries += 1;
            // One at a time: another that has failed as often is found so at the next map.
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
            if self.down_until.is_none() {
                self.begin_down(now);
            }
            return;
        }
        let modem = &mut self.modems[id.station];
        modem.frames.push_back(frame);
        modem.held += frame.wire.get();
        if self.next_map.is_none() {
            let interval = self.config.map_interval.as_nanos();
            self.next_map = Some(Time::from_nanos(now.as_nanos().div_ceil(interval) * interval));
        }
    }

    /// The CMTS offers one frame for each modem, a modem as many as it may request at once.
    fn takes(&self, station: usize, _receiver: usize, with_medium: usize) -> bool {
        if station == self.cmts { with_medium == 0 } else { self.modems[station].held < self.config.burst.get() }
    }

    fn queue_per_receiver(&self) -> bool {
        true
    }

    fn next_hop(&self, from: usize, to: usize) -> usize {
        if from == self.cmts { to } else { self.cmts }
    }

    fn next_event(&self) -> Option<Time> {
        // The most frequent call: a sentinel is cheaper than an option.
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

    /// Per station: frames sent; per modem also requests, collisions and frames given up. For the medium: busy time of
    /// each direction.
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
