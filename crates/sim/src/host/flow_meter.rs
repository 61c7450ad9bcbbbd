//! Measurements at one end of a flow, over all connections of its application.

use crate::meter::{DelayStats, TimeWeightedGauge};
use lopsided_app::{Report, Transport};
use lopsided_core::{Bytes, Duration, Packet, Time};
use lopsided_tcp::{Connection, Counters};

/// The measurements of one end of a flow.
#[derive(Debug, Default)]
pub(crate) struct FlowMeter {
    /// Delays and windows; `None` before the first value, because most flows measure them at only one end.
    pub path: Option<Box<PathMeter>>,
    /// Measurements of ended connections; `None` if there are none.
    pub past: Option<Box<Past>>,
    /// Bytes that the application read. For datagrams: bytes of the IP packets that arrived.
    pub delivered_bytes: u64,
    /// Counts of datagrams; `None` before the first.
    pub datagrams: Option<Box<DatagramCounts>>,
    /// Reports of the application that have not been collected yet; `None` before the first.
    #[expect(clippy::box_collection, reason = "few applications report")]
    reports: Option<Box<Vec<(Time, Report)>>>,
}

/// The delays and the congestion windows of a flow.
#[derive(Debug, Default)]
pub(crate) struct PathMeter {
    /// RTT samples of single segments, or one-way delays of datagrams.
    pub rtt: DelayStats,
    /// Sum of the congestion windows of all connections, over time.
    pub cwnd: TimeWeightedGauge,
    /// The current sum of the congestion windows, in bytes.
    cwnd_sum: u64,
}

/// Measurements of ended connections.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Past {
    /// The sum of the counters.
    pub counters: Counters,
    /// Smoothed RTT of the connection that ended last.
    pub last_srtt: Option<Duration>,
    /// Number of data segments that arrived on connections that no longer exist.
    pub segments_in: u64,
}

/// Counts of datagrams.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct DatagramCounts {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes of the IP packets that carried the sent datagrams.
    pub bytes_sent: Bytes,
}

/// The part of a connection's statistics that the meter has already counted.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counted {
    /// Number of RTT samples, and their sum in nanoseconds.
    rtt: (u64, u64),
    /// The connection's contribution to the sum of the congestion windows, in bytes.
    cwnd: u64,
}

impl PathMeter {
    #[inline]
    fn set_cwnd(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        let cwnd = connection.cwnd().get();
        // Add the change of this connection's window, instead of summing up all connections.
        self.cwnd_sum = self.cwnd_sum + cwnd - counted.cwnd;
        counted.cwnd = cwnd;
        self.cwnd.set(now, self.cwnd_sum);
    }
}

impl FlowMeter {
    /// Returns the delays and windows, to be changed.
    #[inline]
    pub fn path_mut(&mut self) -> &mut PathMeter {
        self.path.get_or_insert_default()
    }

    /// Starts to count a new connection.
    pub fn open(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        *counted = Counted::default();
        self.path_mut().set_cwnd(now, connection, counted);
    }

    /// Updates the window and the RTT samples after a segment. If one ACK yields several samples, the histogram counts
    /// the mean of the samples.
    #[inline(always)]
    pub fn watch(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        let path = self.path_mut();
        path.set_cwnd(now, connection, counted);
        let stats = connection.rtt_stats();
        // The connection stores totals, so the values of this segment are the difference from the previous call.
        let (count, sum) = (stats.count - counted.rtt.0, stats.sum_ns - counted.rtt.1);
        if let Some(mean) = sum.checked_div(count) {
            counted.rtt = (stats.count, stats.sum_ns);
            path.rtt.count(Duration::from_nanos(mean), count as u32);
        }
    }

    /// Counts the end of a connection. `last` is true if the application has no other live connection.
    pub fn close(&mut self, now: Time, connection: &mut Connection, counted: &mut Counted, last: bool) {
        self.absorb(connection, counted);
        let path = self.path_mut();
        path.cwnd_sum -= counted.cwnd;
        counted.cwnd = 0;
        if last {
            // While no connection exists, the window is undefined. A window of 0 would reduce the mean.
            path.cwnd.pause(now);
        } else {
            path.cwnd.set(now, path.cwnd_sum);
        }
        let past = self.past.get_or_insert_default();
        past.counters = past.counters + connection.counters();
        past.last_srtt = connection.info(now).srtt;
    }

    /// Adds the RTT statistics of a connection to the statistics of the flow.
    pub fn absorb(&mut self, connection: &mut Connection, counted: &mut Counted) {
        counted.rtt = (0, 0);
        self.path_mut().rtt.absorb(&connection.take_rtt_stats());
    }

    /// Adds the RTT samples of a foreign transport to the statistics of the flow.
    pub fn take_rtts(&mut self, transport: &mut dyn Transport) {
        let rtt = &mut self.path_mut().rtt;
        transport.take_rtts(&mut |took| rtt.add(took));
    }

    /// Returns the counts of datagrams.
    pub fn datagrams(&self) -> DatagramCounts {
        self.datagrams.as_deref().copied().unwrap_or_default()
    }

    /// Counts a received datagram.
    pub fn datagram_arrived(&mut self, now: Time, sent_at: Time, packet: &Packet) {
        self.datagrams.get_or_insert_default().received += 1;
        self.delivered_bytes += packet.size().get();
        self.path_mut().rtt.add(now.saturating_since(sent_at));
    }

    /// Stores a report of the application.
    pub fn report(&mut self, now: Time, report: Report) {
        self.reports.get_or_insert_default().push((now, report));
    }

    /// Returns the reports since the last call.
    pub fn take_reports(&mut self) -> Vec<(Time, Report)> {
        self.reports.take().map_or_else(Vec::new, |reports| *reports)
    }
}
