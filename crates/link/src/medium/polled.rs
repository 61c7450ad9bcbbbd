//! A half-duplex channel whose stations are polled in turn, with a stop-and-wait ARQ. Each cycle consists of a poll, a
//! frame and its acknowledgement.
//!
//! While any station has a frame, all stations are polled in turn, including idle stations. A poll takes a turnaround
//! and its transmission time. The acknowledgement of a frame follows after another turnaround. Frames and
//! acknowledgements are lost with the same probability. If the acknowledgement does not arrive, the station sends the
//! frame again at its next poll, at most `retries` times. The receiver delivers each frame only once.
//!
//! Not modelled: loss of polls, contention, and piggybacked acknowledgements.

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_queue::QueueConfig;
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a polled medium.
#[derive(Clone, Debug, PartialEq)]
pub struct PolledConfig {
    /// Name of the medium, and queue of each station.
    pub settings: MediumSettings,
    /// Rate of all transmissions.
    pub rate: BitRate,
    /// Overhead of a frame in addition to its IP packet.
    pub framing: Framing,
    /// Turnaround from receiving to transmitting, before each poll and each acknowledgement.
    pub turnaround: Duration,
    /// Size of a poll, in bytes.
    pub poll: Bytes,
    /// Size of an acknowledgement, in bytes.
    pub ack: Bytes,
    /// Probability that a frame is lost. Acknowledgements are lost with the same probability.
    pub loss: f64,
    /// Largest number of retransmissions of a frame.
    pub retries: u32,
}

impl Default for PolledConfig {
    fn default() -> PolledConfig {
        PolledConfig {
            settings: MediumSettings::default(),
            rate: BitRate::from_bps(1_000_000),
            framing: Framing::NONE,
            turnaround: Duration::from_micros(100),
            poll: Bytes::new(20),
            ack: Bytes::new(14),
            loss: 0.0,
            retries: 7,
        }
    }
}

impl Part for PolledConfig {
    const NAME: &'static str = "polled";
    const TEXT: &'static str = "A half-duplex channel whose stations are polled in turn, with stop-and-wait ARQ.";
    const KEYS: &'static [Key<PolledConfig>] = &[
        key(
            "name",
            |polled: &mut Self| &mut polled.settings.name,
            "Name of the medium. Each node with a link to this name is a station.",
        )
        .required("\"radio\""),
        key("queue", |polled: &mut Self| &mut polled.settings.queue, "Queue of each station.")
            .default_text("50 packets"),
        key("rate", |polled: &mut Self| &mut polled.rate, "Rate of all transmissions on the medium."),
        key("framing", |polled: &mut Self| &mut polled.framing, "Framing of packets on the medium.")
            .default_text("none"),
        key(
            "turnaround",
            |polled: &mut Self| &mut polled.turnaround,
            "Time to switch from receiving to sending, before each transmission.",
        ),
        key("poll", |polled: &mut Self| &mut polled.poll, "Octets of a poll."),
        key("ack", |polled: &mut Self| &mut polled.ack, "Octets of a link-layer acknowledgement."),
        key(
            "loss",
            |polled| &mut polled.loss,
            "Probability that a frame is lost, and probability that its acknowledgement is lost.",
        ),
        key("retries", |polled: &mut Self| &mut polled.retries, "Number of retransmissions before a frame is dropped."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000_000_000_000).contains(&self.rate.as_bps()) {
            return Err(Fault::new("rate", "a medium needs at least 1 bit/s and at most 10 Tbit/s"));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(Fault::new("loss", "a probability must be from 0 to 1"));
        }
        if self.turnaround.is_zero() && self.poll == Bytes::ZERO {
            return Err(Fault::new("turnaround", "polls must take time: set `turnaround` or `poll` above zero"));
        }
        Ok(())
    }
}

impl MediumKind for PolledConfig {
    fn settings(&self) -> &MediumSettings {
        &self.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.check()?;
        Ok(Box::new(Polled::new(self.clone(), stations.len(), rng)))
    }
}

/// The state of the medium in one run.
#[derive(Debug)]
pub struct Polled {
    config: PolledConfig,
    rng: Rng,
    stations: Vec<Station>,
    state: State,
    /// Number of polls of stations without a frame.
    idle_polls: u64,
    /// Total duration of transmissions and turnarounds.
    busy: Duration,
}

/// The transmission in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No station has a frame. The next poll goes to station `next`.
    Idle { next: usize },
    /// A poll of the station.
    Poll { station: usize, until: Time },
    /// A frame of the station.
    Frame { station: usize, until: Time },
    /// The acknowledgement of the station's frame, or a wait of the same length if there is no acknowledgement.
    Ack { station: usize, until: Time, frame_arrived: bool },
}

/// One station.
#[derive(Debug, Default)]
struct Station {
    frame: Option<Frame>,
    frames_sent: u64,
    frames_lost: u64,
    acks_lost: u64,
    given_up: u64,
}

/// A frame and the state of its transmission.
#[derive(Debug)]
struct Frame {
    id: FrameId,
    wire: Bytes,
    tries: u32,
    delivered: bool,
}

