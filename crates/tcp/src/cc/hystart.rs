//! HyStart and HyStart++, which end slow start before the queue overflows.
//!
//! HyStart (Ha and Rhee, Taming the elephants: new TCP slow start, Computer Networks 55, 2011) uses two indications, as
//! in Linux:
//!
//! - A train of closely spaced ACKs lasts longer than half of the minimum RTT (section 4.1).
//! - The minimum RTT of a round exceeds the overall minimum by more than 1/8, limited to 4 ms to 16 ms (section 4.2).
//!
//! The HyStart of ns-3 permits a train of up to the minimum RTT. The RTT may rise by at most the minimum RTT, limited
//! to 4 ms to 1 s. The minimum of the first eight RTTs of a round is compared.
//!
//! HyStart++ (RFC 9406) uses only the delay. After a rise of the RTT, slow start continues at 1/4 of the speed, until
//! the RTT falls again.
//!
//! Not implemented: HyStart++ for paced senders, which does not limit the growth to eight segments per ACK.

use super::round::Round;
use super::{PathState, Window};
use lopsided_core::{Duration, Time};

/// Window below which HyStart is off, in segments.
const LOW_WINDOW: u64 = 16;
/// Maximum time between two consecutive ACKs of a train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Maximum time added to the threshold of the ACK train, to allow for the sender's own bursts.
const BURST_MAX: Duration = Duration::from_millis(1);
/// Number of bytes that a Linux sender may send in one burst, multiplied by 4.
const BURST_OCTETS: u64 = 4 * 65_536;
/// RFC 9406's MIN_RTT_THRESH (section 4.3).
const RISE_MIN: Duration = Duration::from_millis(4);
/// RFC 9406's MAX_RTT_THRESH.
const RISE_MAX: Duration = Duration::from_millis(16);
/// Maximum rise of the RTT that ns-3 permits by default.
const NS3_RISE_MAX: Duration = Duration::from_secs(1);
/// RFC 9406's MIN_RTT_DIVISOR.
const RISE_DIVISOR: u64 = 8;
/// RFC 9406's N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// RFC 9406's CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// RFC 9406's CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406's L: maximum growth per ACK, in segments.
const SEGMENTS_PER_ACK: u64 = 8;

/// The variant of HyStart.
#[derive(Debug)]
pub(super) enum HyStart {
    /// No HyStart.
    Off,
    /// HyStart with an ACK train, as in Linux or ns-3.
    Train(Train),
    /// HyStart++.
    PlusPlus(Rounds),
}

impl HyStart {
    /// Processes the RTT of an ACK in slow start, and ends slow start if the RTT or the ACK train requires it.
    #[inline]
    pub fn watch(&mut self, now: Time, rtt: Duration, min_rtt: Duration, path: &PathState, window: &mut Window) {
        let found = match self {
            HyStart::Off => false,
            HyStart::Train(train) => train.watch(now, rtt, min_rtt, path, window),
            HyStart::PlusPlus(rounds) => rounds.watch(rtt, path),
        };
        if found {
            window.end_slow_start();
        }
    }

    /// Returns the number of bytes by which an ACK of `octets` bytes may grow the window in slow start.
    pub fn growth(&mut self, octets: u64, window: &Window) -> u64 {
        match self {
            HyStart::PlusPlus(rounds) => rounds.growth(octets, window.mss()),
            HyStart::Off | HyStart::Train(_) => octets,
        }
    }

    /// Restarts the detection after a timeout, which begins a new slow start.
    pub fn restart(&mut self, now: Time, path: &PathState) {
        match self {
            HyStart::Off => {}
            HyStart::Train(train) => *train = Train::begin(train.limits, now, path),
            // RFC 9406 section 4.3: HyStart++ monitors only the first slow start.
            HyStart::PlusPlus(rounds) => rounds.over = true,
        }
    }
}

/// The limits on the duration of the ACK train and on the rise of the RTT. Slow start ends if one limit is exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limits {
    Linux,
    Ns3,
}

impl Limits {
    /// Maximum duration of a train.
    fn train(self, min_rtt: Duration, path: &PathState, window: &Window) -> Duration {
        match self {
            Limits::Linux => (min_rtt + burst_time(path, window)) / 2,
            Limits::Ns3 => min_rtt,
        }
    }

    /// Maximum rise of a round's RTT above the minimum RTT.
    fn rise(self, min_rtt: Duration) -> Duration {
        match self {
            Limits::Linux => rise(min_rtt),
            Limits::Ns3 => min_rtt.clamp(RISE_MIN, NS3_RISE_MAX),
        }
    }
}

