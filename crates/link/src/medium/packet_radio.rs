//! Half-duplex packet radios with RTS, CTS and a stop-and-wait ARQ that can piggyback acknowledgements on data
//! (balakrishnan1999, sections 5.1 and 7.2.1, after Metricom's Ricochet).
//!
//! An exchange consists of an RTS, a CTS, one frame and its acknowledgement. Both radios change mode before each of
//! these transmissions, which takes the longer of the two turnarounds. With `piggyback`, a peer that has a frame for
//! the caller sends this frame instead of the acknowledgement.
//!
//! A peer that is in another exchange, or has sent an RTS itself, does not answer. The caller then waits for a random
//! time, whose range doubles with each failure.
//!
//! Stations form a chain in the order of their links. With `chain = false`, all stations reach each other directly.
//! With `overhear`, a radio neither calls nor answers while its neighbour is in an exchange (MACA's deferral).
//!
//! Not modelled: frequency hopping, capture, RTS frames that collide or are lost, and the answer NACK-CTS, which has
//! the effect of a missing CTS (section 5.1).

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::BTreeMap;

/// Maximum number of times that the backoff range is doubled.
const MOST_DOUBLINGS: u32 = 4;

/// Settings of packet radios.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRadioConfig {
    /// Name of the medium, and queue of each station.
    pub settings: MediumSettings,
    /// Rate of all transmissions.
    pub rate: BitRate,
    /// Overhead of a frame in addition to its IP packet.
    pub framing: Framing,
    /// Turnaround from transmitting to receiving.
    pub transmit_to_receive: Duration,
    /// Turnaround from receiving to transmitting.
    pub receive_to_transmit: Duration,
    /// Time from the last bit of a frame to the arrival of its packet.
    pub latency: Duration,
    /// Size of an RTS, a CTS and an acknowledgement, in bytes.
    pub control: Bytes,
    /// True if an acknowledgement can be piggybacked on a frame in the opposite direction.
    pub piggyback: bool,
    /// True if the stations form a chain; false if all stations reach each other directly.
    pub chain: bool,
    /// True if a radio stays silent while its neighbour is in an exchange.
    pub overhear: bool,
    /// Upper limit of the random wait after the first call without an answer.
    pub backoff: Duration,
    /// Probability that a frame is lost. Acknowledgements are lost with the same probability.
    pub loss: f64,
    /// Largest number of retransmissions of a frame.
    pub retries: u32,
}

impl Default for PacketRadioConfig {
    /// Rate, turnarounds and latency are from balakrishnan1999, table 4. The paper does not state the other values.
    fn default() -> PacketRadioConfig {
        PacketRadioConfig {
            settings: MediumSettings::default(),
            rate: BitRate::from_bps(100_000),
            framing: Framing::NONE,
            transmit_to_receive: Duration::from_micros(11_125),
            receive_to_transmit: Duration::from_micros(13_250),
            latency: Duration::from_millis(10),
            control: Bytes::new(20),
            piggyback: true,
            chain: true,
            overhear: false,
            backoff: Duration::from_millis(25),
            loss: 0.0,
            retries: 7,
        }
    }
}