impl Polled {
    /// Creates an idle medium for this number of stations.
    pub fn new(config: PolledConfig, stations: usize, rng: Rng) -> Polled {
        let stations = (0..stations).map(|_| Station::default()).collect();
        Polled { config, rng, stations, state: State::Idle { next: 0 }, idle_polls: 0, busy: Duration::ZERO }
    }

    /// Returns the end of a turnaround that starts at `now` and the transmission that follows. Adds their duration to
    /// the busy time.
    fn after(&mut self, now: Time, turnaround: Duration, octets: Bytes) -> Time {
        let took = turnaround + self.config.rate.time_to_send(octets, 0).0;
        self.busy += took;
        now + took
    }

    /// Polls the station, or stops polling if no station has a frame.
    fn poll(&mut self, station: usize, now: Time) {
        let station = station % self.stations.len();
        // Polling pauses while no station has a frame, so an idle medium has no events.
        self.state = if self.stations.iter().any(|station| station.frame.is_some()) {
            State::Poll { station, until: self.after(now, self.config.turnaround, self.config.poll) }
        } else {
            State::Idle { next: station }
        };
    }

    fn on_polled(&mut self, station: usize, now: Time) {
        let Some(frame) = &mut self.stations[station].frame else {
            self.idle_polls += 1;
            return self.poll(station + 1, now);
        };
        frame.tries += 1;
        let wire = frame.wire;
        self.stations[station].frames_sent += 1;
        self.state = State::Frame { station, until: self.after(now, Duration::ZERO, wire) };
    }

    fn on_frame_sent(&mut self, station: usize, now: Time) -> MediumEvent {
        let arrived = !self.rng.chance(self.config.loss);
        // The station waits for the duration of an acknowledgement even if the frame is lost and there is no
        // acknowledgement.
        let until = self.after(now, self.config.turnaround, self.config.ack);
        self.state = State::Ack { station, until, frame_arrived: arrived };
        let place = &mut self.stations[station];
        place.frames_lost += u64::from(!arrived);
        match &mut place.frame {
            // A retransmission of a delivered frame is recognized by its number and dropped.
            Some(frame) if arrived && !frame.delivered => {
                frame.delivered = true;
                MediumEvent::Delivered(frame.id)
            }
            _ => MediumEvent::Nothing,
        }
    }

    fn on_ack_due(&mut self, station: usize, frame_arrived: bool, now: Time) -> MediumEvent {
        // The receiver acknowledges only a frame that arrived, and this acknowledgement may be lost.
        let acknowledged = frame_arrived && !self.rng.chance(self.config.loss);
        let retries = self.config.retries;
        let place = &mut self.stations[station];
        place.acks_lost += u64::from(frame_arrived && !acknowledged);
        // The first attempt is not a retransmission, so a frame has `retries + 1` attempts.
        let over = place.frame.take_if(|frame| acknowledged || frame.tries > retries);
        place.given_up += u64::from(over.is_some() && !acknowledged);
        self.poll(station + 1, now);
        match over {
            None => MediumEvent::Nothing,
            Some(frame) if frame.delivered => MediumEvent::Done(frame.id),
            Some(frame) => MediumEvent::Lost(frame.id, DropReason::RetriesExhausted),
        }
    }
}

impl Medium for Polled {
    fn request(&mut self, id: FrameId, _to: usize, size: Bytes, now: Time) {
        let frame = Frame { id, wire: self.config.framing.wire_size(size), tries: 0, delivered: false };
        let earlier = self.stations[id.station].frame.replace(frame);
        assert!(earlier.is_none(), "a station has one frame at a time");
        // Polling resumes with the station that would have been polled next, so that pauses favour no station.
        if let State::Idle { next } = self.state {
            self.poll(next, now);
        }
    }

    fn next_event(&self) -> Option<Time> {
        match self.state {
            State::Idle { .. } => None,
            State::Poll { until, .. } | State::Frame { until, .. } | State::Ack { until, .. } => Some(until),
        }
    }

    fn on_event(&mut self, now: Time) -> MediumEvent {
        match self.state {
            State::Idle { .. } => MediumEvent::Nothing,
            State::Poll { station, .. } => {
                self.on_polled(station, now);
                MediumEvent::Nothing
            }
            State::Frame { station, .. } => self.on_frame_sent(station, now),
            State::Ack { station, frame_arrived, .. } => self.on_ack_due(station, frame_arrived, now),
        }
    }

    /// Reports the counters of the stations and of the medium: polls of idle stations, and busy time in seconds.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64)) {
        for (number, station) in self.stations.iter().enumerate() {
            out(Some(number), "frames_sent", station.frames_sent as f64);
            out(Some(number), "frames_lost", station.frames_lost as f64);
            out(Some(number), "acks_lost", station.acks_lost as f64);
            out(Some(number), "frames_given_up", station.given_up as f64);
        }
        out(None, "idle_polls", self.idle_polls as f64);
        out(None, "busy_s", self.busy.as_secs_f64());
    }
}

impl From<QueueConfig> for MediumSettings {
    fn from(queue: QueueConfig) -> MediumSettings {
        MediumSettings { queue, ..MediumSettings::default() }
    }
}
