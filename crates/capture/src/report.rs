//! The results for one direction of a connection: shares of limits, the ACK path's figures, bottlenecks, the control.

use crate::bottleneck::{Bottleneck, of_acks, of_data};
use crate::connection::{Connection, Vantage};
use crate::control::{Guess, Habits};
use crate::limit::Limit;
use crate::load::Loads;
use crate::timeline::Bin;

/// ACKs that come at more than this multiple of the line's rate are compressed.
const COMPRESSED: f64 = 2.0;
/// Share of the receiver's packets that must be missing before the network counts as thinning ACKs.
const THINNED: f64 = 0.1;
/// Share of stretch ACKs above which ACKs are few.
const FEW: f64 = 0.25;

/// Who makes ACKs few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinning {
    /// No end: at most every second segment is acknowledged.
    None,
    /// The receiver, or its network card.
    Receiver,
    /// Something between the receiver and the point of capture drops ACKs.
    Network,
    /// ACKs are few, and the capture does not show why.
    Unknown,
}

impl Thinning {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Thinning::None => "none",
            Thinning::Receiver => "receiver",
            Thinning::Network => "network",
            Thinning::Unknown => "unknown",
        }
    }
}

/// The results for one direction; NaN for what the capture does not show.
#[derive(Clone, Debug)]
pub struct Report {
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The bins, their limits as they count.
    pub bins: Vec<Bin>,
    /// Share of each limit in the time from the first to the last data; they add up to 1.
    pub shares: [f64; Limit::ALL.len()],
    /// The limit with the largest share.
    pub limit: Limit,
    /// The smallest round trip of the whole path, in ms.
    pub floor_ms: f64,
    /// Share of ACKs that cover data faster than twice the line's rate.
    pub compressed: f64,
    /// Share of ACKs that cover more than two segments.
    pub stretch: f64,
    /// Who makes ACKs few.
    pub thinning: Thinning,
    /// Octets of ACKs over what the line of the ACKs carries.
    pub ack_share: f64,
    /// The bottleneck of the data.
    pub data: Bottleneck,
    /// The bottleneck of the ACKs.
    pub acks: Bottleneck,
    /// The sender's congestion control.
    pub control: Guess,
}

impl Report {
    /// Computes the results for the data that one end sent.
    pub fn of(connection: &Connection, sender: usize, loads: &Loads) -> Report {
        let direction = &connection.directions[sender];
        let vantage = connection.vantage(sender);
        let mut bins = direction.judged(vantage == Vantage::Sender);
        let mut shares = self::shares(&bins);
        let halves = connection.halves(sender);
        let floor_ms = match halves {
            [None, None] => f64::NAN,
            halves => halves.into_iter().flatten().sum::<u64>() as f64 * 1e-6,
        };
        let (data, acks) = (of_data(connection, sender, loads), of_acks(connection, sender, loads));
        let path = &direction.ack_path;
        let active = direction.last_ack.saturating_sub(direction.first_data.unwrap_or(0)) as f64 * 1e-9;
        let stretch = path.stretch as f64 / path.advancing as f64;
        let habits = Habits {
            pacing: shares[Limit::Pacing as usize],
            window: shares[Limit::Avoidance as usize] + shares[Limit::AckPath as usize],
            rounds: active * 1e3 / floor_ms.max(direction.far.mean_ms()),
            floor_ms,
            wait_at_loss_ms: direction.wait_at_loss_ms.quantile(0.5),
        };
        let control = direction.control.guess(&habits);
        if control.name == "bbr" && vantage != Vantage::Sender {
            // Only the control shows at other points that the sender paces.
            bins.iter_mut().for_each(Bin::pace);
            shares = self::shares(&bins);
        }
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

/// Shares of the attributed time. A direction that sent all at once has nothing to attribute: the application had no
/// more.
fn shares(bins: &[Bin]) -> [f64; Limit::ALL.len()] {
    let mut totals = [0.0; Limit::ALL.len()];
    for bin in bins {
        totals.iter_mut().zip(bin.limits).for_each(|(total, time)| *total += time as f64);
    }
    let all: f64 = totals.iter().sum();
    if all == 0.0 {
        totals[Limit::Application as usize] = 1.0;
        return totals;
    }
    totals.map(|total| total / all)
}

/// Without a line's rate nothing is known about compression.
fn compressed(connection: &Connection, sender: usize, data: &Bottleneck) -> f64 {
    if data.rate_bps.is_nan() {
        return f64::NAN;
    }
    connection.directions[sender].ack_path.rate_bps.share_above(COMPRESSED * data.rate_bps)
}

fn thinning(connection: &Connection, sender: usize, stretch: f64, vantage: Vantage, loads: &Loads) -> Thinning {
    let missing = connection.directions[sender].ack_path.missing_share();
    // A gap in a connection's series is a packet of another connection if the host has one counter.
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