impl Part for PacketRadioConfig {
    const NAME: &'static str = "packet_radio";
    const TEXT: &'static str = "Half-duplex radios over several hops, with RTS, CTS and stop-and-wait ARQ.";
    const KEYS: &'static [Key<PacketRadioConfig>] = &[
        key(
            "name",
            |radio: &mut Self| &mut radio.settings.name,
            "Name of the medium. Each node with a link to this name is a radio. The radios form a chain in the order of these links.",
        )
        .required("\"radio\""),
        key("queue", |radio: &mut Self| &mut radio.settings.queue, "Queue of each radio.").default_text("50 packets"),
        key("rate", |radio: &mut Self| &mut radio.rate, "Rate of all transmissions."),
        key("framing", |radio: &mut Self| &mut radio.framing, "Framing of packets on the medium.")
            .default_text("none"),
        key(
            "transmit_to_receive",
            |radio: &mut Self| &mut radio.transmit_to_receive,
            "Time that a radio needs to switch from sending to receiving.",
        ),
        key(
            "receive_to_transmit",
            |radio: &mut Self| &mut radio.receive_to_transmit,
            "Time that a radio needs to switch from receiving to sending.",
        ),
        key(
            "latency",
            |radio: &mut Self| &mut radio.latency,
            "Time from the last bit of a frame to the arrival of its packet.",
        ),
        key(
            "control",
            |radio: &mut Self| &mut radio.control,
            "Octets of an RTS, a CTS and a link-layer acknowledgement.",
        ),
        key(
            "piggyback",
            |radio: &mut Self| &mut radio.piggyback,
            "If true, a link-layer acknowledgement is sent inside a frame of the opposite direction, if such a frame is queued.",
        ),
        key(
            "chain",
            |radio: &mut Self| &mut radio.chain,
            "If true, radios forward packets along the chain. If false, each radio reaches all other radios directly.",
        ),
        key(
            "overhear",
            |radio: &mut Self| &mut radio.overhear,
            "If true, a radio does not send while a neighbour's exchange is in progress.",
        ),
        key(
            "backoff",
            |radio: &mut Self| &mut radio.backoff,
            "Longest random wait after an RTS without an answer. The longest wait doubles with each failure, up to 16 times this value.",
        ),
        key(
            "loss",
            |radio: &mut Self| &mut radio.loss,
            "Probability that a frame is lost, and probability that its acknowledgement is lost.",
        ),
        key("retries", |radio: &mut Self| &mut radio.retries, "Number of retransmissions before a frame is dropped."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000_000_000_000).contains(&self.rate.as_bps()) {
            return Err(Fault::new("rate", "a medium needs at least 1 bit/s and at most 10 Tbit/s"));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(Fault::new("loss", "a probability must be from 0 to 1"));
        }
        if self.backoff.is_zero() {
            return Err(Fault::new("backoff", "the backoff must be above zero, or two radios would collide forever"));
        }
        if self.latency > self.turnaround() {
            let what = "`latency` must be at most a turnaround, because a frame is acknowledged after its arrival";
            return Err(Fault::new("latency", what));
        }
        Ok(())
    }
}

impl PacketRadioConfig {
    /// Returns the longer of the two turnarounds, because both ends change mode at the same time.
    fn turnaround(&self) -> Duration {
        self.transmit_to_receive.max(self.receive_to_transmit)
    }
}

impl MediumKind for PacketRadioConfig {
    fn settings(&self) -> &MediumSettings {
        &self.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.check()?;
        Ok(Box::new(PacketRadio::new(self.clone(), stations.len(), rng)))
    }
}

/// The state of the radios in one run.
#[derive(Debug)]
pub struct PacketRadio {
    config: PacketRadioConfig,
    rng: Rng,
    radios: Vec<Radio>,
    /// Pending events by time, then by the order in which they were scheduled.
    due: BTreeMap<(Time, u64), Step>,
    /// Number of events scheduled so far.
    steps: u64,
}

/// One radio.
#[derive(Debug, Default)]
struct Radio {
    /// The frame that the radio sends next or is sending.
    frame: Option<Frame>,
    /// The peer of the radio's current exchange or call; `None` if the radio is idle.
    busy_with: Option<usize>,
    /// True if a call of the radio is scheduled.
    will_call: bool,
    /// Number of consecutive calls without an answer.
    failures: u32,
    frames_sent: u64,
    frames_lost: u64,
    acks_lost: u64,
    calls: u64,
    unanswered: u64,
    piggybacked: u64,
    given_up: u64,
    turnarounds: u64,
}

/// A frame and the state of its transmission.
#[derive(Debug)]
struct Frame {
    id: FrameId,
    to: usize,
    wire: Bytes,
    tries: u32,
    delivered: bool,
}

/// An event. `caller` is the radio that started the exchange.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The radio sends an RTS, if it is free at this time.
    Call { radio: usize },
    /// The last bit of the caller's RTS has been sent.
    Called { caller: usize },
    /// The caller has waited for a CTS without success.
    NoAnswer { caller: usize },
    /// The last bit of a frame has been sent. If `answer` is true, the peer sent the frame, which acknowledges the
    /// caller's frame.
    Sent { caller: usize, answer: bool },
    /// The packet of a radio's frame arrives at the peer.
    Arrived { radio: usize },
    /// The acknowledgement of a radio's frame arrives, or the wait for the acknowledgement ends.
    Acked { radio: usize, caller: usize, received: bool },
}

impl PacketRadio {
    /// Creates idle radios, one per station.
    pub fn new(config: PacketRadioConfig, stations: usize, rng: Rng) -> PacketRadio {
        let radios = (0..stations).map(|_| Radio::default()).collect();
        PacketRadio { config, rng, radios, due: BTreeMap::new(), steps: 0 }
    }

