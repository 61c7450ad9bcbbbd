//! The analysis of a capture as tables: directions, their limits over time, and points of diagrams. For two captures,
//! the tables also contain the delays between the two points of capture.

use crate::columns::columns;
use crate::error::Failure;
use crate::tables::declared;
use lopsided_capture::{
    Analysis, Between, Connection, Direction, Kind, Limit, ReadError, Report, SlowStartEnd, Vantage,
};
use lopsided_sim::table;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

table! {
    /// One row for each direction of a TCP connection that carried data. A value that the capture does not show is
    /// null.
    DirectionTable of DirectionRow as "directions" {
        /// Number of the direction in the capture, from 1. Other tables refer to it.
        direction: u64 [Label "direction"],
        /// Number of the connection in the capture, from 1. Both of its directions have this number.
        connection: u64 [Label "connection"],
        /// Address of the sender of the data.
        from: String [Text "from"],
        /// Port of the sender.
        from_port: u32 [Label "port"],
        /// Address of the receiver of the data.
        to: String [Text "to"],
        /// Port of the receiver.
        to_port: u32 [Label "port"],
        /// Where the capture was taken: near the `sender` or the `receiver`, in the `middle`, or `unknown`.
        vantage: &'static str [Text "captured at"],
        /// Endpoint that sent the SYN: `sender` or `receiver` of the data; `unknown` if the capture begins after the
        /// SYN.
        opened_by: &'static str [Text "opened by"],
        /// How the connection ended: `fin`, `rst`, or `open` if the capture ended first.
        ending: &'static str [Text "ending"],
        /// Time of the connection's first packet, since the first packet of the capture.
        start_s: f64 [Second "start"],
        /// Time from the first to the last packet of the connection.
        elapsed_s: f64 [Second "elapsed"],
        /// Number of the connection's first packet in the capture.
        first_packet: u64 [Label "first packet"],
        /// Number of the connection's last packet in the capture.
        last_packet: u64 [Label "last packet"],
        /// Round-trip time of the handshake over the whole path.
        handshake_ms: f64 [Millisecond "handshake"],
        /// The smaller of the MSS options in the two SYNs.
        mss_bytes: Option<u64> [Byte "MSS"],
        /// Options that both SYNs contain, separated by spaces: `sack`, `timestamps`, `window_scale`.
        options: String [Text "options"],
        /// Segments that the sender sent before the first ACK of data.
        initial_window_packets: u64 [Packet "initial window"],
        /// Packets from the sender, with or without data.
        packets: u64 [Count "packets"],
        /// Packets to the sender, with or without data.
        packets_back: u64 [Count "packets back"],
        /// Packets with data, including retransmissions.
        data_packets: u64 [Count "data packets"],
        /// Payload sent, including retransmissions.
        data_bytes: u64 [Byte "data"],
        /// Payload that the receiver acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Acknowledged payload divided by the time from the first data packet to the last ACK of new data.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Time from the first to the last data packet.
        sending_s: f64 [Second "sending"],
        /// `yes` if the capture contains packets larger than the MSS, because the host or its network card splits or
        /// merges segments (TSO, GRO).
        offload: &'static str [Text "offload"],
        /// Packets whose data begins below the highest sequence number seen.
        retransmitted_packets: u64 [Count "retransmitted packets"],
        /// Payload of the retransmitted packets.
        retransmitted_bytes: u64 [Byte "retransmitted"],
        /// Packets retransmitted although the receiver had their data, as an ACK, SACK or DSACK shows.
        spurious_packets: u64 [Count "spurious"],
        /// Packets that fill a hole in the captured data. Their first copy was lost before the point of capture, or
        /// arrived late.
        filled_holes: u64 [Count "holes filled"],
        /// Loss recoveries that were started by duplicate ACKs or SACK.
        recoveries: u64 [Count "recoveries"],
        /// Retransmission timeouts.
        timeouts: u64 [Count "timeouts"],
        /// The reason why slow start ended: `loss`, `delay` or `receive_window`; empty if slow start did not end.
        slow_start_end: &'static str [Text "slow start ended by"],
        /// Data packets that are marked CE.
        marked_packets: u64 [Count "CE marks"],
        /// ACKs with the ECE flag.
        echoed_marks: u64 [Count "echoed marks"],
        /// Number of RTT samples between the point of capture and the receiver. Retransmitted segments produce no
        /// sample (Karn's rule).
        rtt_count: u64 [Count "RTT samples"],
        /// Mean round trip from the point of capture to the receiver.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Standard deviation of the round trip from the point of capture to the receiver.
        rtt_std_ms: f64 [Millisecond "RTT std"],
        /// Shortest round trip from the point of capture to the receiver.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Longest round trip from the point of capture to the receiver.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Median round trip from the point of capture to the receiver.
        rtt_p50_ms: f64 [Millisecond "RTT p50"],
        /// 95th percentile of the round trip from the point of capture to the receiver.
        rtt_p95_ms: f64 [Millisecond "RTT p95"],
        /// Shortest round trip from the point of capture to the sender.
        near_rtt_min_ms: f64 [Millisecond "RTT to sender"],
        /// Shortest round-trip time of the whole path.
        rtt_floor_ms: f64 [Millisecond "RTT floor"],
        /// Median queueing delay of data.
        data_wait_p50_ms: f64 [Millisecond "data wait"],
        /// 95th percentile of the queueing delay of data.
        data_wait_p95_ms: f64 [Millisecond "data wait 95 %"],
        /// Median queueing delay of ACKs.
        ack_wait_p50_ms: f64 [Millisecond "ACK wait"],
        /// 95th percentile of the queueing delay of ACKs.
        ack_wait_p95_ms: f64 [Millisecond "ACK wait 95 %"],
        /// Largest amount of unacknowledged data, as seen by the sender.
        outstanding_max_bytes: u64 [Byte "outstanding max"],
        /// Smallest window that the receiver advertised.
        window_min_bytes: u64 [Byte "window min"],
        /// Largest window that the receiver advertised.
        window_max_bytes: u64 [Byte "window max"],
        /// Pure ACKs from the receiver.
        acks: u64 [Count "ACKs"],
        /// Number of pure ACKs divided by the number of data packets.
        ack_ratio: f64 [Number "ACK ratio"],
        /// Median number of bytes that an ACK newly acknowledges, outside loss recovery.
        ack_bytes_p50_bytes: f64 [Byte "octets per ACK"],
        /// 95th percentile of the number of bytes that an ACK newly acknowledges, outside loss recovery.
        ack_bytes_p95_bytes: f64 [Byte "octets per ACK 95 %"],
        /// Share of ACKs that cover more than two segments.
        stretch_share: f64 [Share "stretch ACKs"],
        /// Share of ACKs that acknowledge data at more than twice the rate of the data's bottleneck.
        compressed_share: f64 [Share "compressed ACKs"],
        /// Interval between bursts of ACKs; null unless most ACKs arrive in bursts at a regular interval.
        batching_ms: f64 [Millisecond "ACK batches every"],
        /// The reason why there are few ACKs: `receiver` (delays or merges ACKs), `network` (drops ACKs) or `unknown`;
        /// `none` if there are enough.
        ack_thinning: &'static str [Text "ACK thinning"],
        /// ACKs that arrived after an ACK with a higher acknowledgement number.
        reordered_acks: u64 [Count "ACKs reordered"],
        /// Share of the capacity of the ACKs' bottleneck that the ACKs use.
        ack_uplink_share: f64 [Share "ACKs of uplink"],
        /// The limit that applied for the largest share of the time.
        limited_by: &'static str [Text "limited by"],
        /// Share of the sending time in which the application had nothing to send.
        limited_application: f64 [Share "by application"],
        /// Share of the sending time in which the receiver's window was full.
        limited_receive_window: f64 [Share "by receive window"],
        /// Share of the sending time in which the congestion window was full, in slow start.
        limited_slow_start: f64 [Share "by slow start"],
        /// Share of the sending time in which the congestion window was full, after slow start.
        limited_avoidance: f64 [Share "by congestion avoidance"],
        /// Share of the sending time in which the sender recovered from losses.
        limited_recovery: f64 [Share "by recovery"],
        /// Share of the sending time in which pacing limited the sender.
        limited_pacing: f64 [Share "by pacing"],
        /// Share of the sending time in which the congestion window was full because ACKs had a longer queueing delay
        /// than data.
        limited_ack_path: f64 [Share "by ACK path"],
        /// Share of the sending time in which no packet was sent until the retransmission timer expired.
        limited_rto_idle: f64 [Share "by RTO idle"],
        /// Share of the sending time in which the receiver's window was smaller than a segment.
        limited_receiver_stall: f64 [Share "by receiver stall"],
        /// Bit rate of the data's bottleneck, including IP headers, measured over all connections of the host.
        data_rate_bps: f64 [BitPerSecond "data line"],
        /// Buffer of the data's bottleneck, as the queueing delay of a full buffer; null if the buffer was never full.
        data_buffer_ms: f64 [Millisecond "data buffer"],
        /// Buffer of the data's bottleneck in bytes; null if the buffer was never full.
        data_buffer_bytes: f64 [Byte "data buffer"],
        /// Longest queueing delay of data, which is a lower bound for the buffer.
        data_longest_wait_ms: f64 [Millisecond "longest data wait"],
        /// How the data's bottleneck treats packets that exceed its capacity: `drop_tail`, `aqm`, `policer` or
        /// `unknown`.
        data_discipline: &'static str [Text "discipline"],
        /// Rate of the ACKs' bottleneck; null if it was never busy.
        ack_rate_bps: f64 [BitPerSecond "ACK line"],
        /// Longest queueing delay of ACKs, which is a lower bound for the buffer of their bottleneck.
        ack_longest_wait_ms: f64 [Millisecond "longest ACK wait"],
        /// Congestion control that the sender probably uses, or `unknown`.
        cc: &'static str [Text "CC"],
        /// Probability of the named congestion control.
        cc_probability: f64 [Share "CC probability"],
        /// Median, over all losses, of the data in flight after the loss divided by the data in flight before it.
        reduction: f64 [Number "reduction"],
    }
}

