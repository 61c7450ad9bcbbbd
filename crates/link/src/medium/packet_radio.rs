//! Packet radios that call each other: half duplex, RTS and CTS, stop-and-wait ARQ whose acknowledgements may ride on
//! data (balakrishnan1999 sections 5.1 and 7.2.1, after Metricom's Ricochet).
//!
//! A radio listens. To send, it turns around and sends an RTS; a free peer turns around and answers with a CTS; the
//! radio turns around again and sends one frame, and the peer acknowledges it. Each of the four waits for the slower of
//! the two turnarounds. With `piggyback`, a peer that has a frame for the caller sends it instead of the
//! acknowledgement. A peer that talks to another radio, or is about to call, does not answer: the caller waits for the
//! CTS in vain, backs off randomly from a range that doubles with each failure, and calls again. Two radios that call
//! each other at the same time hear neither, and so do the ends of an exchange that both have more to send.
//!
//! Stations form a chain in the order of their links, and packets hop along it through the queues of the relaying
//! radios; `chain = false` lets all reach each other. With `overhear`, a radio next to a talking one neither calls nor
//! answers (MACA's deferral).
//!
//! Not modelled: frequency hopping, RTS that collide or get lost, the answer "busy" (NACK-CTS), capture.

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::BTreeMap;

/// The most doublings of the backoff range.
const MOST_DOUBLINGS: u32 = 4;

/// Packet radios as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRadioConfig {
    pub settings: MediumSettings,
    pub rate: BitRate,
    pub framing: Framing,
    pub transmit_to_receive: Duration,
    pub receive_to_transmit: Duration,
    pub latency: Duration,
    pub control: Bytes,
    pub piggyback: bool,
    pub chain: bool,
    pub overhear: bool,
    pub backoff: Duration,
    pub loss: f64,
    pub retries: u32,
}

impl Default for PacketRadioConfig {
    /// Rate, turnarounds and latency of balakrishnan1999 (table 4), which gives neither the size of control frames nor
    /// the backoff.
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
    const TEXT: &'static str =
        "Half-duplex radios that call each other by RTS and CTS, over several hops, with stop-and-wait ARQ.";
    const KEYS: &'static [Key<PacketRadioConfig>] = &[
        key(
            "name",
            |radio: &mut Self| &mut radio.settings.name,
            "Links join radios to it by this name, in the order of the chain.",
        )
        .required("\"radio\""),
        key("queue", |radio: &mut Self| &mut radio.settings.queue, "The queue of each radio.")
            .default_text("50 packets"),
        key("rate", |radio: &mut Self| &mut radio.rate, "Of all that is sent."),
        key("framing", |radio: &mut Self| &mut radio.framing, "Octets that a frame takes.").default_text("none"),
        key(
            "transmit_to_receive",
            |radio: &mut Self| &mut radio.transmit_to_receive,
            "How long a radio takes to hear after it has sent.",
        ),
        key(
            "receive_to_transmit",
            |radio: &mut Self| &mut radio.receive_to_transmit,
            "How long a radio takes to send after it has heard.",
        ),
        key(
            "latency",
            |radio: &mut Self| &mut radio.latency,
            "From the last bit of a frame until the packet is there.",
        ),
        key(
            "control",
            |radio: &mut Self| &mut radio.control,
            "Octets of an RTS, a CTS and an acknowledgement of the link.",
        ),
        key(
            "piggyback",
            |radio: &mut Self| &mut radio.piggyback,
            "The acknowledgement rides on a frame the other way where there is one.",
        ),
        key(
            "chain",
            |radio: &mut Self| &mut radio.chain,
            "Packets hop along the chain of stations; otherwise all reach each other.",
        ),
        key("overhear", |radio: &mut Self| &mut radio.overhear, "A radio next to one that talks keeps silent."),
        key(
            "backoff",
            |radio: &mut Self| &mut radio.backoff,
            "The range of the random wait after a call without an answer; it doubles with each failure, up to 16 times.",
        ),
        key(
            "loss",
            |radio: &mut Self| &mut radio.loss,
            "The probability to lose a frame, and to lose its acknowledgement.",
        ),
        key("retries", |radio: &mut Self| &mut radio.retries, "How often a frame is sent again before it is given up."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000_000_000_000).contains(&self.rate.as_bps()) {
            return Err(Fault::new("rate", "a medium needs at least 1 bit/s and at most 10 Tbit/s"));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(Fault::new("loss", "a probability must be from 0 to 1"));
        }
        if self.backoff.is_zero() {
            return Err(Fault::new("backoff", "radios that wait equally long call at the same time for ever"));
        }
        if self.latency > self.turnaround() {
            return Err(Fault::new(
                "latency",
                "a packet must be there when its frame is acknowledged: at most a turnaround",
            ));
        }
        Ok(())
    }
}

