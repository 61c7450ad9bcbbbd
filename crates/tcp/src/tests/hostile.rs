//! Property tests with arbitrary arriving segments: a connection does not panic, its counters stay consistent, and it
//! never exceeds its windows.

use super::pair::connection_config;
use crate::{AckSettings, Connection, EcnRule, LossDetection, Profile, State};
use lopsided_core::packet::{Flags, SackBlock, SackBlocks, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Duration, Ecn, Payload, Seq, Time};
use proptest::prelude::*;

/// A segment that a peer or an attacker might forge. Its sequence and acknowledgement numbers are relative to the
/// correct numbers.
#[derive(Debug, Clone)]
struct Forged {
    seq: i64,
    ack: i64,
    flags: u16,
    window: u16,
    len: u32,
    sack: Vec<(i64, i64)>,
    timestamps: Option<(i32, i32)>,
    ecn: bool,
    wait_ms: u64,
}

fn near() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -3000i64..60_000, 2 => Just(0i64), 1 => any::<i32>().prop_map(i64::from)]
}

fn forged() -> impl Strategy<Value = Forged> {
    let flags = prop_oneof![8 => Just(0x10u16), 1 => 0u16..0x200];
    let numbers = (near(), near(), flags, any::<u16>(), prop_oneof![Just(0u32), 0u32..3000]);
    let sack = prop::collection::vec((near(), 1i64..20_000).prop_map(|(start, len)| (start, start + len)), 0..5);
    (
        numbers,
        sack,
        prop::option::of((-50i32..50, -50i32..50)),
        any::<bool>(),
        prop_oneof![3 => 0u64..20, 1 => 0u64..5000],
    )
        .prop_map(|((seq, ack, flags, window, len), sack, timestamps, ecn, wait_ms)| Forged {
            seq,
            ack,
            flags,
            window,
            len,
            sack,
            timestamps,
            ecn,
            wait_ms,
        })
}

fn established(profile: Profile) -> (Connection, u32, u32) {
    let mut connection = Connection::connect(connection_config(profile, true));
    let syn = connection.poll_segment(Time::ZERO).expect("a SYN").header;
    let irs = 77_000u32;
    let mut answer = TcpHeader {
        src_port: syn.dst_port,
        dst_port: syn.src_port,
        seq: Seq::new(irs),
        ack: syn.seq + 1,
        flags: Flags::SYN.with(Flags::ACK),
        window: 60_000,
        options: TcpOptions::default().with_mss(Some(1460)).with_window_scale(Some(7)).with_sack_permitted(true),
    };
    answer.options.timestamps = syn.options.timestamps.map(|ours| Timestamps { value: 1000, echo: ours.value });
    connection.handle_segment(Time::from_nanos(1_000_000), &answer, &Payload::EMPTY, Ecn::NotEct);
    assert_eq!(connection.state(), State::Established);
    (connection, (syn.seq + 1).get(), irs + 1)
}

