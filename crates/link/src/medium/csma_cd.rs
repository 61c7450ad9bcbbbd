//! A shared Ethernet: CSMA/CD with truncated binary exponential backoff (IEEE 802.3, clause 4).
//!
//! A station sends when the cable has been free for the interframe gap. Frames that start within `reach` of each other
//! collide. The stations then send a jam and wait for a random number of slots. The range of this number doubles with
//! each collision, up to 1,024 slots. After 16 collisions, the station drops the frame.
//!
//! Not modelled: stations at different distances, late collisions, carrier extension, and BLAM, the remedy for the
//! capture effect.

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use crate::Framing;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// `attemptLimit` (IEEE 802.3, clause 4.4.2): number of collisions after which a frame is dropped.
const MOST_TRIES: u32 = 16;
/// `backoffLimit` (IEEE 802.3, clause 4.4.2): the range of the backoff stops doubling after this many collisions.
const MOST_DOUBLINGS: u32 = 10;
/// Duration of the interframe gap in bit times.
const GAP: u64 = 96;
/// Duration of a slot in bit times.
const SLOT: u64 = 512;
/// Time in bit times for which a collision occupies the cable: preamble and jam.
const COLLISION: u64 = 64 + 32;

/// Settings of a shared Ethernet.
#[derive(Clone, Debug, PartialEq)]
pub struct CsmaCdConfig {
    /// Name of the medium, and queue of each station.
    pub settings: MediumSettings,
    /// Rate of the cable.
    pub rate: BitRate,
    /// Overhead of a frame on the cable in addition to its IP packet, without the interframe gap.
    pub framing: Framing,
    /// Propagation time from one end of the cable to the other.
    pub reach: Duration,
}

impl Default for CsmaCdConfig {
    fn default() -> CsmaCdConfig {
        CsmaCdConfig {
            settings: MediumSettings::default(),
            rate: BitRate::from_bps(10_000_000),
            framing: SHARED_ETHERNET,
            reach: Duration::from_micros(5),
        }
    }
}

/// Overhead of a frame on the cable: preamble, header, padding and check sequence. The medium adds the interframe gap.
const SHARED_ETHERNET: Framing = Framing { overhead: Bytes::new(26), minimum: Bytes::new(72), ..Framing::NONE };

impl Part for CsmaCdConfig {
    const NAME: &'static str = "csma_cd";
    const TEXT: &'static str =
        "A shared Ethernet: a station sends if the cable is free, and waits for a random time after a collision.";
    const KEYS: &'static [Key<CsmaCdConfig>] = &[
        key(
            "name",
            |cable: &mut Self| &mut cable.settings.name,
            "Name of the cable. Each node with a link to this name is a station.",
        )
        .required("\"lan\""),
        key("queue", |cable: &mut Self| &mut cable.settings.queue, "Queue of each station.").default_text("50 packets"),
        key("rate", |cable: &mut Self| &mut cable.rate, "Rate of the cable. The slot time is 512 bits."),
        key("framing", |cable: &mut Self| &mut cable.framing, "Framing of packets on the cable.")
            .default_text("Ethernet: preamble, header, check sequence and padding"),
        key(
            "reach",
            |cable: &mut Self| &mut cable.reach,
            "Propagation time from one end of the cable to the other. Two stations that begin to send within this \
             time of each other collide.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000_000_000_000).contains(&self.rate.as_bps()) {
            return Err(Fault::new("rate", "a medium needs at least 1 bit/s and at most 10 Tbit/s"));
        }
        let slot = self.bits(SLOT);
        // IEEE 802.3: a station must detect a collision before its frame ends. Detection takes up to one round trip.
        if self.reach * 2 > slot {
            return Err(Fault::new("reach", "`reach` must be at most half of a slot, which is 512 bit times"));
        }
        Ok(())
    }
}

impl CsmaCdConfig {
    fn bits(&self, bits: u64) -> Duration {
        self.rate.time_to_send(Bytes::new(bits / 8), 0).0
    }
}

impl MediumKind for CsmaCdConfig {
    fn settings(&self) -> &MediumSettings {
        &self.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.check()?;
        Ok(Box::new(CsmaCd::new(self.clone(), stations.len(), rng)))
    }
}

/// The state of the cable and its stations in one run.
#[derive(Debug)]
pub struct CsmaCd {
    config: CsmaCdConfig,
    rng: Rng,
    stations: Vec<Station>,
    cable: Cable,
}

/// The transmission on the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cable {
    /// No transmission. The gap after the last frame ends at `since`.
    Free { since: Time },
    /// The start of a frame at `at`. Other stations cannot sense the frame yet and may still start.
    Begun { station: usize, at: Time },
    /// One station sends a frame, and all other stations sense the frame.
    Frame { station: usize, until: Time },
    /// Stations send the jam signal after a collision.
    Jam { until: Time },
    /// No transmission. A frame has just ended, and the station that sent it must be notified.
    Sent { station: usize, at: Time },
}

/// One station on the cable.
#[derive(Debug, Default)]
struct Station {
    /// The current frame, and its size on the cable.
    frame: Option<(FrameId, Bytes)>,
    /// End of the station's backoff.
    ready: Time,
    /// Number of collisions of the current frame.
    tries: u32,
    frames_sent: u64,
    collisions: u64,
    given_up: u64,
}

