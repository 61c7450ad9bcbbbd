//! A station of a Wi-Fi channel: its queues, its backoff and its counters.

use super::config::WifiStation;
use super::outbox::Outbox;
use super::phy::Rate;
use lopsided_core::{Duration, Time};

/// One station.
#[derive(Debug)]
pub(super) struct Station {
    /// The receivers of the station's frames, by number; `None` for a station to which this station never sent a frame.
    pub peers: Vec<Option<Peer>>,
    /// The receiver of the latest transmission.
    pub latest: usize,
    pub backoff: Backoff,
    /// Number of consecutive transmissions without an acknowledgement.
    pub failures: u32,
    /// The station's own settings.
    pub own: WifiStation,
    pub rate: Rate,
    pub counts: Counts,
}

/// The aggregation queues for one receiver.
#[derive(Debug)]
pub(super) struct Peer {
    pub queues: Vec<Outbox>,
    /// Index of the queue for the next packet.
    pub next_queue: usize,
}

/// Counters of one station.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub ppdus_sent: u64,
    pub frames_sent: u64,
    pub frames_lost: u64,
    pub packets_given_up: u64,
    pub collisions: u64,
    pub acks_lost: u64,
    pub airtime: Duration,
}

/// The state of a station's backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backoff {
    /// The backoff expired while the station had no packet.
    Over,
    /// Number of backoff slots left. The countdown continues once the channel has been free for AIFS.
    Slots(u64),
    /// No backoff. When the packet arrived, the channel was free and the previous backoff had expired, so the packet is
    /// sent at `at`.
    None { at: Time },
}

impl Station {
    /// True if the station has no frame to send.
    pub fn is_idle(&self) -> bool {
        self.peers.iter().flatten().all(Peer::is_empty)
    }

    /// Returns the queues for a receiver. The station must already have requested the transmission of a frame to this
    /// receiver.
    pub fn peer_mut(&mut self, receiver: usize) -> &mut Peer {
        self.peers[receiver].as_mut().expect("it has queues for its receivers")
    }
}

impl Peer {
    /// True if no queue has a frame to send.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(Outbox::is_empty)
    }
}
