//! The windows that a receiver offers, and the growth of its buffer.

use super::script::{PEER, Script, TIMESTAMPS, freebsd, linux, receive_buffer};
use crate::receive::SegmentSizes;
use crate::{BufferRule, Profile, WindowUpdate};
use lopsided_core::{Bytes, Duration};

#[test]
fn a_window_beyond_the_header_field_causes_no_window_update() {
    // FreeBSD without window scaling: the header can express only 65,535 of the buffer's 66,000 bytes. After two of
    // three segments, the ACK advertises 65,000 bytes. When the third segment is read, the window could grow by only
    // 1,535 bytes, which is less than two segments.
    let mut t = Script::established(Profile { window_scaling: false, timestamps: false, ..freebsd() }, PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 2000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.answers(at + 10, &format!("{}:{}", start + 1001, start + 2001), &format!("ack {} win 65000", start + 2001));
    }
    t.expect_nothing_until(300);
}

#[test]
fn with_closed_window_updates_freebsd_acknowledges_every_second_segment() {
    let mut t = Script::established(Profile { window_update: WindowUpdate::NearlyClosed, ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 2000 + 1, n * 2000 + 1001));
        t.answers(100 + n, &format!("{}:{}", n * 2000 + 1001, n * 2000 + 2001), &format!("ack {}", n * 2000 + 2001));
    }
}

#[test]
fn after_a_filled_gap_freebsd_sends_a_window_update_when_data_is_read() {
    let mut t = Script::established(freebsd(), PEER);
    t.answers(100, "2001:3001", "ack 1 win 66000 sack 2001:3001");
    t.answers(101, "4001:5001", "ack 1 win 66000 sack 4001:5001,2001:3001");
    t.answers(103, "1:1001", "ack 1001 win 65000 sack 4001:5001,2001:3001");
    t.answers(104, "1001:2001", "ack 3001 win 64000 sack 4001:5001");
    t.expect(104, "ack 3001 win 66000 sack 4001:5001");
    t.answers(105, "3001:4001", "ack 5001 win 64000");
    t.expect(105, "ack 5001 win 66000");
}

#[test]
fn data_written_before_the_read_carries_the_ack_with_the_old_window() {
    let mut t = Script::established(freebsd(), PEER);
    t.reads = false;
    t.inject(100, "1:1001");
    t.sends(110, 500, "1:501 ack 1001 win 65000");
}

#[test]
fn freebsd_limits_the_number_of_out_of_order_segments() {
    // net.inet.tcp.reass.maxqlen is 48: segments beyond this limit are dropped and must be retransmitted. The next
    // segment in order is always accepted.
    assert_eq!(freebsd().reassembly_limit, Some(48));
    let mut t = Script::established(Profile { reassembly_limit: Some(3), ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 1000 + 1001, n * 1000 + 2001));
        t.expect(100 + n, &format!("ack 1 sack 1001:{}", n * 1000 + 2001));
    }
    t.answers(110, "4001:5001", "ack 1 sack 1001:4001");
    t.answers(111, "1:1001", "ack 4001 win 62000");
    t.expect(111, "ack 4001 win 66000");
    t.inject(112, "4001:5001");
    t.expect(212, "ack 5001");
}

/// Returns FreeBSD's window after a round trip of `segments` + 2 segments. The round trip ends with the echo of the
/// timestamp `echoed`. If `missing` is true, one segment arrives late.
fn window_after_a_round_of(segments: u64, missing: bool, echoed: u64) -> u64 {
    let mut t = Script::established(freebsd(), TIMESTAMPS);
    // The ACK that completed the handshake began the round trip, so these two segments are counted.
    t.inject(100, "1:1001 ts 100:100");
    t.deliver(101, "1001:2001 ts 101:100");
    let mut start = 2001;
    if missing {
        t.deliver(150, &format!("{}:{} ts 150:100", start + 1000, start + 2000));
    }
    for n in 0..segments {
        if !(missing && n == 1) {
            t.deliver(200, &format!("{start}:{} ts 200:100", start + 1000));
        }
        start += 1000;
    }
    t.drain_until(echoed as u32 + 9);
    t.inject(echoed as u32 + 10, &format!("{start}:{} ts {}:{echoed}", start + 1000, echoed + 10));
    t.drain_until(echoed as u32 + 200);
    t.info().rcv_wnd.get()
}