table! {
    /// Each direction over time, with one row per interval. All intervals of a direction have the same length.
    TimelineTable of TimelineRow as "timeline" {
        /// The direction, as in the table of directions.
        direction: u64 [Label "direction"],
        /// Start of the interval, since the first packet of the capture.
        time_s: f64 [Second "time"],
        /// Length of the interval.
        width_s: f64 [Second "width"],
        /// Number of the first data packet or ACK in the interval; 0 without packets.
        first_packet: u64 [Label "first packet"],
        /// Number of the last data packet or ACK in the interval; 0 without packets.
        last_packet: u64 [Label "last packet"],
        /// The limit that applied for the longest time in the interval; empty outside the transfer.
        limit: &'static str [Text "limit"],
        /// Share of the interval's attributed time in which this limit applied.
        confidence: f64 [Share "confidence"],
        /// Payload sent, including retransmissions.
        sent_bytes: u64 [Byte "sent"],
        /// Payload newly acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Acknowledged payload divided by the length of the interval.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Retransmitted packets.
        retransmitted_packets: u64 [Count "retransmitted packets"],
        /// Pure ACKs.
        acks: u64 [Count "ACKs"],
        /// Mean round-trip time of the whole path.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Longest round-trip time of the whole path.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Mean queueing delay of data.
        data_wait_ms: f64 [Millisecond "data wait"],
        /// Mean queueing delay of ACKs.
        ack_wait_ms: f64 [Millisecond "ACK wait"],
        /// Largest amount of unacknowledged data, as seen by the sender.
        outstanding_max_bytes: u64 [Byte "outstanding max"],
        /// Smallest window that the receiver advertised.
        window_bytes: Option<u64> [Byte "window"],
    }
}

