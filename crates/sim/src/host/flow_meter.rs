//! The measurements of one end of a flow, over all connections of its application.

use crate::meter::{DelayStats, TimeWeightedGauge};
use lopsided_app::{Report, Transport};
use lopsided_core::{Bytes, Duration, Packet, Time};
use lopsided_tcp::{Connection, Counters};

/// The measurements of one end of a flow.
#[derive(Debug, Default)]
pub(crate) struct FlowMeter {
    /// Round-trip times of single segments; one-way times of datagrams.
    pub rtt: DelayStats,
    /// The sum of the congestion windows, over time.
    pub cwnd: TimeWeightedGauge,
    /// The current sum of the congestion windows, in bytes.
    cwnd_sum: u64,
    /// Counters of ended connections; `None` if there are none.
    pub past: Option<Box<Counters>>,
    /// Smoothed RTT of the connection that ended last.
    pub last_srtt: Option<Duration>,
    /// Bytes that the application read. With datagrams, IP bytes that arrived.
    pub delivered_bytes: u64,
    /// Data segments that arrived on connections that no longer exist.
    pub past_segments_in: u64,
    /// Datagrams received.
    pub datagrams_in: u64,
    /// Datagrams sent.
    pub datagrams_out: u64,
    /// IP bytes of the datagrams sent.
    pub datagram_bytes_out: Bytes,
    /// Reports of the application that have not been collected yet.
    reports: Vec<(Time, Report)>,
}

/// The part of a connection's statistics that the meter has counted.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counted {
    /// Number and sum (in nanoseconds) of RTT samples.
    rtt: (u64, u64),
    /// The connection's part of the sum of windows, in bytes.
    cwnd: u64,
}

impl FlowMeter {
    /// Counts a new connection.
    pub fn open(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        *counted = Counted::default();
        self.set_cwnd(now, connection, counted);
    }

    /// Reads the window, and the round-trip times that the last segment completed. If one ACK completes several, the
    /// histogram counts their mean several times: the moments are exact, the quantiles approximate.
    #[inline(always)]
    pub fn watch(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        self.set_cwnd(now, connection, counted);
        let stats = connection.rtt_stats();
        // The connection keeps totals; the difference is what this segment completed.
        let (count, sum) = (stats.count - counted.rtt.0, stats.sum_ns - counted.rtt.1);
        if let Some(mean) = sum.checked_div(count) {
            counted.rtt = (stats.count, stats.sum_ns);
            self.rtt.count(Duration::from_nanos(mean), count as u32);
        }
    }

    #[inline]
    fn set_cwnd(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        let cwnd = connection.cwnd().get();
        // Update the sum by the difference, instead of adding up all connections.
        self.cwnd_sum = self.cwnd_sum + cwnd - counted.cwnd;
        counted.cwnd = cwnd;
        self.cwnd.set(now, self.cwnd_sum);
    }

    /// Counts the end of a connection. `last` is true if the application has no other connection.
    pub fn close(&mut self, now: Time, connection: &mut Connection, counted: &mut Counted, last: bool) {
        self.absorb(connection, counted);
        self.cwnd_sum -= counted.cwnd;
        counted.cwnd = 0;
        if last {
            // Without a connection there is no window, which is not the same as a window of 0.
            self.cwnd.pause(now);
        } else {
            self.cwnd.set(now, self.cwnd_sum);
        }
        let past = self.past.get_or_insert_default();
        **past = **past + connection.counters();
        self.last_srtt = connection.info(now).srtt;
    }

    /// Merges a connection's RTT statistics.
    pub fn absorb(&mut self, connection: &mut Connection, counted: &mut Counted) {
        counted.rtt = (0, 0);
        self.rtt.absorb(&connection.take_rtt_stats());
    }

    /// Merges the RTT samples of a foreign transport.
    pub fn take_rtts(&mut self, transport: &mut dyn Transport) {
        let rtt = &mut self.rtt;
        transport.take_rtts(&mut |took| rtt.add(took));
    }

    /// Counts a received datagram.
    pub fn datagram_arrived(&mut self, now: Time, packet: &Packet) {
        self.datagrams_in += 1;
        self.delivered_bytes += packet.size().get();
        self.rtt.add(now.saturating_since(packet.sent_at()));
    }

    /// Stores a report of the application.
    pub fn report(&mut self, now: Time, report: Report) {
        self.reports.push((now, report));
    }

    /// Returns the reports since the last call.
    pub fn take_reports(&mut self) -> Vec<(Time, Report)> {
        std::mem::take(&mut self.reports)
    }
}