#[test]
fn freebsd_enlarges_the_receive_buffer_when_a_round_trip_fills_7_8_of_it() {
    // The buffer grows if the segments arrive in order, no segment is missing, and the echo took less than 1 s.
    let (whole, step) = (66_000, 16_384);
    assert_eq!(window_after_a_round_of(57, false, 300), whole + step);
    assert_eq!(window_after_a_round_of(57, true, 300), whole, "data behind a filled gap does not count");
    assert_eq!(window_after_a_round_of(50, false, 300), whole, "less than 7/8 of the buffer");
    assert_eq!(window_after_a_round_of(57, false, 1200), whole, "the echo took 1 s or more");
}

#[test]
fn data_between_two_round_trips_counts_for_freebsds_receive_buffer() {
    // tcp_input also adds a segment to the current round trip if it arrives before an ACK has begun the next round
    // trip.
    let round = |segments: u32, missing: bool| {
        let mut t = Script::established(freebsd(), TIMESTAMPS);
        let mut send = |at: u32, start: u32, echo: u32| {
            t.drain_until(at);
            t.deliver(at, &format!("{start}:{} ts {at}:{echo}", start + 1000));
        };
        // The ACK of the handshake began a round trip at 100 ms, which this segment ends. The ACK of the next segment
        // begins the next round trip.
        send(200, 1, 150);
        if missing {
            send(200, 3001, 150);
        }
        for n in 0..segments {
            send(200, 1001 + n * 1000, 150);
        }
        send(400, 1001 + segments * 1000, 300);
        t.drain_until(600);
        t.info().rcv_wnd.get()
    };
    assert_eq!(round(57, false), 66_000, "at most 7/8 of the buffer");
    assert_eq!(round(58, false), 66_000 + 16_384, "the first segment arrived between two round trips");
    assert_eq!(round(58, true), 66_000, "missing data restarts the count");
}

#[test]
fn a_full_buffer_closes_the_window_and_reads_open_it_by_at_least_one_segment() {
    // RFC 9293 section 3.8.6.2.2.
    let mut t = Script::established(receive_buffer(linux(), 4000), PEER);
    t.reads = false;
    t.answers(100, "1:4001", "ack 4001 win 0");
    // Data or a probe beyond the window is discarded and answered with an ACK.
    t.answers(110, "4001:4002", "ack 4001 win 0");
    t.read(120, 900);
    t.answers(700, "4000:4000", "ack 4001 win 0");
    t.read(800, 1100);
    t.expect(800, "ack 4001 win 2000");
}

#[test]
fn the_right_edge_of_a_scaled_window_never_moves_back() {
    // RFC 9293 section 3.8.6 discourages receivers from shrinking the window. RFC 7323 section 2.4 explains how
    // rounding can shrink the window.
    let mut t = Script::established(receive_buffer(linux(), 1_000_000), PEER);
    t.reads = false;
    let mut edge = 0;
    for n in 0..40u64 {
        let (start, end) = (n * 101 + 1, n * 101 + 102);
        t.inject(100, &format!("{start}:{end}"));
        let sent = t.take();
        if let Some((ack, window)) = sent {
            assert!(ack + window >= edge, "{} after {edge}", ack + window);
            edge = ack + window;
        }
    }
    assert!(edge > 1_000_000);
}

#[test]
fn the_receive_window_grows_to_twice_the_data_per_round_trip() {
    // Dynamic right-sizing (Fisk and Feng 2001).
    let mut t = Script::established(linux(), TIMESTAMPS);
    let (mut window, mut start) = (0, 1);
    // The peer is in slow start until it sends 60 segments per RTT of 100 ms.
    for (round, segments) in [10, 20, 40, 60, 60, 60, 60, 60, 60].into_iter().enumerate() {
        let at = 200 + round as u64 * 100;
        for _ in 0..segments {
            t.inject(at as u32, &format!("{start}:{}{}", start + 1000, stamp(at)));
            window = t.take().map_or(window, |(_, offered)| offered);
            start += 1000;
        }
        // With an odd number of segments, wait for the delayed ACK of the last segment.
        t.drain_until(at as u32 + 50);
    }
    // Linux's formula: 2 * 40 + 16 segments for the largest round, multiplied by 3 because this round was twice as
    // large as the previous round.
    assert!((200_000..400_000).contains(&window), "{window}");
}

