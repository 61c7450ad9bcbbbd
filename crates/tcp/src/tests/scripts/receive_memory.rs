//! Linux's receive buffer, counted in bytes of memory: the opening of the window, and the growth of the buffer.

use super::script::{NO_SACK, PEER, Script, linux};
use crate::{AckSettings, BufferRule, Profile};
use lopsided_core::Bytes;

/// Returns a connection whose window is `initial` bytes and may grow to `max` bytes.
fn with_buffer(initial: u64, max: u64) -> Script {
    let receive_buffer = BufferRule::Auto { initial: Bytes::new(initial), max: Bytes::new(max) };
    Script::established(Profile { receive_buffer, ..linux() }, PEER)
}

/// `tcp_init_buffer_space`: the initial `rcvq_space.space` is the minimum of 10 segments, the advertised window, and
/// the buffer minus one segment.
#[test]
fn the_initial_rcvq_space_is_limited_by_window_and_buffer() {
    for (initial, space) in [(65_536, 10_120), (16_000, 10_120), (8000, 6988), (2500, 2024)] {
        let t = with_buffer(initial, 1 << 20);
        assert_eq!(t.info().rcv_space, Bytes::new(space), "{initial}");
    }
}

/// tcp_data_queue_ofo calls tcp_grow_window for segments of any size, and counts their full memory. If less than half
/// of the memory is payload, the window opens by two measured segments (536 bytes each) instead of two segments of
/// 1,012 bytes.
#[test]
fn small_out_of_order_segments_also_open_the_window() {
    for (max, segment, opened) in [
        (4 << 20, "1:101", 0),
        (4 << 20, "1:201", 2024),
        (4 << 20, "2001:2101", 1072),
        (4 << 20, "2001:2201", 1072),
        (4 << 20, "2001:2501", 1072),
        (4 << 20, "2001:3001", 2024),
        // With a maximum buffer of 200,000 bytes, a segment with so much overhead does not open the window.
        (200_000, "2001:2201", 0),
        (200_000, "2001:3001", 2024),
    ] {
        let mut t = with_buffer(200_000, max);
        let before = t.info().rcv_ssthresh.get();
        t.deliver(100, segment);
        assert_eq!(t.info().rcv_ssthresh.get() - before, opened, "{segment} of at most {max}");
    }
}

/// __tcp_ack_snd_check compares the window in header units with the SYN-ACK's window in bytes. An ACK that would
/// advertise a smaller window waits for a read.
#[test]
fn an_ack_that_would_advertise_less_than_the_syn_ack_is_delayed() {
    for (initial, max, offered, answered) in [
        // The data leaves space for 64,152 bytes, which is rounded up to 63 units of 1,024 bytes: 64,512 bytes.
        (65_536, 16 << 20, 64_768, 141),
        // The data leaves space for 64,616 bytes, which is rounded up to 64 units of 1,024 bytes (65,536) or to 505
        // units of 128 bytes (64,640).
        (66_000, 16 << 20, 65_535, 102),
        (66_000, 3 << 20, 65_535, 141),
    ] {
        let receive_buffer = BufferRule::Auto { initial: Bytes::new(initial), max: Bytes::new(max) };
        let ack = AckSettings { quick_acks: 0, ..linux().ack };
        let mut t = Script::listen(Profile { receive_buffer, ack, ..linux() }, PEER);
        t.reads = false;
        t.answers(0, &t.peer_syn("S"), &format!("S. 0:0 ack 1 win {offered}"));
        t.inject(100, "ack 1");
        t.inject(101, "1:1001");
        t.inject(102, "1001:2001");
        t.expect(answered, "ack 2001");
    }
}

/// __tcp_cleanup_rbuf: the ACK of the segment that fills a gap advertises what the unread data leaves of the buffer. If
/// the read then doubles this window, a second ACK follows.
#[test]
fn a_read_after_a_filled_gap_sends_a_window_update() {
    let mut t =
        Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(40_000)), ..linux() }, NO_SACK);
    for n in 1..38 {
        t.answers(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), "ack 1");
    }
    t.answers(200, "1:1001", "ack 38001 win 19000");
    t.expect(200, "ack 38001 win 38000");
}