table! {
    /// Points of time-sequence diagrams, reduced to at most 4,000 of each kind and direction.
    PointTable of PointRow as "points" {
        /// The direction, as in the table of directions.
        direction: u64 [Label "direction"],
        /// `data`, `retransmission`, `ack` or `sack`.
        kind: &'static str [Text "kind"],
        /// Time since the first packet of the capture.
        time_s: f64 [Second "time"],
        /// Start in the data stream. For an ACK: the amount of data acknowledged.
        start_bytes: u64 [Byte "from"],
        /// End in the data stream. For an ACK: the end of the receiver's window.
        end_bytes: u64 [Byte "to"],
        /// Number of the packet in the capture.
        packet: u64 [Label "packet"],
    }
}

table! {
    /// Two captures of the same flows: one row for each direction that both captures contain.
    BetweenTable of BetweenRow as "between" {
        /// Address of the sender.
        from: String [Text "from"],
        /// Port of the sender.
        from_port: u32 [Label "port"],
        /// Address of the receiver.
        to: String [Text "to"],
        /// Port of the receiver.
        to_port: u32 [Label "port"],
        /// The capture through whose point the packets pass first: 1 or 2.
        first: u64 [Label "first point"],
        /// Packets in the first capture.
        packets_1: u64 [Count "packets in 1"],
        /// Packets in the second capture.
        packets_2: u64 [Count "packets in 2"],
        /// Packets that are in both captures.
        packets_both: u64 [Count "in both"],
        /// Packets that passed the first point of capture but not the second.
        lost_packets: u64 [Count "lost between"],
        /// Shortest delay between the two points. It is assumed to be equal in both directions.
        delay_min_ms: f64 [Millisecond "delay min"],
        /// Median delay between the two points.
        delay_p50_ms: f64 [Millisecond "delay p50"],
        /// 95th percentile of the delay between the two points.
        delay_p95_ms: f64 [Millisecond "delay p95"],
        /// Longest delay between the two points.
        delay_max_ms: f64 [Millisecond "delay max"],
    }
}