/// Returns the timestamps of a segment that arrives at `at` and echoes the time one RTT earlier.
fn stamp(at: u64) -> String {
    format!(" ts {at}:{}", at - 100)
}

#[test]
fn without_timestamps_the_first_filled_window_gives_the_rtt_sample() {
    // Without timestamps, Linux measures the receiver's RTT only as the time in which a window fills. The handshake
    // provides no sample for the receiver. In a kernel capture (1264/128 kbit/s, 193 ms, both ends without SACK and
    // timestamps) a window of 501 * 2^7 is advertised until 64,240 bytes have arrived, 0.70 s after the SYN.
    let mut t = Script::established(linux(), PEER);
    let mut at = 200;
    for n in 0..66u32 {
        at += 10;
        t.deliver(at, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        let expected = (n == 65).then_some(650_000);
        let rtt = t.connection.recv.rtt().map(|rtt| rtt.as_micros());
        assert_eq!(rtt, expected, "after {} segments", n + 1);
    }
    // The buffer grows from the next read on. That read counts all data that arrived while the window was being filled.
    assert_eq!(t.info().rcv_space, Bytes::new(66_000));
}

#[test]
fn a_fixed_receive_window_does_not_grow() {
    let mut t = Script::established(receive_buffer(linux(), 50_000), PEER);
    for n in 0..200u64 {
        t.inject(100 + n as u32, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        if let Some((_, offered)) = t.take() {
            assert!(offered <= 50_000);
        }
    }
    assert_eq!(t.connection.profile().receive_buffer, BufferRule::Fixed(Bytes::new(50_000)));
}

#[test]
fn data_released_by_a_filled_gap_counts_for_the_round_trip_after_its_first_record() {
    // Linux checks after each copied record whether a round trip has ended. In a kernel capture (one CUBIC flow on
    // 3000/1000 kbit/s) the buffer grows after a recovery as if 139,008 bytes had been read, although only 108,600
    // bytes have arrived since the gap was filled.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for start in (1001..30_000).step_by(1000) {
        t.deliver(150, &format!("{start}:{}{}", start + 1000, stamp(150)));
    }
    t.drain_until(249);
    t.inject(250, &format!("1:1001{}", stamp(250)));
    t.drain_until(300);
    assert_eq!(t.info().rcv_space, Bytes::new(10_000), "the round that ends here delivered one segment");
    t.inject(360, &format!("30001:31001{}", stamp(360)));
    t.drain_until(400);
    assert_eq!(t.info().rcv_space, Bytes::new(30_000));
}

#[test]
fn the_window_opens_by_the_memory_before_records_are_joined() {
    // When the gap is filled, the out-of-order data still counts in separate records. In a kernel capture (one Reno
    // flow on 3000/1000 kbit/s), the window is therefore 384 bytes smaller from the 372nd packet on than it would be
    // with joined records.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..21u64 {
        let at = if n < 20 { 150 } else { 200 };
        t.deliver(at as u32, &format!("{}:{}{}", n * 1000 + 1, n * 1000 + 1001, stamp(at)));
    }
    // 21 segments arrive per round trip, more than the initial assumption of ten, so the buffer grows to 185 segments
    // of 2,024 bytes each. A segment in a separate record occupies 768 bytes more than its data.
    let room = |held: u64| (185 * 2024 - held * (1000 + 768)) / 2;
    let gap = |n: u64| 21_001 + 2000 * n;
    for n in 0..50 {
        t.deliver(210, &format!("{}:{}{}", gap(n) + 1000, gap(n) + 2000, stamp(210)));
    }
    let before = t.connection.recv.window_threshold();
    for n in 0..40 {
        t.deliver(220, &format!("{}:{}{}", gap(n), gap(n) + 1000, stamp(220)));
        // The new segment and each of the out-of-order segments occupy separate records.
        let expected = before.max(room(51 - n));
        assert_eq!(t.connection.recv.window_threshold(), expected, "gap {n}");
    }
}

