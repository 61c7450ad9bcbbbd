//! Rates and durations of the standards in the 5 GHz band (IEEE 802.11-2020, clauses 10.3, 17, 19 and 21; IEEE
//! 802.11ax-2021, clause 27).
//!
//! Not modelled: the signal extension of 2.4 GHz, the tail bits of several encoders, STBC, and 802.11ax's packet
//! extension and dual carrier modulation.

use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Choice, Fault};

/// Size of an RTS, in bytes.
pub(super) const RTS: Bytes = Bytes::new(20);
/// Size of a CTS, in bytes.
pub(super) const CTS: Bytes = Bytes::new(14);
/// Size of an ACK, in bytes.
pub(super) const ACK: Bytes = Bytes::new(14);
/// Size of a block acknowledgement without its bitmap, in bytes.
const BLOCK_ACK: u64 = 24;
/// Size of the service field and the tail, in bits.
const SERVICE_AND_TAIL: u64 = 16 + 6;
/// Duration of the training and signal fields that every OFDM station decodes.
pub(super) const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);

/// Modulations of 6 to 54 Mbit/s: bits per symbol and subcarrier, and the coding rate as a fraction.
const LEGACY_MODULATIONS: &[(u64, u64, u64)] =
    &[(1, 1, 2), (1, 3, 4), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4)];
/// Modulations by MCS in 802.11n and later standards, in the form of [`LEGACY_MODULATIONS`].
const MODULATIONS: &[(u64, u64, u64)] = &[
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// An amendment of IEEE 802.11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standard {
    /// 802.11a.
    A,
    /// 802.11n.
    N,
    /// 802.11ac.
    #[default]
    Ac,
    /// 802.11ax.
    Ax,
}

impl Choice for Standard {
    const WORDS: &'static [(&'static str, Standard)] =
        &[("802.11a", Standard::A), ("802.11n", Standard::N), ("802.11ac", Standard::Ac), ("802.11ax", Standard::Ax)];
}

/// The parameters that determine a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modulation {
    pub mcs: u32,
    pub width_mhz: u32,
    pub streams: u32,
    pub guard: Duration,
}

/// A data rate, and the durations of its symbol and preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub rate: BitRate,
    pub symbol: Duration,
    pub preamble: Duration,
}

impl Standard {
    /// Returns the modulation of a typical station: two antennas, and the widest channel that was common when the
    /// standard was new.
    pub(super) fn usual(self) -> Modulation {
        let (mcs, width_mhz, streams, guard_nanos) = match self {
            Standard::A => (7, 20, 1, 800),
            Standard::N => (7, 40, 2, 400),
            Standard::Ac => (9, 80, 2, 400),
            Standard::Ax => (11, 80, 2, 800),
        };
        Modulation { mcs, width_mhz, streams, guard: Duration::from_nanos(guard_nanos) }
    }

    /// Returns the number of data subcarriers; `None` if the standard has no channels of this width.
    fn subcarriers(self, width_mhz: u32) -> Option<u64> {
        match (self, width_mhz) {
            (Standard::A, 20) => Some(48),
            (Standard::N | Standard::Ac, 20) => Some(52),
            (Standard::N | Standard::Ac, 40) => Some(108),
            // 802.11ax has four times as many subcarriers per MHz as 802.11ac. The same number of subcarriers therefore
            // needs 25 % of the width.
            (Standard::Ac, 80) | (Standard::Ax, 20) => Some(234),
            (Standard::Ac, 160) | (Standard::Ax, 40) => Some(468),
            (Standard::Ax, 80) => Some(980),
            (Standard::Ax, 160) => Some(1960),
            _ => None,
        }
    }