table! {
    /// The packets of two captures, ordered by time on a common clock.
    PassageTable of PassageRow as "passages" {
        /// Row of the packet's direction in the table `between`, from 1.
        way: u64 [Label "direction"],
        /// Time at the first capture, measured from the first packet of the first capture. If the first capture lacks
        /// the packet, the converted time at the second capture.
        time_s: f64 [Second "time"],
        /// Number of the packet in the first capture; null if the packet is missing there.
        packet_1: Option<u64> [Label "packet in 1"],
        /// Number of the packet in the second capture; null if the packet is missing there.
        packet_2: Option<u64> [Label "packet in 2"],
        /// Delay between the two points; null if the packet is missing in one capture.
        delay_ms: f64 [Millisecond "delay"],
    }
}

/// Returns the declarations of the tables of `analyze`: for each table its name and meaning, and for each column its
/// name, kind, unit, heading and meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn analysis_tables() -> Vec<(&'static str, &'static str, Vec<[&'static str; 5]>)> {
    let alone = [DirectionTable::spec(), TimelineTable::spec(), PointTable::spec()];
    alone.into_iter().chain([BetweenTable::spec(), PassageTable::spec()]).map(declared).collect()
}

/// Reads and analyzes a capture; `-` means standard input. `other` is a second capture of the same flows. If `points`
/// is true, the points of diagrams are also returned. `progress` is called regularly with the numbers of packets and
/// connections read so far. After each second of the capture, `live` is called with the directions that carried data in
/// that second: see [`latest`].
///
/// Ctrl-C ends standard input, because all programs of a pipe receive the signal. The packets that were read before are
/// analyzed. If the input is a file, Ctrl-C raises KeyboardInterrupt.
///
/// Returns the tables by name, and counts for the whole capture.
#[pyfunction]
#[pyo3(signature = (path, *, points, other=None, progress=None, live=None))]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    path: PathBuf,
    points: bool,
    other: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    live: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let failed = |what: String| failed_on(&path, what);
    let mut interrupted = None;
    let is_pipe = path.as_os_str() == "-";
    let ended = Arc::new(AtomicBool::new(false));
    // Reading takes long, so release the interpreter for other Python threads.
    let found = py.detach(|| {
        let input: Box<dyn Read + Send> =
            if is_pipe { Box::new(StandardInput::new(Arc::clone(&ended))) } else { Box::new(opened(&path)?) };
        let report = |packets: u64, found: &Analysis| {
            let done = Python::attach(|py| {
                if is_pipe && signalled(py, &ended) {
                    return Ok(false);
                }
                // If Ctrl-C was pressed, this raises KeyboardInterrupt.
                py.check_signals()?;
                if let Some(report) = &progress {
                    report.call1(py, (packets, found.connections.len()))?;
                }
                if let Some(live) = &live {
                    match live.call1(py, (latest(found),)) {
                        // Ctrl-C was pressed while Python printed.
                        Err(error) if is_pipe && error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                            ended.store(true, Ordering::Relaxed);
                            return Ok(false);
                        }
                        done => done?,
                    };
                }
                Ok(true)
            });
            done.unwrap_or_else(|error| {
                interrupted = Some(error);
                false
            })
        };
        Analysis::read(input, points, report).map_err(|error| failed(error.to_string()))
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let mut found = found?;
    if is_pipe && signalled(py, &ended) {
        // The input seems to end inside a record, but only because reading was stopped.
        found.read.cut = false;
    }
    let whole = whole(py, &found)?;
    let begin = found.times.0;
    // Free the connections before the tables are copied to Python, so that both are not in memory at the same time.
    let (directions, timeline, drawn) = py.detach(move || tables(&found));
    let tables = PyDict::new(py);
    tables.set_item(DirectionTable::spec().name, columns(py, &directions.columns())?)?;
    tables.set_item(TimelineTable::spec().name, columns(py, &timeline.columns())?)?;
    tables.set_item(PointTable::spec().name, columns(py, &drawn.columns())?)?;
    let between = other.map(|other| py.detach(|| read_both(&path, &other))).transpose()?;
    let (ways, passages) = between.as_ref().map(|between| both_tables(between, begin)).unwrap_or_default();
    if let Some(between) = between {
        whole.set_item("clock_offset_s", between.offset * 1e-9)?;
        whole.set_item("clock_skew_ppm", between.skew_ppm)?;
    }
    tables.set_item(BetweenTable::spec().name, columns(py, &ways.columns())?)?;
    tables.set_item(PassageTable::spec().name, columns(py, &passages.columns())?)?;
    Ok((tables, whole))
}