/// tcp_rcv_rtt_update: the RTT is stored in units of 1/8 us, and rounding raises the mean.
#[test]
fn the_receivers_rtt_is_stored_in_eighths_of_a_microsecond() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..11u32 {
        let rtt = if n == 0 { 20 } else { 21 };
        let (at, start) = (200 + 10 * n, n * 1000 + 1);
        t.deliver(at, &format!("{start}:{} ts {at}:{}", start + 1000, at - rtt));
    }
    // In units of 1/8 us, the mean is 160,000, then 161,000, 161,875 and 162,641. With exact eighths the last value
    // would be smaller by one. After ten samples the difference is 5/8 us.
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    // If an ACK without data has already carried the same echo, a data segment with this echo provides no sample.
    t.inject(360, "ack 1 ts 360:350");
    t.deliver(361, "11001:12001 ts 361:350");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    t.deliver(362, "12001:13001 ts 362:351");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(11)));
}

/// tcp_win_from_space: the window is half of the memory, rounded up.
#[test]
fn the_window_is_half_of_the_memory_rounded_up() {
    // One record of seven fragments needs 7 * 999 + 768 = 7,761 bytes of memory.
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..7u32 {
        t.deliver(110 + n, &format!("{}:{}", n * 999 + 1, n * 999 + 1000));
    }
    let sizes = SegmentSizes { agreed: 1000, full: 1, own: 1000 };
    t.connection.recv.note_ack_due(sizes, 0);
    assert_eq!(t.connection.recv.offer_window(sizes, 0), (40_000 - 7761u16).div_ceil(2));
}

/// __tcp_select_window: without scaling, the window is a multiple of the measured segment size.
#[test]
fn without_scaling_windows_are_multiples_of_the_measured_segment_size() {
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..60u32 {
        t.deliver(110 + n, &format!("{}:{}", n * 300 + 1, n * 300 + 301));
    }
    t.drain_until(300);
    t.read(300, 18_000);
    // The window is 20,000 bytes minus one segment of 1,012 bytes, which is kept in reserve.
    t.expect(300, "ack 18001 win 18900");
}

/// tcp_init_buffer_space and tcp_grow_window use the largest acceptable segment (1,012 bytes), not the negotiated size
/// (1,000 bytes).
#[test]
fn windows_are_computed_from_the_largest_acceptable_segment() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
    assert_eq!(t.info().advmss, Bytes::new(1012));
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012);
    t.deliver(110, "1:1001");
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012, "the window has reached its maximum");
}

/// skb_page_frag_refill: a page of 32 KiB ends before a segment that would exceed it by 24 bytes. The next 17 segments
/// share one record.
#[test]
fn a_page_with_24_free_octets_stores_no_part_of_the_next_segment() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(64_000)), ..linux() }, PEER);
    let bring = |t: &mut Script, n: u32| {
        t.deliver(110.0 + f64::from(n) / 10.0, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    };
    (0..1409).for_each(|n| bring(&mut t, n));
    t.reads = false;
    (1409..1426).for_each(|n| bring(&mut t, n));
    let sizes = SegmentSizes { agreed: 1000, full: 1000, own: 1012 };
    t.connection.recv.note_ack_due(sizes, 0);
    let window = u32::from(t.connection.recv.offer_window(sizes, 0));
    assert_eq!(window, (128_000 - 17_000 - 768) / 2 / 1000 * 1000);
}

/// Linux records echoes only after the connection is established, so the first data provides an RTT sample. In a kernel
/// capture (3000/1000 kbit/s) the window is 501 * 2^7 until 36,200 bytes have arrived.
#[test]
fn the_first_data_gives_an_rtt_sample_from_the_handshakes_timestamp() {
    let mut t = Script::listen(linux(), TIMESTAMPS);
    t.deliver(0, "S 0:0 win 65535 mss 1460 sackok wscale 8 ts 0:0");
    t.deliver(20, "ack 1 ts 20:0");
    t.deliver(20, "1:1001 ts 20:0");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(20)));
}
