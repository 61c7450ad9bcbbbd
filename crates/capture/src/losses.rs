//! The losses of one direction of data, and the state of the queue at these losses.

use crate::sketch::Sketch;
use crate::waits::Waits;

/// Queueing delays of data, and numbers of packets in the queue, at the losses of one direction.
#[derive(Clone, Debug)]
pub struct Losses {
    /// Queueing delay of data when a loss was detected, in ms.
    pub wait_ms: Sketch,
    /// Number of the host's packets in the queue when a loss was detected, without the lost packet.
    pub packets: Sketch,
    /// Queueing delay of data at the first loss of each episode, in ms. An episode lasts one round trip.
    pub episode_wait_ms: Sketch,
    /// Number of the host's packets in the queue at the first loss of each episode, without the lost packet.
    pub episode_packets: Sketch,
    /// For each episode of losses: the longest queueing delay of data in the round trip that follows the first loss,
    /// divided by the queueing delay at this loss.
    pub rise: Sketch,
    /// Number of packets in the queue in front of the point of capture at each loss that a hole reveals: the larger number
    /// that the segments before and after the hole found.
    pub hole_packets: Sketch,
    /// The latest packet that revealed a loss. `None` after the packets in the queue were counted.
    latest: Option<Revealed>,
    episode: Option<Episode>,
}

/// A packet that passed the point of capture after a lost packet, and so reveals the loss. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Revealed {
    /// Capture time of the packet, on the file's clock.
    pub(crate) at: u64,
    /// Queueing delay of the packet.
    pub(crate) wait: u64,
    /// True if the loss was the first of an episode.
    pub(crate) is_first: bool,
}

/// The losses of one round trip. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// Queueing delay of data at the first loss.
    wait: u64,
    /// Longest queueing delay since the first loss.
    most: u64,
    /// End of the episode, on the file's clock.
    until: u64,
}

impl Losses {
    /// The state before the first loss.
    pub const NONE: Losses = Losses {
        wait_ms: Sketch::EMPTY,
        packets: Sketch::EMPTY,
        episode_wait_ms: Sketch::EMPTY,
        episode_packets: Sketch::EMPTY,
        rise: Sketch::EMPTY,
        hole_packets: Sketch::EMPTY,
        latest: None,
        episode: None,
    };

    /// Records at time `now` that a loss was detected. The packet that reveals the loss passed at `at` with a queueing
    /// delay of `wait`. Times are in nanoseconds.
    pub(crate) fn detected(&mut self, now: u64, at: u64, wait: u64, waits: Waits) {
        self.wait_ms.add(wait as f64 * 1e-6);
        let is_first = self.episode.is_none();
        self.episode.get_or_insert(Episode { wait, most: wait, until: now.saturating_add(waits.floor + wait) });
        self.latest = Some(Revealed { at, wait, is_first });
    }

    /// Records a queueing delay of data, in nanoseconds, in the current episode.
    pub(crate) fn follow(&mut self, at: u64, wait: u64) {
        let Some(episode) = &mut self.episode else { return };
        if at <= episode.until {
            episode.most = episode.most.max(wait);
        } else {
            self.episode_wait_ms.add(episode.wait as f64 * 1e-6);
            self.rise.add(episode.most as f64 / episode.wait.max(1) as f64);
            self.episode = None;
        }
    }

    /// Returns the latest packet that revealed a loss, only once.
    pub(crate) fn take_latest(&mut self) -> Option<Revealed> {
        self.latest.take()
    }

    /// Records the number of packets that were in the queue at a loss.
    pub(crate) fn counted(&mut self, packets: u64, is_first: bool) {
        self.packets.add(packets as f64);
        if is_first {
            self.episode_packets.add(packets as f64);
        }
    }
}

impl Default for Losses {
    fn default() -> Losses {
        Losses::NONE
    }
}
