//! Wi-Fi: stations that contend for one channel and send aggregates of frames (IEEE 802.11-2020).
//!
//! A station waits until the channel has been free for AIFS (DIFS without QoS), and then for a random number of free
//! slots (clause 10). Frames that start in the same slot collide, and all stations wait EIFS. The contention window
//! doubles with each failure. With `rts_threshold`, an RTS and a CTS precede each long PPDU, and only the RTS can
//! collide.
//!
//! A station sends frames (MPDUs) to one receiver in an A-MPDU. The receiver answers with a block acknowledgement, and
//! the sender retransmits missing MPDUs first. At most `window` MPDUs may be in flight, counted from the oldest
//! unacknowledged MPDU. A loss early in an aggregate therefore shortens the next aggregate. The receiver delivers
//! packets in order, and waits for a missing packet until the sender drops the packet.
//!
//! The first station is the access point. It has one queue per station, and sends one aggregate from each queue in
//! turn, as Linux's mac80211 does (4.10 and later).
//!
//! The standard leaves some choices open. In this model:
//!
//! - After a collision, all stations wait for the same time.
//! - Noise affects only the receiver. All other stations wait for the acknowledgement.
//! - The receiver answers an aggregate of one MPDU with an ACK.
//!
//! Not modelled: rate control, other access categories, TXOP bursts, hidden stations, capture, beacons, power saving,
//! MU-MIMO, OFDMA, airtime fairness, 2.4 GHz signals. A block-ACK request takes no time.

mod config;
mod outbox;
mod phy;
mod station;

pub use config::{WifiConfig, WifiStation};
pub use phy::Standard;

use super::{FrameId, Medium, MediumEvent, MediumKind, MediumSettings};
use lopsided_core::{Bytes, DropReason, Duration, Rng, Time};
use lopsided_spec::{Fault, Part};
use outbox::{Limits, Outbox};
use phy::Rate;
use station::{Backoff, Counts, Peer, Station};
use std::collections::VecDeque;

impl MediumKind for WifiConfig {
    fn settings(&self) -> &MediumSettings {
        &self.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.check()?;
        let mut config = self.clone();
        // `complete` has already converted the modulation settings of a scenario file. Settings that were created in
        // code are converted here.
        let said = self.mcs.is_some() || self.width_mhz.is_some() || self.streams.is_some() || self.guard.is_some();
        let Rate { rate, symbol, preamble } = config.settle_modulation()?;
        if said {
            config = WifiConfig { rate, symbol, preamble, ..config };
        }
        Ok(Box::new(Wifi::new(config, stations, rng)?))
    }
}

/// The state of the channel in one run.
#[derive(Debug)]
pub struct Wifi {
    config: WifiConfig,
    rng: Rng,
    stations: Vec<Station>,
    channel: Channel,
    /// The transmissions on the air or about to start. Two or more transmissions collide.
    senders: Vec<Sender>,
    /// Events that `on_event` has not returned yet.
    told: VecDeque<MediumEvent>,
    /// Time of the events in `told`.
    told_at: Time,
    collisions: u64,
    busy: Duration,
}

/// The transmission on the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    /// No transmission since this time.
    Free { since: Time },
    /// No transmission. A backoff has expired, and the senders fill their aggregates.
    Filling { at: Time },
    /// Data of one sender, or several PPDUs that collide. `until` is the end of the longest PPDU.
    Data { until: Time },
    /// The acknowledgement, or the time that is reserved for it.
    Ack { until: Time, received: bool },
}

/// A transmission of one station.
#[derive(Clone, Copy, Debug)]
struct Sender {
    station: usize,
    receiver: usize,
    /// Size on the air of the longest aggregate among the station's aggregation queues, in bytes.
    octets: Bytes,
    mpdus: usize,
    /// True if RTS and CTS precede the data.
    announced: bool,
}

