//! The results for one direction of a connection: limits, ACK behaviour, bottlenecks and congestion control.

use crate::bottleneck::{Bottleneck, of_acks, of_data};
use crate::connection::{Connection, Vantage};
use crate::control::{Guess, guess};
use crate::limit::Limit;
use crate::load::Loads;
use crate::timeline::{Bin, settle_bbr};
use lopsided_core::Duration;

/// An ACK is compressed if it acknowledges data at more than this multiple of the link's rate.
const COMPRESSED: f64 = 2.0;
/// If at least this share of the receiver's packets is missing, the network is assumed to drop ACKs.
const THINNED: f64 = 0.1;
/// ACKs count as thinned if at least this share of them are stretch ACKs.
const FEW: f64 = 0.25;

/// The cause of ACK thinning: the reason why the capture contains fewer than one ACK per two segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinning {
    /// ACKs are not thinned: stretch ACKs are rare.
    None,
    /// The receiver or its network card sends few ACKs.
    Receiver,
    /// The network drops ACKs between the receiver and the point of capture.
    Network,
    /// There are few ACKs, and the capture does not show the reason.
    Unknown,
}

impl Thinning {
    /// Returns the name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Thinning::None => "none",
            Thinning::Receiver => "receiver",
            Thinning::Network => "network",
            Thinning::Unknown => "unknown",
        }
    }
}

/// The results for one direction of data. Values that the capture does not show are NaN.
///
/// The crate's documentation contains an example.
#[derive(Clone, Debug)]
pub struct Report {
    /// The place where the capture was taken, relative to this direction of data.
    pub vantage: Vantage,
    /// Measurements over time, with the final limits.
    pub bins: Vec<Bin>,
    /// Share of the time that is attributed to each limit, in the order of [`Limit::ALL`]. The sum is 1.
    pub shares: [f64; Limit::ALL.len()],
    /// The limit with the largest share.
    pub limit: Limit,
    /// Minimum RTT of the whole path in ms.
    pub floor_ms: f64,
    /// Share of the ACKs that acknowledge data at more than twice the bottleneck's rate.
    pub compressed: f64,
    /// Share of ACKs that cover more than two segments, from 0 to 1.
    pub stretch: f64,
    /// The cause of ACK thinning: the reason why the capture contains fewer than one ACK per two segments.
    pub thinning: Thinning,
    /// Share of the capacity of the ACKs' bottleneck that the ACKs use, from 0 to 1.
    pub ack_share: f64,
    /// The bottleneck of the data.
    pub data: Bottleneck,
    /// The bottleneck of the ACKs.
    pub acks: Bottleneck,
    /// The congestion control that the sender probably runs.
    pub control: Guess,
}

impl Report {
    /// Computes the results for the data that endpoint `sender` (0 or 1) of a connection sent.
    pub fn of(connection: &Connection, sender: usize, loads: &Loads) -> Report {
        let direction = &connection.directions[sender];
        let vantage = connection.vantage(sender);
        let mut bins = direction.judged(vantage == Vantage::Sender);
        let mut shares = self::shares(&bins);
        let halves = connection.halves(sender);
        // The RTT of the whole path is the sum of the RTTs from the point of capture to each end.
        let floor_ms = match halves {
            [None, None] => f64::NAN,
            halves => halves.into_iter().flatten().sum::<u64>() as f64 * 1e-6,
        };
        let (data, acks) = (of_data(connection, sender, loads), of_acks(connection, sender, loads));
        let path = direction.ack_path();
        let active = direction.last_ack.saturating_sub(direction.first_data.unwrap_or(0)) as f64 * 1e-9;
        let stretch = path.stretch as f64 / path.advancing as f64;
        let (mss, start) = (direction.full_segment(), direction.start_segments());
        let handshake = connection.handshake_rtt().map(Duration::from_nanos);
        let (control, _) = guess(direction.steps(), mss, start, handshake, shares[Limit::Pacing as usize]);
        if control.name == "bbr" {
            let width = direction.timeline.as_ref().map_or(0, |timeline| timeline.width());
            settle_bbr(&mut bins, width, mss, vantage == Vantage::Sender);
            shares = self::shares(&bins);
        }
        // Determine the main limit last, because the correction for BBR changes the shares.
        let longest = (0..shares.len()).max_by(|one, other| shares[*one].total_cmp(&shares[*other]));
        Report {
            vantage,
            shares,
            limit: longest.map_or(Limit::Application, |place| Limit::ALL[place]),
            floor_ms,
            compressed: compressed(connection, sender, &data),
            stretch,
            thinning: thinning(connection, sender, stretch, vantage, loads),
            ack_share: path.wire_bytes as f64 * 8.0 / active / acks.rate_bps,
            data,
            acks,
            control,
            bins,
        }
    }
}

/// Returns the share of each limit in the attributed time.
fn shares(bins: &[Bin]) -> [f64; Limit::ALL.len()] {
    let mut totals = [0.0; Limit::ALL.len()];
    for bin in bins {
        totals.iter_mut().zip(bin.limits).for_each(|(total, time)| *total += time as f64);
    }
    let all: f64 = totals.iter().sum();
    // If a direction sent all of its data in one burst, the only limit was the amount of data.
    if all == 0.0 {
        totals[Limit::Application as usize] = 1.0;
        return totals;
    }
    totals.map(|total| total / all)
}

/// Returns the share of compressed ACKs; NaN if the rate of the data's bottleneck is unknown.
fn compressed(connection: &Connection, sender: usize, data: &Bottleneck) -> f64 {
    if data.rate_bps.is_nan() {
        return f64::NAN;
    }
    connection.directions[sender].ack_path().rate_bps.share_above(COMPRESSED * data.rate_bps)
}

/// Determines whether ACKs are thinned, and whether the receiver or the network is the cause.
fn thinning(connection: &Connection, sender: usize, stretch: f64, vantage: Vantage, loads: &Loads) -> Thinning {
    let missing = connection.directions[sender].ack_path().missing_share();
    // If the host uses one counter for all connections, a gap in the identifications of one connection may be filled by
    // packets of another connection.
    let of_host = loads.missing_share(connection.ends[1 - sender].address);
    let missing = missing.map(|share| of_host.map_or(share, |of_host| share.min(of_host)));
    if missing.is_some_and(|share| share >= THINNED) {
        return Thinning::Network;
    }
    if stretch.is_nan() || stretch < FEW {
        return Thinning::None;
    }
    if vantage == Vantage::Receiver || missing.is_some() { Thinning::Receiver } else { Thinning::Unknown }
}