/// The state of HyStart with an ACK train in a round.
#[derive(Debug)]
pub(super) struct Train {
    limits: Limits,
    round: Round,
    /// Start of the train.
    begun: Time,
    /// Time of the last ACK of the train.
    last: Time,
    /// Minimum RTT of the first samples of the round.
    round_min: Option<Duration>,
    samples: u32,
    /// True once the ACK train or the delay has indicated the end of slow start.
    found: bool,
}

impl Train {
    pub fn new(limits: Limits) -> Train {
        let (round, begun) = (Round::default(), Time::ZERO);
        Train { limits, round, begun, last: begun, round_min: None, samples: 0, found: false }
    }

    fn begin(limits: Limits, now: Time, path: &PathState) -> Train {
        Train { round: Round::begin(path), begun: now, last: now, ..Train::new(limits) }
    }

    /// Processes an ACK. Returns true if an indication is found (`hystart_update`).
    fn watch(&mut self, now: Time, rtt: Duration, min_rtt: Duration, path: &PathState, window: &Window) -> bool {
        if self.found {
            return false;
        }
        if self.round.is_passed(path) {
            *self = Train::begin(self.limits, now, path);
        }
        if window.segments() < LOW_WINDOW {
            return false;
        }
        // First indication: the train of ACKs is too long.
        if now.saturating_since(self.last) <= TRAIN_GAP {
            self.last = now;
            self.found = now.saturating_since(self.begun) > self.limits.train(min_rtt, path, window);
        }
        if self.samples < SAMPLES || self.limits == Limits::Linux {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
        }
        // Second indication: the minimum RTT of the round has risen.
        if self.samples < SAMPLES {
            self.samples += 1;
        } else if self.round_min.is_some_and(|min| min > min_rtt + self.limits.rise(min_rtt)) {
            self.found = true;
        }
        self.found
    }
}

/// Returns the duration of the sender's own burst, at a rate of two windows per RTT.
fn burst_time(path: &PathState, window: &Window) -> Duration {
    let Some(srtt) = path.srtt else { return BURST_MAX };
    let nanos = u128::from(BURST_OCTETS) * u128::from(srtt.as_nanos()) / u128::from(2 * window.octets());
    Duration::from_nanos(nanos.min(u128::from(BURST_MAX.as_nanos())) as u64)
}

/// Returns the minimum rise of the RTT that counts as an indication.
fn rise(min_rtt: Duration) -> Duration {
    (min_rtt / RISE_DIVISOR).clamp(RISE_MIN, RISE_MAX)
}

/// The state of HyStart++ during slow start.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    round: Round,
    /// Minimum RTT of this round.
    current: Option<Duration>,
    /// Minimum RTT of the last round.
    last: Option<Duration>,
    samples: u32,
    /// Baseline RTT and number of rounds in conservative slow start; `None` outside of conservative slow start.
    conservative: Option<(Duration, u32)>,
    /// True once HyStart++ has stopped monitoring.
    over: bool,
}