/// Standard input that ends at Ctrl-C.
///
/// A separate thread reads the input. Otherwise a signal that arrives just before the system call would have no effect
/// until more input arrives.
struct StandardInput {
    ended: Arc<AtomicBool>,
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

impl StandardInput {
    /// Interval between two checks for a signal.
    const CHECK: Duration = Duration::from_millis(100);
    /// Maximum number of bytes per read, and maximum number of pieces that wait.
    const PIECE: (usize, usize) = (1 << 18, 4);

    fn new(ended: Arc<AtomicBool>) -> StandardInput {
        let (send, pieces) = sync_channel(Self::PIECE.1);
        thread::spawn(move || {
            let mut room = vec![0; Self::PIECE.0];
            loop {
                let piece = match io::stdin().read(&mut room) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    done => done.map(|len| room[..len].to_vec()),
                };
                let is_last = !matches!(&piece, Ok(piece) if !piece.is_empty());
                if send.send(piece).is_err() || is_last {
                    return;
                }
            }
        });
        StandardInput { ended, pieces, piece: io::Cursor::default() }
    }
}

impl Read for StandardInput {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.piece.read(room)?;
            if len > 0 || room.is_empty() {
                return Ok(len);
            }
            if self.ended.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.pieces.recv_timeout(Self::CHECK) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = io::Cursor::new(piece);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    Python::attach(|py| signalled(py, &self.ended));
                }
            }
        }
    }
}