    /// Schedules an event.
    fn at(&mut self, time: Time, step: Step) {
        self.steps += 1;
        // Events at the same time keep the order in which they were scheduled.
        self.due.insert((time, self.steps), step);
    }

    /// Returns the air time of this many bytes.
    fn airtime(&self, octets: Bytes) -> Duration {
        self.config.rate.time_to_send(octets, 0).0
    }

    /// Counts a turnaround of the radio. Returns the duration of the turnaround plus a control frame.
    fn control(&mut self, radio: usize) -> Duration {
        self.radios[radio].turnarounds += 1;
        self.config.turnaround() + self.airtime(self.config.control)
    }

    /// True if the radio neither takes part in an exchange nor overhears one.
    fn is_free(&self, radio: usize) -> bool {
        let talks = |other: usize| self.radios[other].busy_with.is_some();
        let hears = self.config.overhear
            && [radio.checked_sub(1), radio.checked_add(1).filter(|next| *next < self.radios.len())]
                .into_iter()
                .flatten()
                .any(talks);
        !talks(radio) && !hears
    }

    /// Schedules the radio's next RTS if the radio has a frame. If `waits` is true, a random backoff precedes the RTS.
    fn plan(&mut self, radio: usize, now: Time, waits: bool) {
        let place = &mut self.radios[radio];
        if place.frame.is_none() || place.will_call {
            return;
        }
        place.will_call = true;
        let range = self.config.backoff * (1 << place.failures.min(MOST_DOUBLINGS));
        // The range doubles with each failed call, up to 2^`MOST_DOUBLINGS` times the first range.
        let wait = if waits { self.rng.below(range.as_nanos()) } else { 0 };
        self.at(now + Duration::from_nanos(wait), Step::Call { radio });
    }

    fn on_call(&mut self, radio: usize, now: Time) {
        self.radios[radio].will_call = false;
        let Some(peer) = self.radios[radio].frame.as_ref().map(|frame| frame.to) else { return };
        // Another radio may have called this radio in the meantime.
        if !self.is_free(radio) {
            // `on_acked` schedules the next calls of both ends of an exchange. A radio that only overhears an exchange
            // must schedule its next call itself.
            if self.radios[radio].busy_with.is_none() {
                self.plan(radio, now, true);
            }
            return;
        }
        self.radios[radio].busy_with = Some(peer);
        self.radios[radio].calls += 1;
        let until = now + self.control(radio);
        self.at(until, Step::Called { caller: radio });
    }

    fn on_called(&mut self, caller: usize, now: Time) {
        let peer = self.radios[caller].busy_with.expect("a caller has a peer");
        // Clear the caller's state first. Otherwise the peer would count as busy, because it overhears the caller's
        // RTS.
        self.radios[caller].busy_with = None;
        // A peer that is in an exchange, or that has sent an RTS itself, does not receive this RTS.
        let answers = self.is_free(peer);
        self.radios[caller].busy_with = Some(peer);
        let cts = now + self.control(peer);
        // The caller waits for the duration of a CTS before it counts a failure.
        if !answers {
            self.at(cts, Step::NoAnswer { caller });
            return;
        }
        self.radios[peer].busy_with = Some(caller);
        // An answer resets the exponential backoff.
        self.radios[caller].failures = 0;
        self.send(caller, caller, cts);
    }

    fn on_no_answer(&mut self, caller: usize, now: Time) {
        let radio = &mut self.radios[caller];
        radio.unanswered += 1;
        radio.failures += 1;
        radio.busy_with = None;
        self.plan(caller, now, true);
    }

    /// Sends the radio's frame after a turnaround. `caller` is the radio that started the exchange.
    fn send(&mut self, radio: usize, caller: usize, now: Time) {
        let place = &mut self.radios[radio];
        let frame = place.frame.as_mut().expect("the radio has a frame to send");
        frame.tries += 1;
        let wire = frame.wire;
        place.frames_sent += 1;
        place.turnarounds += 1;
        let until = now + self.config.turnaround() + self.airtime(wire);
        self.at(until, Step::Sent { caller, answer: radio != caller });
    }

