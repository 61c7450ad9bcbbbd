//! What a host remembers of a destination from one connection to the next (Linux's `tcp_metrics`).

use crate::info::TcpInfo;
use crate::profile::{MetricsSave, Profile};
use lopsided_core::tcp_event::CaState;
use lopsided_core::{Bytes, Duration};

/// The metrics of one destination: what ended connections have left for the next one.
///
/// Left out: the congestion window, which Linux saves and does not use; the deviation of the round trip, which it uses
/// with its old clock only; and that entries are dropped after an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Smoothed round-trip time.
    rtt: Option<Duration>,
    /// Threshold of slow start.
    ssthresh: Option<Bytes>,
    /// Duplicate ACKs that mean a loss, if reordering has raised the number.
    reordering: Option<u32>,
}

impl Remembered {
    /// Takes over what a connection under `profile` knows at its end.
    ///
    /// The window of a connection that ends in congestion avoidance is reliable: its half is the least threshold of the
    /// next. One that ends before its first loss or in recovery can only correct what is remembered already.
    pub fn learn(&mut self, info: &TcpInfo, profile: &Profile) {
        if profile.metrics_save == MetricsSave::Off {
            return;
        }
        let Some(srtt) = info.srtt.filter(|_| info.backoff == 0) else {
            // After timeouts the estimate is not reliable.
            self.rtt = None;
            return;
        };
        // A longer round trip is taken as it is, a shorter one by an eighth: an overestimate does less harm.
        self.rtt = Some(match self.rtt {
            Some(known) if known > srtt => known - (known - srtt) / 8,
            _ => srtt,
        });
        if info.reordering != profile.dup_threshold {
            self.reordering = Some(self.reordering.map_or(info.reordering, |known| known.max(info.reordering)));
        }
        if profile.metrics_save == MetricsSave::All {
            self.ssthresh = self.next_threshold(info);
        }
    }

    fn next_threshold(&self, info: &TcpInfo) -> Option<Bytes> {
        let half = Bytes::new(info.snd_cwnd.get() / 2);
        match info.snd_ssthresh {
            // Still in its first slow start.
            None => self.ssthresh.map(|known| known.max(half)),
            Some(threshold) if info.snd_cwnd >= threshold && info.ca_state == CaState::Open => {
                Some(half.max(threshold))
            }
            Some(threshold) => self.ssthresh.map(|known| known.max(threshold)),
        }
    }

    /// The profile of the next connection to this destination; `None` if nothing is remembered that changes it.
    pub fn apply(&self, profile: &Profile) -> Option<Profile> {
        if *self == Remembered::default() {
            return None;
        }
        Some(Profile {
            remembered_rtt: self.rtt,
            remembered_threshold: self.ssthresh.or(profile.remembered_threshold),
            dup_threshold: self.reordering.unwrap_or(profile.dup_threshold),
            ..profile.clone()
        })
    }
}