/// Handles pending signals. Returns true, and stores true in `ended`, if Ctrl-C was pressed now or before.
fn signalled(py: Python<'_>, ended: &AtomicBool) -> bool {
    let now = py.check_signals().is_err();
    ended.fetch_or(now, Ordering::Relaxed) || now
}

/// A direction in the latest second of a capture: addresses and ports, goodput in bit/s, mean RTT and queueing delays
/// in ms, retransmitted packets, limit.
type Latest = (String, u16, String, u16, f64, f64, f64, f64, u32, &'static str);

/// Returns the directions that carried data in the latest second of the capture, fastest first.
fn latest(found: &Analysis) -> Vec<Latest> {
    let now = found.times.1;
    let since = now.saturating_sub(1_000_000_000);
    let mut rows: Vec<Latest> = Vec::new();
    for connection in found.connections.iter().filter(|connection| connection.times.1 >= since) {
        for sender in 0..2 {
            let shows_pacing = connection.vantage(sender) == Vantage::Sender;
            let Some((begin, bin)) = connection.directions[sender].latest(since, shows_pacing) else { continue };
            let (from, to) = (connection.ends[sender], connection.ends[1 - sender]);
            let goodput = bin.acked_bytes as f64 * 8e9 / now.saturating_sub(begin).max(1) as f64;
            let limit = bin.verdict().map_or("", |(limit, _)| limit.name());
            rows.push((
                from.address.to_string(),
                from.port,
                to.address.to_string(),
                to.port,
                goodput,
                bin.rtt_ms.mean(),
                bin.data_wait_ms.mean(),
                bin.ack_wait_ms.mean(),
                bin.retransmitted,
                limit,
            ));
        }
    }
    rows.sort_by(|one, other| other.4.total_cmp(&one.4));
    rows
}

/// Returns a usage error about a file.
fn failed_on(path: &Path, what: String) -> Failure {
    Failure::Usage(format!("{}: {what}", path.display()))
}

/// Opens a capture.
fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "does not exist".into(),
            io::ErrorKind::PermissionDenied => "may not be read".into(),
            _ => error.to_string(),
        };
        failed_on(path, reason)
    })?;
    Ok(BufReader::new(file))
}

/// Reads two captures of the same flows and aligns their clocks.
fn read_both(one: &Path, other: &Path) -> Result<Between, Failure> {
    let both = || format!("{} and {}", one.display(), other.display());
    let failed = |error: ReadError| Failure::Usage(format!("{}: {error}", both()));
    Between::read(opened(one)?, opened(other)?).map_err(failed)
}

/// Returns the tables `between` and `passages`. Times are measured from `begin`, which is in nanoseconds of the first
/// capture's clock.
fn both_tables(between: &Between, begin: u64) -> (BetweenTable, PassageTable) {
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

/// Returns the counts for the whole capture.
fn whole<'py>(py: Python<'py>, found: &Analysis) -> PyResult<Bound<'py, PyDict>> {
    let whole = PyDict::new(py);
    whole.set_item("frames", found.read.frames)?;
    whole.set_item("snapped", found.read.snapped)?;
    whole.set_item("cut", found.read.cut)?;
    whole.set_item("segments", found.segments)?;
    whole.set_item("passed_over", found.passed_over)?;
    whole.set_item("backwards", found.backwards)?;
    whole.set_item("connections", found.connections.len())?;
    whole.set_item("begin_s", found.times.0 as f64 * 1e-9)?;
    whole.set_item("elapsed_s", found.times.1.saturating_sub(found.times.0) as f64 * 1e-9)?;
    Ok(whole)
}

/// Returns the tables `directions`, `timeline` and `points`.
fn tables(found: &Analysis) -> (DirectionTable, TimelineTable, PointTable) {
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
    let path = &data.ack_path;
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