impl CsmaCd {
    /// Creates a free cable with this number of stations.
    pub fn new(config: CsmaCdConfig, stations: usize, rng: Rng) -> CsmaCd {
        let stations = (0..stations).map(|_| Station::default()).collect();
        CsmaCd { config, rng, stations, cable: Cable::Free { since: Time::ZERO } }
    }

    /// Returns the start time and the number of the station that sends next, if the cable stays free from `since` on.
    fn first(&self, since: Time) -> Option<(Time, usize)> {
        let waiting = self.stations.iter().enumerate().filter(|(_, station)| station.frame.is_some());
        waiting.map(|(number, station)| (station.ready.max(since), number)).min()
    }

    /// Called when a frame has reached all stations. `station` started to send this frame at `at`.
    fn on_reached(&mut self, station: usize, at: Time, now: Time) -> MediumEvent {
        let reach = self.config.reach;
        let mut involved = Vec::new();
        // Another station collides if it became ready to send before the frame reached that station.
        for (number, other) in self.stations.iter().enumerate() {
            if number == station || (other.frame.is_some() && other.ready <= at + reach) {
                involved.push(number);
            }
        }
        if involved.len() == 1 {
            let (_, wire) = self.stations[station].frame.expect("the station has started a frame");
            // A short frame may end before it has reached all stations.
            let until = (at + self.config.rate.time_to_send(wire, 0).0).max(now);
            self.cable = Cable::Frame { station, until };
            return MediumEvent::Nothing;
        }
        let until = now + self.config.bits(COLLISION);
        // All involved stations detect the collision and send a jam.
        self.cable = Cable::Jam { until };
        for number in involved {
            // Truncated binary exponential backoff: 0 to 2^k - 1 slots after the k-th collision, k at most 10.
            let range = 1 << (self.stations[number].tries + 1).min(MOST_DOUBLINGS);
            let slots = self.rng.below(range);
            let station = &mut self.stations[number];
            station.tries += 1;
            station.collisions += 1;
            station.ready = until + self.config.bits(SLOT) * slots;
        }
        MediumEvent::Nothing
    }

    /// Handles the end of a jam. Each call drops one frame that had too many collisions. If there is no such frame, the
    /// cable becomes free.
    fn on_jammed(&mut self, until: Time) -> MediumEvent {
        // An event can report only one frame, so each call drops at most one frame.
        let hopeless = self.stations.iter().position(|station| station.tries >= MOST_TRIES);
        if let Some(number) = hopeless {
            let station = &mut self.stations[number];
            let (frame, _) = station.frame.take().expect("a station with collisions has a frame");
            station.tries = 0;
            station.given_up += 1;
            return MediumEvent::Lost(frame, DropReason::RetriesExhausted);
        }
        self.cable = Cable::Free { since: until + self.config.bits(GAP) };
        MediumEvent::Nothing
    }
}

impl Medium for CsmaCd {
    fn request(&mut self, id: FrameId, _to: usize, size: Bytes, now: Time) {
        let place = &mut self.stations[id.station];
        let earlier = place.frame.replace((id, self.config.framing.wire_size(size)));
        assert!(earlier.is_none(), "a station has one frame at a time");
        // A new frame starts without a backoff and with the smallest range.
        (place.ready, place.tries) = (now, 0);
    }

    fn next_event(&self) -> Option<Time> {
        match self.cable {
            Cable::Free { since } => self.first(since).map(|(at, _)| at),
            Cable::Begun { at, .. } => Some(at + self.config.reach),
            Cable::Frame { until, .. } | Cable::Jam { until } => Some(until),
            Cable::Sent { at, .. } => Some(at),
        }
    }

    fn on_event(&mut self, now: Time) -> MediumEvent {
        match self.cable {
            Cable::Free { since } => {
                if let Some((at, station)) = self.first(since) {
                    self.cable = Cable::Begun { station, at };
                }
                MediumEvent::Nothing
            }
            Cable::Begun { station, at } => self.on_reached(station, at, now),
            Cable::Jam { until } => self.on_jammed(until),
            Cable::Frame { station, until } => {
                // There are no acknowledgements: a frame that was sent without a collision has arrived.
                self.stations[station].frames_sent += 1;
                self.cable = Cable::Sent { station, at: until };
                MediumEvent::Delivered(self.stations[station].frame.expect("a station sends its frame").0)
            }
            Cable::Sent { station, at } => {
                let (frame, _) = self.stations[station].frame.take().expect("the sent frame has not ended");
                self.cable = Cable::Free { since: at + self.config.bits(GAP) };
                MediumEvent::Done(frame)
            }
        }
    }

    /// Reports the counters of each station: sent frames, collisions and dropped frames.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64)) {
        for (number, station) in self.stations.iter().enumerate() {
            out(Some(number), "frames_sent", station.frames_sent as f64);
            out(Some(number), "collisions", station.collisions as f64);
            out(Some(number), "frames_given_up", station.given_up as f64);
        }
    }
}