impl Wifi {
    /// Creates a channel for stations with these names. The first one is the access point.
    ///
    /// # Errors
    ///
    /// Returns an error if `config.stations` contains a name that is not in `names`.
    pub fn new(config: WifiConfig, names: &[String], rng: Rng) -> Result<Wifi, Fault> {
        for station in &config.stations {
            if !names.contains(&station.name) {
                let message = format!("no link joins a station `{}` to the channel", station.name);
                return Err(Fault::new("stations", message).help(format!("there are {}", names.join(", "))));
            }
        }
        let mut stations = Vec::new();
        for name in names {
            let own = config.stations.iter().find(|station| station.name == *name).cloned().unwrap_or_default();
            stations.push(Station {
                peers: names.iter().map(|_| None).collect(),
                latest: 0,
                backoff: Backoff::Over,
                failures: 0,
                rate: config.rate_of(&own),
                own,
                counts: Counts::default(),
            });
        }
        Ok(Wifi {
            config,
            rng,
            stations,
            channel: Channel::Free { since: Time::ZERO },
            senders: Vec::new(),
            told: VecDeque::new(),
            told_at: Time::ZERO,
            collisions: 0,
            busy: Duration::ZERO,
        })
    }

    /// Returns the station whose settings apply to frames from `from` to `to`. This is the station that is not the
    /// access point.
    fn client(&self, from: usize, to: usize) -> &Station {
        &self.stations[if self.config.access_point && to == 0 { from } else { to }]
    }

    /// True if the transmission is acknowledged.
    fn acknowledges(&self, sender: &Sender) -> bool {
        // A setting of the receiver overrides the setting of the channel.
        self.stations[sender.receiver].own.acknowledge.unwrap_or(self.config.acknowledge)
    }

    /// True if the receiver has a reordering buffer, and therefore delivers packets in order.
    fn reorders(&self, receiver: usize) -> bool {
        self.stations[receiver].own.reorder.unwrap_or(self.config.reorder)
    }

    /// Returns the limits of an aggregate from one station to another.
    fn limits(&self, from: usize, to: usize) -> Limits {
        let (config, rate) = (&self.config, self.client(from, to).rate);
        let data_nanos = u128::from(config.ppdu_time.saturating_sub(rate.preamble).as_nanos());
        // Each aggregation queue gets an equal share of the bytes that the longest PPDU can carry.
        let most = u128::from(rate.rate.as_bps()) * data_nanos / 8_000_000_000 / u128::from(config.aggregation_queues);
        Limits {
            header: config.header,
            amsdu: config.amsdu,
            frames: config.ampdu,
            size: config.ampdu_size.min(Bytes::new(u64::try_from(most).unwrap_or(u64::MAX))),
            window: config.window,
        }
    }

    /// Returns the arbitration interframe space: SIFS and `aifsn` slots.
    fn aifs(&self) -> Duration {
        self.config.sifs + self.config.slot * u64::from(self.config.aifsn)
    }

    /// Returns the time at which a station starts to send if the channel stays free from `since` on.
    fn begins(&self, station: &Station, since: Time) -> Option<Time> {
        if station.is_idle() {
            return None;
        }
        match station.backoff {
            Backoff::Over => None,
            Backoff::Slots(slots) => Some(since + self.aifs() + self.config.slot * slots),
            Backoff::None { at } => Some(at),
        }
    }

    /// Returns the earliest time at which any station starts to send.
    fn next_begin(&self, since: Time) -> Option<Time> {
        self.stations.iter().filter_map(|station| self.begins(station, since)).min()
    }

    /// Draws a station's backoff (IEEE 802.11-2020, clause 10.3.3).
    fn draw_backoff(&mut self, station: usize) {
        // The window doubles with each failure, up to `cw_max`.
        let failures = self.stations[station].failures.min(16);
        let range = ((u64::from(self.config.cw_min) + 1) << failures).min(u64::from(self.config.cw_max) + 1);
        self.stations[station].backoff = Backoff::Slots(self.rng.below(range));
    }

