//! The rows of the tables, from an analysis of one or two captures.

use super::tables::{
    BetweenRow, BetweenTable, DirectionRow, DirectionTable, PassageRow, PassageTable, PointRow, PointTable,
    TimelineRow, TimelineTable,
};
use lopsided_capture::{Analysis, Between, Connection, Direction, Kind, Limit, Report, SlowStartEnd};

/// Returns the tables `between` and `passages`. Times are measured from `begin`, which is in nanoseconds of the first
/// capture's clock.
pub(super) fn both_tables(between: &Between, begin: u64) -> (BetweenTable, PassageTable) {
    let (mut ways, mut passages) = (BetweenTable::default(), PassageTable::default());
    for way in &between.ways {
        // Without a packet in both captures, the bounds are infinite. Replace them by NaN, which becomes null.
        let bound = |ms: f64| if ms.is_finite() { ms } else { f64::NAN };
        ways.push(BetweenRow {
            from: way.from.address.to_string(),
            from_port: way.from.port.into(),
            to: way.to.address.to_string(),
            to_port: way.to.port.into(),
            first: way.first as u64 + 1,
            packets_1: way.packets[0],
            packets_2: way.packets[1],
            packets_both: way.both,
            lost_packets: way.lost(),
            delay_min_ms: bound(way.bounds_ms.0),
            delay_p50_ms: way.delay_ms.quantile(0.5),
            delay_p95_ms: way.delay_ms.quantile(0.95),
            delay_max_ms: bound(way.bounds_ms.1),
        });
    }
    for passage in &between.passages {
        passages.push(PassageRow {
            way: passage.way as u64 + 1,
            time_s: (passage.at - begin as i64) as f64 * 1e-9,
            packet_1: passage.numbers[0],
            packet_2: passage.numbers[1],
            delay_ms: passage.delay.map_or(f64::NAN, |delay| delay as f64 * 1e-6),
        });
    }
    (ways, passages)
}

/// Returns the tables `directions`, `timeline` and `points`.
pub(super) fn capture_tables(found: &Analysis) -> (DirectionTable, TimelineTable, PointTable) {
    let (mut directions, mut timeline, mut points) =
        (DirectionTable::default(), TimelineTable::default(), PointTable::default());
    let mut number = 0;
    for (place, connection) in found.connections.iter().enumerate() {
        for sender in 0..2 {
            // Skip a direction without data: it has no sender whose limits could be explained.
            if connection.directions[sender].data_segments == 0 {
                continue;
            }
            number += 1;
            let report = Report::of(connection, sender, &found.loads);
            directions.push(direction_row(found, (number, place as u64 + 1), connection, sender, &report));
            let direction = &connection.directions[sender];
            add_bins(&mut timeline, found, number, direction, &report);
            add_points(&mut points, found, number, direction);
        }
    }
    (directions, timeline, points)
}

