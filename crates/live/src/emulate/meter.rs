//! A status row at the bottom of the terminal. The command uses the rows above it.
//!
//! The rows above the status row become the terminal's scroll region. A full-screen program overwrites the status row
//! until the next update.

use super::line::Ends;
use crate::rate::bits;
use lopsided_core::{Dir, NodeId};
use lopsided_net::Network;
use lopsided_scenario::{Hop, Scenario};
use lopsided_sim::{Host, NodeKind, node_labels};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

/// Time between two updates of the row, in seconds. `show` may be called more often.
const SHOWN_EVERY_S: f64 = 0.5;

#[derive(Debug)]
pub(super) struct Meter {
    /// The traffic to the command, then the traffic from the command.
    ways: [Way; 2],
    size: (u16, u16),
    shown_at_s: f64,
}

/// One direction of the path: its slowest link, and the counters of this link at the previous update.
#[derive(Debug)]
struct Way {
    arrow: &'static str,
    link: NodeId,
    before: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    sent_bytes: u64,
    sent_packets: u64,
    /// Total queueing time of all packets that have left the link, in seconds.
    waited_s: f64,
    lost_packets: u64,
}

impl Meter {
    /// Reserves the row. Returns `None` if standard error is not a terminal.
    pub fn start(scenario: &Scenario, ends: Ends) -> Option<Meter> {
        let size = io::stderr().is_terminal().then(size)??;
        let ways = [("\u{2193}", ends.outside, ends.inside), ("\u{2191}", ends.inside, ends.outside)].map(
            |(arrow, from, to)| Some(Way { arrow, link: narrowest(scenario, from, to)?, before: Seen::default() }),
        );
        let [Some(down), Some(up)] = ways else { return None };
        let meter = Meter { ways: [down, up], size, shown_at_s: 0.0 };
        // The cursor may be in the last row. Scroll by one line to free the last row.
        write_now(&format!("\n\x1b[A{}", meter.reserve()));
        Some(meter)
    }

    /// Limits scrolling to all rows except the last row, and restores the cursor.
    fn reserve(&self) -> String {
        format!("\x1b7\x1b[1;{}r\x1b8", self.size.0 - 1)
    }

    pub fn show(&mut self, network: &mut Network<Host>) {
        let now_s = network.now().as_secs_f64();
        let passed_s = now_s - self.shown_at_s;
        if passed_s < SHOWN_EVERY_S {
            return;
        }
        self.shown_at_s = now_s;
        let mut text = String::new();
        for way in &mut self.ways {
            let seen = look(network, way.link);
            let rate = 8.0 * (seen.sent_bytes - way.before.sent_bytes) as f64 / passed_s;
            let packets = seen.sent_packets - way.before.sent_packets;
            let waited_ms =
                if packets == 0 { 0.0 } else { 1e3 * (seen.waited_s - way.before.waited_s) / packets as f64 };
            let _ =
                write!(text, "  {} {:>11} {waited_ms:>6.1} ms {:>5} lost", way.arrow, bits(rate), seen.lost_packets);
            way.before = seen;
        }
        let mut drawn = String::new();
        // The user may have resized the terminal.
        if let Some(size) = size().filter(|size| *size != self.size) {
            self.size = size;
            drawn.push_str(&self.reserve());
        }
        let (rows, columns) = self.size;
        // A longer row would wrap and scroll the terminal.
        let text: String = text.chars().take(usize::from(columns)).collect();
        let _ = write!(drawn, "\x1b7\x1b[{rows};1H\x1b[7m{text:<width$}\x1b[0m\x1b8", width = usize::from(columns));
        write_now(&drawn);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        write_now(&format!("\x1b7\x1b[r\x1b[{};1H\x1b[2K\x1b8", self.size.0));
    }
}

/// Writes the text in one call, so that the command's output cannot appear in the middle of it.
fn write_now(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns the number of rows and columns of the terminal; `None` if the terminal is too small.
fn size() -> Option<(u16, u16)> {
    let (rows, columns) = crate::linux::terminal_size(&io::stderr())?;
    (rows >= 4 && columns >= 20).then_some((rows, columns))
}

fn narrowest(scenario: &Scenario, from: usize, to: usize) -> Option<NodeId> {
    let path = scenario.graph.routes().path(from, to)?;
    let rate = |hop: &&Hop| scenario.graph.links[hop.link].dir(hop.dir).rate.map_or(u64::MAX, |rate| rate.as_bps());
    let hop = path.iter().min_by_key(rate)?;
    let links = node_labels(scenario).into_iter().filter(|label| matches!(label.kind, NodeKind::Link(_)));
    links.map(|label| label.node).nth(2 * hop.link + usize::from(hop.dir == Dir::Up))
}

fn look(network: &mut Network<Host>, link: NodeId) -> Seen {
    network.with_link(link, |link, cx| {
        let view = link.sync(cx);
        let stats = view.queue_stats();
        let sent_packets = stats.sent_packets();
        Seen {
            sent_bytes: stats.sent_bytes().get(),
            sent_packets,
            waited_s: stats.mean_sojourn().map_or(0.0, |mean| mean.as_secs_f64() * sent_packets as f64),
            lost_packets: cx.counters().dropped_total().packets,
        }
    })
}