impl Rounds {
    /// Processes an ACK. Returns true if slow start must end.
    fn watch(&mut self, rtt: Duration, path: &PathState) -> bool {
        if self.over {
            return false;
        }
        if self.round.is_passed(path) {
            self.round = Round::begin(path);
            self.last = self.current.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    self.over = true;
                    return true;
                }
            }
        }
        let current = self.current.map_or(rtt, |min| min.min(rtt));
        self.current = Some(current);
        self.samples += 1;
        if self.samples < SAMPLES {
            return false;
        }
        match (self.conservative, self.last) {
            (None, Some(last)) if current >= last + rise(last) => self.conservative = Some((current, 0)),
            // The RTT has fallen again, so its rise was temporary: return to slow start.
            (Some((baseline, _)), _) if current < baseline => self.conservative = None,
            _ => {}
        }
        false
    }

    /// Returns the number of bytes by which an ACK of `octets` bytes may grow the window.
    fn growth(&mut self, octets: u64, mss: u64) -> u64 {
        if self.over {
            return octets;
        }
        let octets = octets.min(SEGMENTS_PER_ACK * mss);
        if self.conservative.is_some() { octets / CSS_GROWTH_DIVISOR } else { octets }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, path_state, setup};
    use super::*;

    /// Simulates a round of `samples` ACKs with an RTT of `rtt_ms`. Returns true if slow start must end.
    fn round(rounds: &mut Rounds, number: u64, rtt_ms: u64, samples: u32) -> bool {
        let path = PathState { una: number * 1000 + 1, nxt: (number + 1) * 1000, ..path_state() };
        (0..samples).any(|_| rounds.watch(Duration::from_millis(rtt_ms), &path))
    }

    /// RFC 9406 section 4.2: if the RTT of a round exceeds the RTT of the last round by 1/8, the window grows at 1/4 of
    /// the speed.
    #[test]
    fn an_rtt_increase_starts_conservative_slow_start() {
        let mut rounds = Rounds::default();
        round(&mut rounds, 0, 100, 10);
        assert_eq!(rounds.growth(2 * MSS, MSS), 2 * MSS);
        round(&mut rounds, 1, 113, SAMPLES - 1);
        assert_eq!(rounds.growth(2 * MSS, MSS), 2 * MSS, "seven samples are too few");
        let path = PathState { una: 1001, nxt: 2000, ..path_state() };
        rounds.watch(Duration::from_millis(113), &path);
        assert_eq!(rounds.growth(2 * MSS, MSS), MSS / 2);
        assert_eq!(rounds.growth(20 * MSS, MSS), 2 * MSS, "at most 8 segments per ACK");
    }

    #[test]
    fn conservative_slow_start_ends_after_five_rounds_or_when_the_rtt_decreases() {
        let enter = |second: u64| {
            let mut rounds = Rounds::default();
            round(&mut rounds, 0, 100, 10);
            round(&mut rounds, 1, second, 10);
            rounds
        };
        let mut rounds = enter(150);
        let ended: Vec<bool> = (2..7).map(|number| round(&mut rounds, number, 150, 10)).collect();
        assert_eq!(ended, [false, false, false, false, true]);
        let mut rounds = enter(150);
        round(&mut rounds, 2, 149, 10);
        assert_eq!(rounds.growth(MSS, MSS), MSS, "the rise was temporary");
        assert_eq!(enter(112).growth(MSS, MSS), MSS, "a rise of less than 1/8 is ignored");
    }

    /// The RTT is 40 ms, and ACKs are 1 ms apart. Linux ends slow start after half of the RTT and half of the sender's
    /// burst, ns-3 after the whole RTT.
    #[test]
    fn ns3_ends_slow_start_at_an_ack_train_of_one_rtt() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(path_state().mss);
        window.set_segments(100);
        let rtt = Duration::from_millis(40);
        let path = PathState { una: 1, nxt: 100 * MSS, srtt: Some(rtt), ..path_state() };
        let found = |limits| {
            let mut train = Train::begin(limits, Time::ZERO, &path);
            (1..100).find(|ms| train.watch(Time::ZERO + Duration::from_millis(*ms), rtt, rtt, &path, &window))
        };
        assert_eq!((found(Limits::Linux), found(Limits::Ns3)), (Some(21), Some(41)));
        // The sender's own burst takes 1 ms at most, and less in a large window.
        let train = |segments| {
            let mut window = window;
            window.set_segments(segments);
            Limits::Linux.train(rtt, &path, &window)
        };
        assert_eq!(train(100), Duration::from_micros(20_500));
        let burst = Duration::from_nanos(BURST_OCTETS * rtt.as_nanos() / (200_000 * MSS));
        assert_eq!(train(100_000), (rtt + burst) / 2);
        let rises = |limits: Limits| [10, 100].map(|ms| limits.rise(Duration::from_millis(ms)));
        let ms = Duration::from_millis;
        assert_eq!(rises(Limits::Linux), [ms(4), ms(100) / 8]);
        assert_eq!(rises(Limits::Ns3), [ms(10), ms(100)]);
    }

    /// Linux's HYSTART_MIN_SAMPLES: the RTT of a round counts after eight samples.
    #[test]
    fn the_rtt_of_a_round_counts_after_eight_samples() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(path_state().mss);
        let (base, risen) = (Duration::from_millis(40), Duration::from_millis(60));
        let mut found = |segments, samples| {
            window.set_segments(segments);
            let path = PathState { una: 1, nxt: 100 * MSS, ..path_state() };
            let mut train = Train::begin(Limits::Linux, Time::ZERO, &path);
            // The ACKs are too far apart to form a train.
            (1..=samples).any(|n| train.watch(Time::ZERO + Duration::from_millis(10 * n), risen, base, &path, &window))
        };
        assert_eq!([8, 9].map(|samples| found(100, samples)), [false, true]);
        assert_eq!([LOW_WINDOW - 1, LOW_WINDOW].map(|segments| found(segments, 20)), [false, true]);
    }
}