fn forge(
    connection: &Connection,
    forged: &Forged,
    snd_origin: u32,
    rcv_origin: u32,
    now: Time,
) -> (TcpHeader, Payload) {
    let una = connection.send.flight.una() as u32;
    let next = connection.recv.next() as u32;
    let wrap = |origin: u32, base: u32, delta: i64| Seq::new(origin.wrapping_add(base).wrapping_add(delta as u32));
    let mut sack = SackBlocks::default();
    for &(start, end) in &forged.sack {
        sack.push(SackBlock { start: wrap(snd_origin, una, start), end: wrap(snd_origin, una, end) });
    }
    let clock = (now.as_nanos() / 1_000_000) as u32;
    let timestamps = forged.timestamps.map(|(value, echo)| Timestamps {
        value: 1000u32.wrapping_add(clock).wrapping_add(value as u32),
        echo: connection.send.flight.clock.value(now).wrapping_add(echo as u32),
    });
    let header = TcpHeader {
        src_port: connection.remote().port,
        dst_port: connection.local().port,
        seq: wrap(rcv_origin, next, forged.seq),
        ack: wrap(snd_origin, una, forged.ack),
        flags: Flags(forged.flags),
        window: forged.window,
        options: TcpOptions::default().with_timestamps(timestamps).with_sack(sack),
    };
    (header, Payload::virtual_len(forged.len))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    // A sender may divide its stream differently for a retransmission, so segments may overlap in any way.
    #[test]
    fn overlapping_segments_give_the_stream(cuts in prop::collection::vec((0usize..12, 1usize..6), 1..30)) {
        let stream: Vec<u8> = (0..18u32).flat_map(|hundred| [hundred as u8; 100]).collect();
        // An ACK for each segment, whose first block is not a DSACK.
        let ack = AckSettings { policy: "immediate", ..AckSettings::delayed(Duration::ZERO) };
        let (mut connection, snd_origin, rcv_origin) = established(Profile { dsack: false, ack, ..Profile::linux_6_1() });
        while connection.poll_segment(Time::from_nanos(1_000_000)).is_some() {}
        let mut arrived = [false; 19];
        let cuts = cuts.into_iter().map(|(from, count)| from..from + count);
        let mut read = Vec::new();
        for cut in cuts.chain((0..18).map(|hundred| hundred..hundred + 1)) {
            let bytes = cut.start * 100..cut.end * 100;
            let header = TcpHeader {
                src_port: connection.remote().port,
                dst_port: connection.local().port,
                seq: Seq::new(rcv_origin.wrapping_add(bytes.start as u32)),
                ack: Seq::new(snd_origin),
                flags: Flags::ACK,
                window: 60_000,
                ..TcpHeader::default()
            };
            connection.handle_segment(Time::from_nanos(2_000_000), &header, &Payload::real(stream[bytes].to_vec()), Ecn::NotEct);
            let octets = connection.read(Time::from_nanos(2_000_000), u64::MAX).unwrap_or(Payload::EMPTY);
            read.extend_from_slice(octets.bytes().unwrap_or_default());
            // RFC 2018 section 4: the blocks are whole runs of data beyond the acknowledged data, and the first block
            // contains the segment that caused the ACK.
            arrived[cut.clone()].fill(true);
            let next = arrived.iter().position(|came| !came).expect("the last never comes");
            let ack = connection.poll_segment(Time::from_nanos(2_000_000)).expect("an ACK").header;
            prop_assert_eq!(ack.ack, Seq::new(rcv_origin.wrapping_add(100 * next as u32)));
            let blocks: Vec<_> = ack.options.sack_on_wire().iter().map(|block| {
                let hundreds = |seq: Seq| seq.get().wrapping_sub(rcv_origin) as usize / 100;
                hundreds(block.start)..hundreds(block.end)
            }).collect();
            for (at, block) in blocks.iter().enumerate() {
                prop_assert!(block.start > next && arrived[block.clone()].iter().all(|came| *came), "{:?}", blocks);
                prop_assert!(!arrived[block.start - 1] && !arrived[block.end], "{:?}", blocks);
                prop_assert!(!blocks[..at].contains(block), "{:?}", blocks);
            }
            if cut.start > next {
                prop_assert!(blocks[0].contains(&cut.start), "{:?} after {:?}", blocks, cut);
            }
        }
        prop_assert_eq!(read, stream);
    }

    #[test]
    fn no_segment_breaks_a_connection(
        segments in prop::collection::vec(forged(), 1..120),
        detection in prop_oneof![
            Just(LossDetection::Rack),
            Just(LossDetection::FreeBsd),
            Just(LossDetection::Fack),
            Just(LossDetection::Rfc6675)
        ],
        freebsd: bool, sack: bool, ecn: bool,
    ) {
        let mut profile = if freebsd { Profile::freebsd_7() } else { Profile::linux_6_1() };
        profile.loss_detection = detection;
        profile.sack = sack;
        profile.ecn = if ecn { EcnRule::On } else { EcnRule::Off };
        let (mut connection, snd_origin, rcv_origin) = established(profile);
        let mut now = Time::from_nanos(2_000_000);
        for segment in &segments {
            now += Duration::from_millis(segment.wait_ms);
            let _ = connection.write(&Payload::virtual_len(100_000));
            let (header, payload) = forge(&connection, segment, snd_origin, rcv_origin, now);
            connection.handle_segment(now, &header, &payload, if segment.ecn { Ecn::Ce } else { Ecn::NotEct });
            connection.handle_timeout(now);
            let _ = connection.read(now, u64::MAX);
            let mut sent = 0;
            while connection.poll_segment(now).is_some() {
                sent += 1;
                prop_assert!(sent < 20_000, "a burst without end");
            }
            let send = &connection.send;
            send.flight.scoreboard.check();
            prop_assert!(send.flight.una() <= send.flight.nxt() && send.flight.nxt() <= send.stream_end());
            let due = connection.poll_timeout();
            prop_assert!(due.is_none_or(|due| due > now), "a timer in the past: {due:?} at {now:?}");
            if connection.state() == State::Closed {
                break;
            }
        }
    }
}