    /// Handles an expired backoff. Stations that start now fill their aggregates. The backoffs of all other stations
    /// are suspended.
    fn on_begin(&mut self, since: Time, now: Time) {
        let (slot, aifs) = (self.config.slot, self.aifs());
        for number in 0..self.stations.len() {
            let station = &self.stations[number];
            // Stations that start within one slot cannot sense each other yet, so their frames collide.
            if self.begins(station, since).is_some_and(|at| at < now + slot) {
                // An aggregate has a single receiver, as in mac80211, so a sender serves its receivers in turn.
                let receiver = next_receiver(station);
                self.stations[number].latest = receiver;
                self.senders.push(Sender {
                    station: number,
                    receiver,
                    octets: Bytes::ZERO,
                    mpdus: 0,
                    announced: false,
                });
                let peer = self.stations[number].peer_mut(receiver);
                peer.queues.iter_mut().for_each(Outbox::open);
                self.told.push_back(MediumEvent::Fill { station: number, receiver });
                continue;
            }
            let Backoff::Slots(slots) = station.backoff else { continue };
            // Number of slots since the end of AIFS. EDCA also counts the slot in which the other station starts.
            let idle = now.saturating_since(since + aifs).as_nanos() / slot.as_nanos();
            let begun = u64::from(self.config.edca && now >= since + aifs);
            // A backoff that expires while the station has no packet is discarded, so the next packet does not wait.
            let left = slots.saturating_sub(idle + begun);
            let waits = !station.is_idle();
            self.stations[number].backoff = if left == 0 && !waits { Backoff::Over } else { Backoff::Slots(left) };
        }
        self.told_at = now;
        self.channel = Channel::Filling { at: now };
    }

    /// Closes the aggregates and starts to send them.
    fn on_filled(&mut self, now: Time) {
        let collides = self.senders.len() > 1;
        let mut longest = Duration::ZERO;
        for place in 0..self.senders.len() {
            let Sender { station, receiver, .. } = self.senders[place];
            let peer = self.stations[station].peer_mut(receiver);
            let closed: Vec<(usize, Bytes)> = peer.queues.iter_mut().map(Outbox::close).collect();
            let mpdus = closed.iter().map(|(mpdus, _)| mpdus).sum();
            let octets = closed.iter().map(|(_, octets)| *octets).max().unwrap_or(Bytes::ZERO);
            (self.senders[place].mpdus, self.senders[place].octets) = (mpdus, octets);
            let (announced, data) = self.times(&self.senders[place]);
            self.senders[place].announced = !announced.is_zero();
            // If RTS frames collide, the senders stop after the RTS.
            let on_air = if collides && !announced.is_zero() {
                self.config.control().airtime(phy::RTS)
            } else {
                announced + data
            };
            let counts = &mut self.stations[station].counts;
            counts.ppdus_sent += 1;
            counts.frames_sent += mpdus as u64;
            counts.collisions += u64::from(collides);
            counts.airtime += on_air;
            // Colliding transmissions occupy the channel until the longest transmission ends.
            longest = longest.max(on_air);
        }
        self.collisions += u64::from(collides);
        self.busy += longest;
        self.channel = Channel::Data { until: now + longest + self.config.propagation };
    }

    /// Returns the duration of RTS and CTS (zero without RTS), and the duration of the data.
    fn times(&self, sender: &Sender) -> (Duration, Duration) {
        let config = &self.config;
        let announced = match config.rts_threshold {
            Some(threshold) if sender.octets > threshold => {
                let control = config.control();
                let gaps = (config.sifs + config.propagation) * 2;
                control.airtime(phy::RTS) + control.airtime(phy::CTS) + gaps
            }
            _ => Duration::ZERO,
        };
        // Each of the n aggregation queues sends at 1/n of the rate. The air time of the longest aggregate is therefore
        // the air time of n times its bytes at the full rate.
        let octets = Bytes::new(sender.octets.get() * u64::from(config.aggregation_queues));
        (announced, self.client(sender.station, sender.receiver).rate.airtime(octets))
    }

    /// Returns the duration of SIFS and the acknowledgement of an aggregate.
    fn ack_time(&self, sender: &Sender) -> Duration {
        let octets = if sender.mpdus == 1 { phy::ACK } else { phy::block_ack(self.config.window) };
        self.config.sifs + self.config.control().airtime(octets) + self.config.propagation
    }