impl PacketRadioConfig {
    /// Both ends turn round at once.
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

/// The radios of one run.
#[derive(Debug)]
pub struct PacketRadio {
    config: PacketRadioConfig,
    rng: Rng,
    radios: Vec<Radio>,
    /// Events by time; the number keeps the order of events at one time.
    due: BTreeMap<(Time, u64), Step>,
    steps: u64,
}

#[derive(Debug, Default)]
struct Radio {
    frame: Option<Frame>,
    /// The other end of the exchange that the radio is in, or of the call that it makes.
    busy_with: Option<usize>,
    /// A call is due.
    will_call: bool,
    /// Number of calls in a row without an answer.
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

#[derive(Debug)]
struct Frame {
    id: FrameId,
    to: usize,
    wire: Bytes,
    tries: u32,
    delivered: bool,
}

/// An event. `caller` began the exchange.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A radio calls, if it is free by then.
    Call { radio: usize },
    /// The last bit of an RTS.
    Called { caller: usize },
    /// No CTS arrived.
    NoAnswer { caller: usize },
    /// The last bit of a frame. `answer`: it carries the acknowledgement of the caller's.
    Sent { caller: usize, answer: bool },
    /// The packet of a radio's frame is there.
    Arrived { radio: usize },
    /// The acknowledgement of a radio's frame is there, or should be.
    Acked { radio: usize, caller: usize, received: bool },
}

impl PacketRadio {
    pub fn new(config: PacketRadioConfig, stations: usize, rng: Rng) -> PacketRadio {
        let radios = (0..stations).map(|_| Radio::default()).collect();
        PacketRadio { config, rng, radios, due: BTreeMap::new(), steps: 0 }
    }

    fn at(&mut self, time: Time, step: Step) {
        self.steps += 1;
        self.due.insert((time, self.steps), step);
    }

    fn airtime(&self, octets: Bytes) -> Duration {
        self.config.rate.time_to_send(octets, 0).0
    }

    /// A turnaround and a control frame.
    fn control(&mut self, radio: usize) -> Duration {
        self.radios[radio].turnarounds += 1;
        self.config.turnaround() + self.airtime(self.config.control)
    }

    fn is_free(&self, radio: usize) -> bool {
        let talks = |other: usize| self.radios[other].busy_with.is_some();
        let hears = self.config.overhear
            && [radio.checked_sub(1), radio.checked_add(1).filter(|next| *next < self.radios.len())]
                .into_iter()
                .flatten()
                .any(talks);
        !talks(radio) && !hears
    }

    /// Plans a radio's next call, if it has a frame and no call is planned.
    fn plan(&mut self, radio: usize, now: Time, waits: bool) {
        let place = &mut self.radios[radio];
        if place.frame.is_none() || place.will_call {
            return;
        }
        place.will_call = true;
        let range = self.config.backoff * (1 << place.failures.min(MOST_DOUBLINGS));
        let wait = if waits { self.rng.below(range.as_nanos()) } else { 0 };
        self.at(now + Duration::from_nanos(wait), Step::Call { radio });
    }

    fn on_call(&mut self, radio: usize, now: Time) {
        self.radios[radio].will_call = false;
        let Some(peer) = self.radios[radio].frame.as_ref().map(|frame| frame.to) else { return };
        if !self.is_free(radio) {
            // An exchange plans the next calls of its ends; a radio that only overhears waits for its end.
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
        let peer = self.radios[caller].busy_with.expect("it calls a peer");
        // The caller's own transmission does not silence its peer.
        self.radios[caller].busy_with = None;
        let answers = self.is_free(peer);
        self.radios[caller].busy_with = Some(peer);
        let cts = now + self.control(peer);
        if !answers {
            self.at(cts, Step::NoAnswer { caller });
            return;
        }
        self.radios[peer].busy_with = Some(caller);
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

    /// A radio turns round and sends its frame, in the exchange that `caller` began.
    fn send(&mut self, radio: usize, caller: usize, now: Time) {
        let place = &mut self.radios[radio];
        let frame = place.frame.as_mut().expect("it has a frame to send");
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
        let back = self.radios[to].frame.as_ref().is_some_and(|frame| frame.to == from);
        if arrives && !answer && back && self.config.piggyback {
            self.radios[to].piggybacked += 1;
            self.send(to, caller, now);
        } else {
            let received = arrives && !self.rng.chance(self.config.loss);
            self.radios[from].acks_lost += u64::from(arrives && !received);
            let until = now + self.control(to);
            self.at(until, Step::Acked { radio: from, caller, received });
        }
        // A frame sent instead of the acknowledgement is one.
        if answer { self.settle(caller, arrives) } else { MediumEvent::Nothing }
    }

    fn on_acked(&mut self, radio: usize, caller: usize, received: bool, now: Time) -> MediumEvent {
        let peer = self.radios[caller].busy_with.take().expect("an exchange has two ends");
        self.radios[peer].busy_with = None;
        let event = self.settle(radio, received);
        for end in [caller, peer] {
            self.plan(end, now, false);
        }
        event
    }

    /// Ends a radio's frame if it was acknowledged or tried too often.
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

    /// Per radio: frames sent, lost and given up, acknowledgements lost and sent on frames, calls, unanswered calls,
    /// turnarounds.
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