    /// Returns the duration of a PPDU's preamble.
    fn preamble(self, streams: u32) -> Duration {
        // With an odd number of streams, the training fields are those of the next even number.
        let training = u64::from(match streams {
            3 => 4,
            5 => 6,
            7 => 8,
            streams => streams,
        });
        let nanos = match self {
            Standard::A => 20_000,
            // HT mixed: signal, short and long training fields.
            Standard::N => 20_000 + 12_000 + 4_000 * training,
            // Signal A, short and long training fields, signal B.
            Standard::Ac => 20_000 + 8_000 + 4_000 + 4_000 * training + 4_000,
            // Repeated signal field, signal A, short training field, and long training fields of 6.4 µs each with a
            // guard interval of 0.8 µs.
            Standard::Ax => 20_000 + 4_000 + 8_000 + 4_000 + 7_200 * training,
        };
        Duration::from_nanos(nanos)
    }

    /// Returns the rate of a modulation.
    ///
    /// # Errors
    ///
    /// Returns an error if the standard does not define the modulation.
    pub(super) fn rate(self, modulation: Modulation) -> Result<Rate, Fault> {
        let Modulation { mcs, width_mhz, streams, guard } = modulation;
        let (modulations, most_streams, useful_nanos) = match self {
            Standard::A => (LEGACY_MODULATIONS, 1, 3_200),
            Standard::N => (&MODULATIONS[..8], 4, 3_200),
            Standard::Ac => (&MODULATIONS[..10], 8, 3_200),
            Standard::Ax => (MODULATIONS, 8, 12_800),
        };
        let guards: &[u64] = match self {
            Standard::A => &[800],
            Standard::N | Standard::Ac => &[400, 800],
            Standard::Ax => &[800, 1_600, 3_200],
        };
        let Some(&(bits, over, under)) = modulations.get(mcs as usize) else {
            let most = modulations.len() - 1;
            return Err(Fault::new("mcs", format!("{} has MCS 0 to {most} for each stream", self.word())));
        };
        let Some(subcarriers) = self.subcarriers(width_mhz) else {
            let known: Vec<String> = [20, 40, 80, 160]
                .into_iter()
                .filter(|width| self.subcarriers(*width).is_some())
                .map(|width| width.to_string())
                .collect();
            let message = format!("{} has channels of {} MHz", self.word(), known.join(", "));
            return Err(Fault::new("width_mhz", message));
        };
        if !(1..=most_streams).contains(&streams) {
            let message = format!("{} has 1 to {most_streams} spatial streams", self.word());
            return Err(Fault::new("streams", message));
        }
        if !guards.contains(&guard.as_nanos()) {
            let known: Vec<String> = guards.iter().map(|nanos| format!("{nanos} ns")).collect();
            return Err(Fault::new("guard", format!("{} has guard intervals of {}", self.word(), known.join(", "))));
        }
        // The useful part of a symbol takes 3.2 µs, or 12.8 µs in 802.11ax.
        let symbol = Duration::from_nanos(useful_nanos) + guard;
        // Data bits per OFDM symbol (N_DBPS in the standards' tables).
        let bits_per_symbol = subcarriers * bits * u64::from(streams) * over / under;
        let rate = BitRate::from_bps(bits_per_symbol * 1_000_000_000 / symbol.as_nanos());
        Ok(Rate { rate, symbol, preamble: self.preamble(streams) })
    }
}

impl Rate {
    /// Returns the air time of `octets` bytes, rounded up to whole symbols. A symbol duration of zero disables the
    /// rounding.
    pub fn airtime(&self, octets: Bytes) -> Duration {
        if self.symbol.is_zero() {
            return self.preamble + self.rate.time_to_send(octets, 0).0;
        }
        // `rate` was rounded down to whole bit/s. To compensate for this error, round the bits per symbol to the
        // nearest integer.
        let product = u128::from(self.rate.as_bps()) * u128::from(self.symbol.as_nanos());
        let per_symbol = ((product + 500_000_000) / 1_000_000_000).max(1) as u64;
        self.preamble + self.symbol * (octets.bits() + SERVICE_AND_TAIL).div_ceil(per_symbol)
    }
}