    /// Handles the end of the data: decides which frames arrive, and starts the acknowledgement.
    fn on_data(&mut self, now: Time) {
        if self.senders.len() > 1 {
            // No station could decode the colliding frames, so all stations wait EIFS instead of AIFS.
            let until = now + self.config.eifs_extra;
            self.channel = Channel::Ack { until, received: false };
            return;
        }
        let sender = self.senders[0];
        let error = self.client(sender.station, sender.receiver).own.frame_error.unwrap_or(self.config.frame_error);
        let in_order = self.reorders(sender.receiver);
        let (rng, told) = (&mut self.rng, &mut self.told);
        let peer = self.stations[sender.station].peer_mut(sender.receiver);
        // Errors are independent for each packet. The block acknowledgement reports each MPDU separately.
        let (mut received, mut released) = (0, Vec::with_capacity(sender.mpdus));
        for queue in &mut peer.queues {
            received += queue.arrive(|| !rng.chance(error));
            queue.release(in_order, |frame| released.push(frame));
        }
        // Restore the order of frames that the sender distributed over several aggregation queues.
        released.sort_unstable();
        told.extend(released.into_iter().map(MediumEvent::Delivered));
        self.told_at = now;
        self.stations[sender.station].counts.frames_lost += (sender.mpdus - received) as u64;
        // No-ACK policy: the exchange ends with the data.
        if !self.acknowledges(&sender) {
            self.settle(now, true);
            return;
        }
        // If no MPDU was received, there is no acknowledgement.
        let heard = received > 0 && !self.rng.chance(self.config.ack_error);
        self.stations[sender.station].counts.acks_lost += u64::from(received > 0 && !heard);
        let took = self.ack_time(&sender);
        // The channel is reserved for the acknowledgement even if it is lost.
        self.busy += took;
        self.channel = Channel::Ack { until: now + took, received: heard };
    }

    /// Ends the exchange at all its senders.
    fn settle(&mut self, now: Time, success: bool) {
        let collided = self.senders.len() > 1;
        for sender in std::mem::take(&mut self.senders) {
            let acknowledges = self.acknowledges(&sender);
            let in_order = self.reorders(sender.receiver);
            // If RTS frames collide, the sender receives no CTS. It therefore detects the failure even if its data is
            // never acknowledged.
            let knows = acknowledges || (collided && sender.announced);
            let retries = knows.then_some(self.config.retries);
            let reason = match (knows, collided) {
                (true, _) => DropReason::RetriesExhausted,
                (false, true) => DropReason::Collided,
                (false, false) => DropReason::RandomLoss,
            };
            let told = &mut self.told;
            let station = &mut self.stations[sender.station];
            let peer = station.peers[sender.receiver].as_mut().expect("the sender has this peer");
            for queue in &mut peer.queues {
                let mut lost = 0;
                queue.settle(success, retries, |frame| {
                    lost += 1;
                    told.push_back(MediumEvent::Lost(frame, reason));
                });
                queue.release(in_order, |frame| told.push_back(MediumEvent::Delivered(frame)));
                // `Done` must follow `Delivered`, so remove finished frames last.
                queue.forget(|frame| told.push_back(MediumEvent::Done(frame)));
                station.counts.packets_given_up += lost;
            }
            // A sender that expects no answer cannot detect a failure.
            let failed = !success && knows && station.failures < self.config.retries;
            // The contention window is reset after a success, and after the last retry of a frame that is dropped.
            station.failures = if failed { station.failures + 1 } else { 0 };
            self.draw_backoff(sender.station);
        }
        self.told_at = now;
        self.channel = Channel::Free { since: now };
    }
}

/// Returns the next receiver that has frames, in round-robin order after the latest receiver.
fn next_receiver(station: &Station) -> usize {
    let waits = |receiver: &usize| station.peers[*receiver].as_ref().is_some_and(|peer| !peer.is_empty());
    let after = station.latest + 1;
    let receiver = (after..station.peers.len()).chain(0..after).find(waits);
    receiver.expect("the station has a frame to send")
}

