//! Path metrics that a host saves for each destination at the end of a connection (Linux's `tcp_metrics`).

use crate::info::TcpInfo;
use crate::profile::{MetricsSave, Profile};
use lopsided_core::tcp_event::CaState;
use lopsided_core::{Bytes, Duration};

/// Path metrics of one destination, saved at the end of a connection for the next connection to this destination.
///
/// Not implemented: saving the congestion window and the RTT deviation, and the expiry of entries after an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// Smoothed round-trip time.
    rtt: Option<Duration>,
    /// Slow-start threshold.
    ssthresh: Option<Bytes>,
    /// Number of duplicate ACKs after which a segment counts as lost; `None` if it is the default.
    reordering: Option<u32>,
}

impl Remembered {
    /// Saves the metrics of a connection at its end (Linux's tcp_update_metrics). `profile` is the profile of that
    /// connection.
    ///
    /// In congestion avoidance, the saved threshold is half of the window, but at least the connection's threshold. In
    /// slow start or recovery, a threshold that was saved before can only grow.
    pub fn learn(&mut self, info: &TcpInfo, profile: &Profile) {
        if profile.metrics_save == MetricsSave::Off {
            return;
        }
        let Some(srtt) = info.srtt.filter(|_| info.backoff == 0) else {
            // Timeouts make the RTT estimate unreliable.
            self.rtt = None;
            return;
        };
        // A longer RTT replaces the stored RTT. A shorter RTT has a weight of 1/8, because an overestimated RTT does
        // less harm than an underestimated RTT.
        self.rtt = Some(match self.rtt {
            Some(known) if known > srtt => known - (known - srtt) / 8,
            _ => srtt,
        });
        // tcp_update_metrics stores reordering only if it differs from the default.
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
            // Without a threshold, the connection is still in its first slow start.
            None => self.ssthresh.map(|known| known.max(half)),
            Some(threshold) if info.snd_cwnd >= threshold && info.ca_state == CaState::Open => {
                Some(half.max(threshold))
            }
            Some(threshold) => self.ssthresh.map(|known| known.max(threshold)),
        }
    }

    /// Returns the profile of the next connection to this destination; `None` if the saved metrics change nothing in
    /// `profile`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConnConfig, Endpoint};
    use crate::connection::Connection;
    use lopsided_core::Time;
    use std::net::Ipv4Addr;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn info(cwnd: u64, ssthresh: Option<u64>, srtt: u64) -> TcpInfo {
        let end = Endpoint { addr: Ipv4Addr::LOCALHOST.into(), port: 1 };
        let config = ConnConfig::new(end, end, 1, Bytes::new(1500), Profile::linux_2_6(), "reno").expect("built in");
        TcpInfo {
            snd_cwnd: Bytes::new(cwnd),
            snd_ssthresh: ssthresh.map(Bytes::new),
            srtt: Some(MS(srtt)),
            ..Connection::connect(config).info(Time::ZERO)
        }
    }

    /// Linux's tcp_update_metrics.
    #[test]
    fn only_a_window_of_congestion_avoidance_sets_the_threshold() {
        let profile = Profile::linux_2_6();
        let mut known = Remembered::default();
        known.learn(&info(100_000, None, 50), &profile);
        assert_eq!(known.ssthresh, None, "a first slow start without loss sets no threshold");
        known.learn(&info(60_000, Some(20_000), 50), &profile);
        assert_eq!(known.ssthresh, Some(Bytes::new(30_000)), "half of the window");
        known.learn(&info(10_000, Some(40_000), 50), &profile);
        assert_eq!(known.ssthresh, Some(Bytes::new(40_000)), "a window below the threshold only raises it");
        known.learn(&info(24_000, Some(20_000), 50), &profile);
        assert_eq!(known.ssthresh, Some(Bytes::new(20_000)), "congestion avoidance may lower it");
        let next = known.apply(&profile).expect("something is remembered");
        assert_eq!(next.remembered_threshold, Some(Bytes::new(20_000)));
    }

    #[test]
    fn a_longer_rtt_replaces_the_stored_rtt_and_a_shorter_one_is_averaged() {
        let profile = Profile::linux_6_1();
        let mut known = Remembered::default();
        for (srtt, expected) in [(80, 80), (160, 160), (80, 150)] {
            known.learn(&info(60_000, Some(20_000), srtt), &profile);
            assert_eq!(known.rtt, Some(MS(expected)));
        }
        assert_eq!(known.ssthresh, None, "Linux 5.6 and later save no threshold");
        known.learn(&TcpInfo { backoff: 1, ..info(1_000, None, 80) }, &profile);
        assert_eq!(known.apply(&profile), None, "after timeouts nothing is reliable");
        known.learn(&info(60_000, None, 80), &Profile { metrics_save: MetricsSave::Off, ..profile });
        assert_eq!(known.rtt, None);
    }

    /// Linux's tcp_update_metrics and tcp_init_metrics: a reordering degree above the default is kept at its maximum.
    #[test]
    fn the_largest_reordering_is_remembered() {
        let profile = Profile::linux_6_1();
        let mut known = Remembered::default();
        let mut next = |reordering| {
            known.learn(&TcpInfo { reordering, ..info(60_000, None, 50) }, &profile);
            known.apply(&profile).expect("something is remembered").dup_threshold
        };
        assert_eq!([next(profile.dup_threshold), next(9), next(7), next(12), next(3)], [3, 9, 9, 12, 12]);
    }

    #[test]
    fn in_slow_start_or_recovery_a_stored_threshold_only_grows() {
        let profile = Profile::linux_2_6();
        let after = |stored, info: TcpInfo| {
            let mut known = Remembered { ssthresh: Some(Bytes::new(stored)), ..Remembered::default() };
            known.learn(&info, &profile);
            known.ssthresh.map_or(0, Bytes::get)
        };
        assert_eq!([after(10_000, info(60_000, None, 50)), after(50_000, info(60_000, None, 50))], [30_000, 50_000]);
        let recovering = TcpInfo { ca_state: CaState::Recovery, ..info(60_000, Some(20_000), 50) };
        assert_eq!([after(10_000, recovering), after(50_000, recovering)], [20_000, 50_000]);
        assert_eq!(after(50_000, info(20_000, Some(20_000), 50)), 20_000, "at the threshold");
    }

    #[test]
    fn a_connection_leaves_its_metrics_unless_the_stack_saves_none() {
        let end = Endpoint { addr: Ipv4Addr::LOCALHOST.into(), port: 1 };
        for (metrics_save, saves) in
            [(MetricsSave::Off, false), (MetricsSave::RoundTrips, true), (MetricsSave::All, true)]
        {
            let profile = Profile { metrics_save, ..Profile::linux_6_1() };
            let config = ConnConfig::new(end, end, 1, Bytes::new(1500), profile, "reno").expect("built in");
            let connection = Connection::connect(config);
            assert_eq!(connection.saves_metrics(), saves);
            let mut known = Remembered { rtt: Some(MS(80)), ..Remembered::default() };
            connection.leave_metrics(Time::ZERO, &mut known);
            assert_eq!(known.rtt.is_none(), saves, "a connection without a sample invalidates the stored RTT");
        }
    }
}
