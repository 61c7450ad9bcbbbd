//! Linux's receive buffer as memory: what a segment that comes opens of it, and from where it grows.

use super::script::{PEER, Script, linux};
use crate::{AckSettings, BufferRule, Profile};
use lopsided_core::Bytes;

/// A connection with a receive buffer for a window of `initial` octets, which may grow to one for `max`.
fn with_buffer(initial: u64, max: u64) -> Script {
    let receive_buffer = BufferRule::Auto { initial: Bytes::new(initial), max: Bytes::new(max) };
    Script::established(Profile { receive_buffer, ..linux() }, PEER)
}

/// tcp_init_buffer_space: the least of ten segments, of the window and of what it may be at first, all but a segment of
/// a small buffer.
#[test]
fn a_small_buffer_grows_once_a_round_trip_brings_more_than_its_first_window() {
    for (initial, space) in [(65_536, 10_120), (16_000, 10_120), (8000, 6988), (2500, 2024)] {
        let t = with_buffer(initial, 1 << 20);
        assert_eq!(t.info().rcv_space, Bytes::new(space), "{initial}");
    }
}

/// tcp_data_queue_ofo calls tcp_grow_window for segments of any size, tcp_event_data_recv for those of 128 octets. Out
/// of order one counts with all of its memory, 768 octets beyond its payload: where the payload is no half of it, the
/// window opens by two segments as they came (536 octets, as long as none was measured) in place of two of 1,012.
#[test]
fn small_segments_out_of_order_open_the_window_too() {
    for (max, segment, opened) in [
        (4 << 20, "1:101", 0),
        (4 << 20, "1:201", 2024),
        (4 << 20, "2001:2101", 1072),
        (4 << 20, "2001:2201", 1072),
        (4 << 20, "2001:2501", 1072),
        (4 << 20, "2001:3001", 2024),
        // Where no buffer may ever hold many such segments, they open nothing.
        (200_000, "2001:2201", 0),
        (200_000, "2001:3001", 2024),
    ] {
        let mut t = with_buffer(200_000, max);
        let before = t.info().rcv_ssthresh.get();
        t.inject(100, segment);
        t.drain();
        assert_eq!(t.info().rcv_ssthresh.get() - before, opened, "{segment} of at most {max}");
    }
}

/// __tcp_ack_snd_check compares what __tcp_select_window gives, in whole units of the header, with what the SYN ACK
/// offered, in octets. An ACK for two segments that would offer less waits for the application.
#[test]
fn an_ack_that_would_offer_less_than_the_syn_ack_is_delayed() {
    for (initial, max, offered, answered) in [
        // Room for 64,152 octets beside them: 63 units of 1,024, which are 64,512.
        (65_536, 16 << 20, 64_768, 141),
        // For 64,616: 64 units, which are 65,536; or 505 of 128, which are 64,640.
        (66_000, 16 << 20, 65_535, 102),
        (66_000, 3 << 20, 65_535, 141),
    ] {
        let receive_buffer = BufferRule::Auto { initial: Bytes::new(initial), max: Bytes::new(max) };
        let ack = AckSettings { quick_acks: 0, ..linux().ack };
        let mut t = Script::listen(Profile { receive_buffer, ack, ..linux() }, PEER);
        t.reads = false;
        t.inject(0, &t.peer_syn("S"));
        t.expect(0, &format!("S. 0:0 ack 1 win {offered}"));
        t.inject(100, "ack 1");
        t.inject(101, "1:1001");
        t.inject(102, "1001:2001");
        t.expect(answered, "ack 2001");
    }
}