/// Returns the size of a block acknowledgement for a window of this size. The bitmap has 64 or 256 bits.
pub(super) fn block_ack(window: u32) -> Bytes {
    Bytes::new(BLOCK_ACK + if window > 64 { 32 } else { 8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(standard: Standard, mcs: u32, width_mhz: u32, streams: u32, guard_nanos: u64) -> f64 {
        let guard = Duration::from_nanos(guard_nanos);
        let rate = standard.rate(Modulation { mcs, width_mhz, streams, guard }).unwrap();
        (rate.rate.as_bps() as f64 / 1e5).round() / 10.0
    }

    /// Compares rates with the tables of the standards (17-4, 19-38, 21-38 and following, 27-111).
    #[test]
    fn rates_match_the_tables_of_the_standards() {
        assert_eq!(mbit(Standard::A, 0, 20, 1, 800), 6.0);
        assert_eq!(mbit(Standard::A, 7, 20, 1, 800), 54.0);
        assert_eq!(mbit(Standard::N, 0, 20, 1, 800), 6.5);
        assert_eq!(mbit(Standard::N, 7, 20, 1, 400), 72.2);
        assert_eq!(mbit(Standard::N, 7, 40, 2, 400), 300.0);
        assert_eq!(mbit(Standard::N, 7, 40, 4, 400), 600.0);
        assert_eq!(mbit(Standard::Ac, 9, 80, 1, 400), 433.3);
        assert_eq!(mbit(Standard::Ac, 9, 80, 2, 400), 866.7);
        assert_eq!(mbit(Standard::Ac, 9, 160, 8, 400), 6933.3);
        assert_eq!(mbit(Standard::Ax, 0, 20, 1, 800), 8.6);
        assert_eq!(mbit(Standard::Ax, 11, 80, 1, 800), 600.4);
        assert_eq!(mbit(Standard::Ax, 11, 80, 2, 3200), 1020.8);
        assert_eq!(mbit(Standard::Ax, 11, 160, 8, 800), 9607.8);
    }

    /// The legacy preamble takes 20 us. Signal and training fields follow, with one long training field for each stream.
    #[test]
    fn preambles_have_the_durations_of_the_standards() {
        let preamble = |standard: Standard, streams| standard.preamble(streams).as_nanos();
        assert_eq!(preamble(Standard::A, 1), 20_000);
        assert_eq!([1, 2, 3, 4].map(|streams| preamble(Standard::N, streams)), [36_000, 40_000, 48_000, 48_000]);
        assert_eq!([1, 5, 6, 8].map(|streams| preamble(Standard::Ac, streams)), [40_000, 60_000, 60_000, 68_000]);
        assert_eq!([1, 2, 7].map(|streams| preamble(Standard::Ax, streams)), [43_200, 50_400, 93_600]);
    }

    /// In 802.11a, an ACK takes 44 us at 6 Mbit/s and 28 us at 24 Mbit/s. A block acknowledgement takes 32 us at 24
    /// Mbit/s.
    #[test]
    fn the_durations_of_control_frames_match_the_standard() {
        let at = |mbit: u64| Rate {
            rate: BitRate::from_bps(mbit * 1_000_000),
            symbol: Duration::from_micros(4),
            preamble: LEGACY_PREAMBLE,
        };
        assert_eq!(at(6).airtime(ACK), Duration::from_micros(44));
        assert_eq!(at(24).airtime(ACK), Duration::from_micros(28));
        assert_eq!(at(24).airtime(RTS), Duration::from_micros(28));
        assert_eq!(at(24).airtime(block_ack(64)), Duration::from_micros(32));
        // 1,536 bytes at 54 Mbit/s take 57 symbols of 216 bits.
        assert_eq!(at(54).airtime(Bytes::new(1536)), Duration::from_micros(20 + 4 * 57));
    }
}
