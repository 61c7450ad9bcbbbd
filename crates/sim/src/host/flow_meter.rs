//! What a host measures of one end of a flow, over all the connections of its application.

use crate::meter::{DelayStats, TimeWeightedGauge};
use lopsided_app::{Report, Transport};
use lopsided_core::{Bytes, Duration, Packet, Time};
use lopsided_tcp::{Connection, Counters};

#[derive(Debug, Default)]
pub(crate) struct FlowMeter {
    /// Round trips of single segments; of datagrams the one-way times.
    pub rtt: DelayStats,
    /// The sum of the congestion windows.
    pub cwnd: TimeWeightedGauge,
    cwnd_sum: u64,
    /// Of the connections that are over, once there are some.
    pub past: Option<Box<Counters>>,
    pub last_srtt: Option<Duration>,
    /// Octets that the application read; of datagrams, IP octets that arrived.
    pub delivered_bytes: u64,
    /// Data segments that came over connections that are gone.
    pub past_segments_in: u64,
    pub datagrams_in: u64,
    pub datagrams_out: u64,
    pub datagram_bytes_out: Bytes,
    /// What the application told and nobody has asked for yet.
    reports: Vec<(Time, Report)>,
}

/// How much of one connection the meter has counted.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counted {
    /// Samples of its RTT and their sum.
    rtt: (u64, u64),
    cwnd: u64,
}

impl FlowMeter {
    /// Notes a new connection.
    pub fn open(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        *counted = Counted::default();
        self.set_cwnd(now, connection, counted);
    }

    /// Notes the window, and the round trips that the last segment ended. Those of segments acknowledged together go
    /// into the histogram as their mean: the moments are exact, the quantiles nearly.
    #[inline(always)]
    pub fn watch(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        self.set_cwnd(now, connection, counted);
        let stats = connection.rtt_stats();
        let (count, sum) = (stats.count - counted.rtt.0, stats.sum_ns - counted.rtt.1);
        if let Some(mean) = sum.checked_div(count) {
            counted.rtt = (stats.count, stats.sum_ns);
            self.rtt.count(Duration::from_nanos(mean), count as u32);
        }
    }

    #[inline]
    fn set_cwnd(&mut self, now: Time, connection: &Connection, counted: &mut Counted) {
        let cwnd = connection.cwnd().get();
        self.cwnd_sum = self.cwnd_sum + cwnd - counted.cwnd;
        counted.cwnd = cwnd;
        self.cwnd.set(now, self.cwnd_sum);
    }

    /// A connection is over for its application; `last` if there is no other.
    pub fn close(&mut self, now: Time, connection: &mut Connection, counted: &mut Counted, last: bool) {
        self.absorb(connection, counted);
        self.cwnd_sum -= counted.cwnd;
        counted.cwnd = 0;
        if last {
            self.cwnd.pause(now);
        } else {
            self.cwnd.set(now, self.cwnd_sum);
        }
        let past = self.past.get_or_insert_default();
        **past = **past + connection.counters();
        self.last_srtt = connection.info(now).srtt;
    }

    /// Takes over a connection's statistic of round trips.
    pub fn absorb(&mut self, connection: &mut Connection, counted: &mut Counted) {
        counted.rtt = (0, 0);
        self.rtt.absorb(&connection.take_rtt_stats());
    }

    /// Takes the round trips that a foreign transport timed.
    pub fn take_rtts(&mut self, transport: &mut dyn Transport) {
        let rtt = &mut self.rtt;
        transport.take_rtts(&mut |took| rtt.add(took));
    }

    pub fn datagram_arrived(&mut self, now: Time, packet: &Packet) {
        self.datagrams_in += 1;
        self.delivered_bytes += packet.size().get();
        self.rtt.add(now.saturating_since(packet.sent_at()));
    }

    pub fn report(&mut self, now: Time, report: Report) {
        self.reports.push((now, report));
    }

    pub fn take_reports(&mut self) -> Vec<(Time, Report)> {
        std::mem::take(&mut self.reports)
    }
}