impl Medium for Wifi {
    fn request(&mut self, frame: FrameId, to: usize, size: Bytes, now: Time) {
        let queues = self.config.aggregation_queues as usize;
        // The limits for a receiver are constant, so compute them once, for the first frame to this receiver.
        if self.stations[frame.station].peers[to].is_none() {
            let limits = self.limits(frame.station, to);
            let queues = (0..queues).map(|_| Outbox::new(limits)).collect();
            self.stations[frame.station].peers[to] = Some(Peer { queues, next_queue: 0 });
        }
        let station = &mut self.stations[frame.station];
        let was_idle = station.is_idle();
        let peer = station.peer_mut(to);
        let queue = peer.next_queue;
        // Frames are distributed over the aggregation queues in turn.
        peer.queues[queue].push(frame, size);
        peer.next_queue = if queue + 1 == queues { 0 } else { queue + 1 };
        // The station already contends for the channel.
        if !was_idle {
            return;
        }
        let aifs = self.aifs();
        // On a free channel, no event counts down the backoff slots. Check here whether all slots have passed.
        let slots_over = match (self.channel, self.stations[frame.station].backoff) {
            (Channel::Free { since }, Backoff::Slots(slots)) => since + aifs + self.config.slot * slots <= now,
            _ => false,
        };
        if self.stations[frame.station].backoff == Backoff::Over || slots_over {
            // A packet can be sent at once only if the channel has been free for AIFS.
            match self.channel {
                Channel::Free { since } if now >= since + aifs => {
                    self.stations[frame.station].backoff = Backoff::None { at: now };
                }
                _ => self.draw_backoff(frame.station),
            }
        }
    }

    fn takes(&self, station: usize, receiver: usize, _with_medium: usize) -> bool {
        // While an aggregate is being filled, the medium accepts as many packets as fit. At other times it accepts one
        // packet, for which the station contends for the channel.
        let filling = matches!(self.channel, Channel::Filling { .. })
            && self.senders.iter().any(|sender| (sender.station, sender.receiver) == (station, receiver));
        match self.stations[station].peers.get(receiver).and_then(Option::as_ref) {
            None => true,
            Some(peer) if filling => peer.queues[peer.next_queue].wants(),
            Some(peer) => peer.is_empty(),
        }
    }

    fn queue_per_receiver(&self) -> bool {
        true
    }

    fn next_hop(&self, from: usize, to: usize) -> usize {
        if self.config.access_point && from != 0 { 0 } else { to }
    }

    fn next_event(&self) -> Option<Time> {
        if !self.told.is_empty() {
            return Some(self.told_at);
        }
        match self.channel {
            Channel::Free { since } => self.next_begin(since),
            Channel::Filling { at } => Some(at),
            Channel::Data { until } | Channel::Ack { until, .. } => Some(until),
        }
    }

    fn on_event(&mut self, now: Time) -> MediumEvent {
        if let Some(event) = self.told.pop_front() {
            return event;
        }
        match self.channel {
            Channel::Free { since } => self.on_begin(since, now),
            Channel::Filling { .. } => self.on_filled(now),
            Channel::Data { .. } => self.on_data(now),
            Channel::Ack { received, .. } => self.settle(now, received),
        }
        self.told.pop_front().unwrap_or(MediumEvent::Nothing)
    }

    /// Reports the counters of the stations, and the collisions and the busy time in seconds of the channel.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64)) {
        for (number, station) in self.stations.iter().enumerate() {
            let counts = &station.counts;
            out(Some(number), "ppdus_sent", counts.ppdus_sent as f64);
            out(Some(number), "frames_sent", counts.frames_sent as f64);
            out(Some(number), "frames_lost", counts.frames_lost as f64);
            out(Some(number), "packets_given_up", counts.packets_given_up as f64);
            out(Some(number), "collisions", counts.collisions as f64);
            out(Some(number), "acks_lost", counts.acks_lost as f64);
            out(Some(number), "airtime_s", counts.airtime.as_secs_f64());
        }
        out(None, "collisions", self.collisions as f64);
        out(None, "busy_s", self.busy.as_secs_f64());
    }
}