    fn on_sent(&mut self, caller: usize, answer: bool, now: Time) -> MediumEvent {
        let peer = self.radios[caller].busy_with.expect("an exchange has two ends");
        let (from, to) = if answer { (peer, caller) } else { (caller, peer) };
        let arrives = !self.rng.chance(self.config.loss);
        self.radios[from].frames_lost += u64::from(!arrives);
        if arrives {
            self.at(now + self.config.latency, Step::Arrived { radio: from });
        }
        // Only a frame for this sender can carry a piggybacked acknowledgement.
        let back = self.radios[to].frame.as_ref().is_some_and(|frame| frame.to == from);
        if arrives && !answer && back && self.config.piggyback {
            self.radios[to].piggybacked += 1;
            self.send(to, caller, now);
        } else {
            let received = arrives && !self.rng.chance(self.config.loss);
            self.radios[from].acks_lost += u64::from(arrives && !received);
            // The exchange takes the same time if the acknowledgement is lost, because the sender waits for it.
            let until = now + self.control(to);
            self.at(until, Step::Acked { radio: from, caller, received });
        }
        // A piggybacked answer acknowledges the caller's frame.
        if answer { self.settle(caller, arrives) } else { MediumEvent::Nothing }
    }

    fn on_acked(&mut self, radio: usize, caller: usize, received: bool, now: Time) -> MediumEvent {
        let peer = self.radios[caller].busy_with.take().expect("an exchange has two ends");
        self.radios[peer].busy_with = None;
        let event = self.settle(radio, received);
        // Both ends send their next RTS without a backoff. If both have another frame, the two RTS fail.
        for end in [caller, peer] {
            self.plan(end, now, false);
        }
        event
    }

    /// Ends the radio's frame if it was acknowledged or has used up its retransmissions.
    fn settle(&mut self, radio: usize, acknowledged: bool) -> MediumEvent {
        let retries = self.config.retries;
        let place = &mut self.radios[radio];
        let over = place.frame.take_if(|frame| acknowledged || frame.tries > retries);
        place.given_up += u64::from(over.is_some() && !acknowledged);
        match over {
            None => MediumEvent::Nothing,
            Some(frame) if frame.delivered => MediumEvent::Done(frame.id),
            Some(frame) => MediumEvent::Lost(frame.id, DropReason::RetriesExhausted),
        }
    }

    fn on_arrived(&mut self, radio: usize) -> MediumEvent {
        match &mut self.radios[radio].frame {
            Some(frame) if !frame.delivered => {
                frame.delivered = true;
                MediumEvent::Delivered(frame.id)
            }
            _ => MediumEvent::Nothing,
        }
    }
}

impl Medium for PacketRadio {
    fn request(&mut self, id: FrameId, to: usize, size: Bytes, now: Time) {
        let station = id.station;
        let frame = Frame { id, to, wire: self.config.framing.wire_size(size), tries: 0, delivered: false };
        let earlier = self.radios[station].frame.replace(frame);
        assert!(earlier.is_none(), "a station has one frame at a time");
        // During an exchange, `on_acked` schedules the next call.
        if self.radios[station].busy_with.is_none() {
            self.plan(station, now, false);
        }
    }

    fn next_hop(&self, from: usize, to: usize) -> usize {
        match from.cmp(&to) {
            std::cmp::Ordering::Less if self.config.chain => from + 1,
            std::cmp::Ordering::Greater if self.config.chain => from - 1,
            _ => to,
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.due.first_key_value().map(|((time, _), _)| *time)
    }

    fn on_event(&mut self, now: Time) -> MediumEvent {
        let Some((_, step)) = self.due.pop_first() else { return MediumEvent::Nothing };
        match step {
            Step::Call { radio } => self.on_call(radio, now),
            Step::Called { caller } => self.on_called(caller, now),
            Step::NoAnswer { caller } => self.on_no_answer(caller, now),
            Step::Sent { caller, answer } => return self.on_sent(caller, answer, now),
            Step::Arrived { radio } => return self.on_arrived(radio),
            Step::Acked { radio, caller, received } => return self.on_acked(radio, caller, received, now),
        }
        MediumEvent::Nothing
    }

    /// Reports the counters of each radio.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64)) {
        for (number, radio) in self.radios.iter().enumerate() {
            out(Some(number), "frames_sent", radio.frames_sent as f64);
            out(Some(number), "frames_lost", radio.frames_lost as f64);
            out(Some(number), "acks_lost", radio.acks_lost as f64);
            out(Some(number), "acks_piggybacked", radio.piggybacked as f64);
            out(Some(number), "frames_given_up", radio.given_up as f64);
            out(Some(number), "calls", radio.calls as f64);
            out(Some(number), "calls_unanswered", radio.unanswered as f64);
            out(Some(number), "turnarounds", radio.turnarounds as f64);
        }
    }
}