fn direction_row(
    found: &Analysis,
    (number, place): (u64, u64),
    connection: &Connection,
    sender: usize,
    report: &Report,
) -> DirectionRow {
    let (data, back) = (&connection.directions[sender], &connection.directions[1 - sender]);
    let (from, to) = (connection.ends[sender], connection.ends[1 - sender]);
    let active = data.last_ack.saturating_sub(data.first_data.unwrap_or(0)) as f64 * 1e-9;
    let path = data.ack_path();
    let (slow_start_end, recoveries, timeouts) = data.repairs().unwrap_or((None, 0, 0));
    let share = |limit: Limit| report.shares[limit as usize];
    let millis = |nanos: Option<u64>| nanos.map_or(f64::NAN, |nanos| nanos as f64 * 1e-6);
    let shaken = connection.handshake_rtts();
    let opened_by = match connection.handshake[0].or(connection.handshake[1]) {
        Some(_) if sender == 0 => "sender",
        Some(_) => "receiver",
        None => "unknown",
    };
    DirectionRow {
        direction: number,
        connection: place,
        from: from.address.to_string(),
        from_port: from.port.into(),
        to: to.address.to_string(),
        to_port: to.port.into(),
        vantage: report.vantage.name(),
        opened_by,
        ending: connection.ending.name(),
        start_s: connection.times.0.saturating_sub(found.times.0) as f64 * 1e-9,
        elapsed_s: connection.times.1.saturating_sub(connection.times.0) as f64 * 1e-9,
        first_packet: connection.numbers.0,
        last_packet: connection.numbers.1,
        handshake_ms: millis(shaken[0].zip(shaken[1]).map(|(one, other)| one + other)),
        mss_bytes: Some(u64::from(connection.agreed_mss())).filter(|mss| *mss > 0),
        options: options(connection),
        initial_window_packets: data.first_flight.0.into(),
        packets: data.packets,
        packets_back: back.packets,
        data_packets: data.data_segments,
        data_bytes: data.data_bytes,
        acked_bytes: data.acked_bytes,
        goodput_bps: if active > 0.0 { data.acked_bytes as f64 * 8.0 / active } else { f64::NAN },
        sending_s: data.last_data.saturating_sub(data.first_data.unwrap_or(data.last_data)) as f64 * 1e-9,
        offload: if connection.agreed_mss() > 0 && data.largest > connection.agreed_mss() { "yes" } else { "no" },
        retransmitted_packets: data.retransmitted_segments,
        retransmitted_bytes: data.retransmitted_bytes,
        spurious_packets: data.spurious,
        filled_holes: data.filled_holes,
        recoveries: recoveries.into(),
        timeouts: timeouts.into(),
        slow_start_end: slow_start_end.map_or("", SlowStartEnd::name),
        marked_packets: data.ecn.0,
        echoed_marks: data.ecn.2,
        rtt_count: data.far.ms.count(),
        rtt_mean_ms: data.far.mean_ms(),
        rtt_std_ms: data.far.std_ms(),
        rtt_min_ms: millis(data.far.least),
        rtt_max_ms: millis(data.far.least.map(|_| data.far.most)),
        rtt_p50_ms: data.far.ms.quantile(0.5),
        rtt_p95_ms: data.far.ms.quantile(0.95),
        near_rtt_min_ms: millis(connection.halves(sender)[1]),
        rtt_floor_ms: report.floor_ms,
        data_wait_p50_ms: data.data_wait_ms.quantile(0.5),
        data_wait_p95_ms: data.data_wait_ms.quantile(0.95),
        ack_wait_p50_ms: path.wait_ms.quantile(0.5),
        ack_wait_p95_ms: path.wait_ms.quantile(0.95),
        outstanding_max_bytes: data.most_out.into(),
        window_min_bytes: back.windows.0.into(),
        window_max_bytes: back.windows.1.into(),
        acks: path.pure,
        ack_ratio: path.pure as f64 / data.data_segments as f64,
        ack_bytes_p50_bytes: path.covered_bytes.quantile(0.5),
        ack_bytes_p95_bytes: path.covered_bytes.quantile(0.95),
        stretch_share: report.stretch,
        compressed_share: report.compressed,
        batching_ms: path.batching_ms().unwrap_or(f64::NAN),
        ack_thinning: report.thinning.name(),
        reordered_acks: path.reordered,
        ack_uplink_share: report.ack_share,
        limited_by: report.limit.name(),
        limited_application: share(Limit::Application),
        limited_receive_window: share(Limit::ReceiveWindow),
        limited_slow_start: share(Limit::SlowStart),
        limited_avoidance: share(Limit::Avoidance),
        limited_recovery: share(Limit::Recovery),
        limited_pacing: share(Limit::Pacing),
        limited_ack_path: share(Limit::AckPath),
        limited_rto_idle: share(Limit::RtoIdle),
        limited_receiver_stall: share(Limit::ReceiverStall),
        data_rate_bps: report.data.rate_bps,
        data_buffer_ms: report.data.buffer_ms,
        data_buffer_bytes: report.data.buffer_bytes(),
        data_longest_wait_ms: report.data.longest_wait_ms,
        data_discipline: report.data.discipline.name(),
        ack_rate_bps: report.acks.rate_bps,
        ack_longest_wait_ms: report.acks.longest_wait_ms,
        cc: report.control.name,
        cc_probability: report.control.probability,
        reduction: report.control.factor,
    }
}

/// Returns the names of the options that both SYNs contain.
fn options(connection: &Connection) -> String {
    let [Some(one), Some(other)] = [connection.directions[0].syn, connection.directions[1].syn] else {
        return String::new();
    };
    let both = [
        ("sack", one.sack_permitted && other.sack_permitted),
        ("timestamps", one.timestamps.is_some() && other.timestamps.is_some()),
        ("window_scale", one.window_scale.is_some() && other.window_scale.is_some()),
    ];
    both.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

fn add_bins(table: &mut TimelineTable, found: &Analysis, number: u64, direction: &Direction, report: &Report) {
    let Some(timeline) = &direction.timeline else { return };
    let width_s = timeline.width() as f64 * 1e-9;
    for (place, bin) in report.bins.iter().enumerate() {
        let begin = timeline.begin() + place as u64 * timeline.width();
        let (limit, confidence) = bin.verdict().map_or(("", f64::NAN), |(limit, share)| (limit.name(), share));
        table.push(TimelineRow {
            direction: number,
            time_s: begin.saturating_sub(found.times.0) as f64 * 1e-9,
            width_s,
            first_packet: bin.packets.0,
            last_packet: bin.packets.1,
            limit,
            confidence,
            sent_bytes: bin.sent_bytes,
            acked_bytes: bin.acked_bytes,
            goodput_bps: bin.acked_bytes as f64 * 8.0 / width_s,
            retransmitted_packets: bin.retransmitted.into(),
            acks: bin.acks.into(),
            rtt_mean_ms: bin.rtt_ms.mean(),
            rtt_max_ms: if bin.rtt_ms.count == 0 { f64::NAN } else { bin.rtt_ms.most.into() },
            data_wait_ms: bin.data_wait_ms.mean(),
            ack_wait_ms: bin.ack_wait_ms.mean(),
            outstanding_max_bytes: bin.most_out.into(),
            window_bytes: Some(u64::from(bin.window)).filter(|window| *window < u64::from(u32::MAX)),
        });
    }
}

fn add_points(table: &mut PointTable, found: &Analysis, number: u64, direction: &Direction) {
    let Some(points) = &direction.points else { return };
    for kind in Kind::ALL {
        for point in points.of(kind) {
            table.push(PointRow {
                direction: number,
                kind: kind.name(),
                time_s: point.at.saturating_sub(found.times.0) as f64 * 1e-9,
                start_bytes: point.start,
                end_bytes: point.end,
                packet: point.number,
            });
        }
    }
}
