//! Tests the media. On each medium, every frame must arrive at most once, and its delivery or loss must be reported
//! exactly once. Lost frames, turnarounds and collisions must occupy the medium for the expected time.

use crate::common::packet;
use lopsided_core::{Accounting, BitRate, Bytes, Cx, DropReason, Duration, Node, NodeId, Port, Rng, Time};
use lopsided_link::{
    CsmaCd, CsmaCdConfig, Docsis, DocsisConfig, FrameId, Framing, Medium, MediumConfig, MediumEvent, PacketRadio,
    PacketRadioConfig, Polled, PolledConfig, SharedLink, StationQueue, Wifi, WifiConfig,
};
use lopsided_queue::{HtbConfig, QueueConfig};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Returns the number of a station's first frame.
fn frame(station: usize) -> FrameId {
    FrameId { station, number: 0 }
}

/// Returns settings with a rate of 8 Mbit/s, at which a byte takes 1 us. A poll takes 20 bytes, an acknowledgement 10,
/// and a turnaround takes 100 us.
fn config(loss: f64, retries: u32) -> PolledConfig {
    PolledConfig {
        rate: BitRate::from_bps(8_000_000),
        poll: Bytes::new(20),
        ack: Bytes::new(10),
        loss,
        retries,
        ..PolledConfig::default()
    }
}

fn medium(loss: f64, retries: u32, seed: u64) -> Polled {
    Polled::new(config(loss, retries), 3, Rng::for_role(seed, "radio/medium"))
}

/// Handles all events, and returns the events that concern a station.
fn run_out(medium: &mut dyn Medium) -> Vec<(Time, MediumEvent)> {
    let mut seen = Vec::new();
    while let Some(now) = medium.next_event() {
        let event = medium.on_event(now);
        if event != MediumEvent::Nothing {
            seen.push((now, event));
        }
    }
    seen
}

#[test]
fn stations_are_polled_in_turn_and_each_frame_is_acknowledged_before_the_next_poll() {
    let mut medium = medium(0.0, 3, 1);
    medium.request(frame(2), 0, Bytes::new(1000), at(0));
    medium.request(frame(0), 0, Bytes::new(500), at(0));
    // Times in µs. Station 0: turnaround 100, poll 20, frame 500; turnaround 100, acknowledgement 10. Station 1 has no
    // frame: turnaround 100, poll 20.
    let expected = [
        (at(620), MediumEvent::Delivered(frame(0))),
        (at(730), MediumEvent::Done(frame(0))),
        (at(730 + 120 + 120 + 1000), MediumEvent::Delivered(frame(2))),
        (at(730 + 120 + 120 + 1000 + 110), MediumEvent::Done(frame(2))),
    ];
    assert_eq!(run_out(&mut medium), expected);
}

#[test]
fn a_frame_that_never_arrives_is_dropped_after_its_retries() {
    let mut medium = medium(1.0, 2, 1);
    medium.request(frame(1), 0, Bytes::new(500), at(0));
    // Each of three attempts takes 730 µs. Station 0 is polled before the first attempt. Stations 2 and 0 are polled
    // before each later attempt.
    let end = 3 * 730 + 5 * 120;
    assert_eq!(run_out(&mut medium), [(at(end), MediumEvent::Lost(frame(1), DropReason::RetriesExhausted))]);
}

/// Returns settings with turnarounds of 100 µs, control frames of 10 bytes, and a latency of 50 µs.
fn radio_config() -> PacketRadioConfig {
    PacketRadioConfig {
        rate: BitRate::from_bps(8_000_000),
        transmit_to_receive: Duration::from_micros(80),
        receive_to_transmit: Duration::from_micros(100),
        latency: Duration::from_micros(50),
        control: Bytes::new(10),
        backoff: Duration::from_micros(200),
        ..PacketRadioConfig::default()
    }
}

fn radios(config: PacketRadioConfig, stations: usize) -> PacketRadio {
    PacketRadio::new(config, stations, Rng::for_role(1, "radio/medium"))
}

/// Handles two events: the start of a call, and the end of its RTS.
fn two_steps(medium: &mut PacketRadio) -> Time {
    let step = |_| {
        let now = medium.next_event().expect("a call is in progress");
        medium.on_event(now);
        now
    };
    (0..2).map(step).max().expect("two steps")
}

#[test]
fn an_exchange_consists_of_rts_cts_frame_and_acknowledgement() {
    let mut medium = radios(radio_config(), 2);
    medium.request(frame(0), 1, Bytes::new(1000), at(0));
    // Times in µs: RTS and CTS take 110 each, the frame 1,100, and its arrival another 50. The acknowledgement takes
    // 110.
    let expected = [(at(1370), MediumEvent::Delivered(frame(0))), (at(1430), MediumEvent::Done(frame(0)))];
    assert_eq!(run_out(&mut medium), expected);
}

#[test]
fn a_radio_sends_a_frame_that_never_arrives_once_more_than_its_retries() {
    for retries in [0, 3] {
        let mut medium = radios(PacketRadioConfig { loss: 1.0, retries, ..radio_config() }, 2);
        medium.request(frame(0), 1, Bytes::new(1000), at(0));
        let ended: Vec<MediumEvent> = run_out(&mut medium).into_iter().map(|(_, event)| event).collect();
        assert_eq!(ended, [MediumEvent::Lost(frame(0), DropReason::RetriesExhausted)]);
        let sent = f64::from(retries) + 1.0;
        assert_eq!((counted(&medium, "frames_given_up"), counted(&medium, "frames_sent")), (1.0, sent));
    }
}

#[test]
fn a_piggybacked_acknowledgement_saves_an_exchange() {
    let mut medium = radios(radio_config(), 2);
    medium.request(frame(0), 1, Bytes::new(1000), at(0));
    assert_eq!(two_steps(&mut medium), at(110));
    // The peer is about to send an answer, so it does not send an RTS.
    medium.request(frame(1), 0, Bytes::new(40), at(150));
    // Times in µs: the frame ends at 1,320, the answer of 40 bytes at 1,460, its acknowledgement at 1,570.
    let expected = [
        (at(1370), MediumEvent::Delivered(frame(0))),
        (at(1460), MediumEvent::Done(frame(0))),
        (at(1510), MediumEvent::Delivered(frame(1))),
        (at(1570), MediumEvent::Done(frame(1))),
    ];
    assert_eq!(run_out(&mut medium), expected);
    // Without piggybacking, each frame needs a separate exchange: four turnarounds, three control frames and the frame.
    let mut medium = radios(PacketRadioConfig { piggyback: false, ..radio_config() }, 2);
    medium.request(frame(0), 1, Bytes::new(1000), at(0));
    two_steps(&mut medium);
    medium.request(frame(1), 0, Bytes::new(40), at(150));
    assert_eq!(run_out(&mut medium).last(), Some(&(at(1430 + 110 + 110 + 140 + 110), MediumEvent::Done(frame(1)))));
}

#[test]
fn a_radio_in_another_exchange_does_not_answer() {
    // Radio 0 calls radio 1 while radio 1 is in an exchange with radio 2. Radio 0 backs off and calls again until radio
    // 1 is free.
    let mut medium = radios(radio_config(), 3);
    medium.request(frame(1), 2, Bytes::new(1000), at(0));
    medium.request(frame(0), 1, Bytes::new(500), at(10));
    let seen = run_out(&mut medium);
    assert_eq!(seen[1], (at(1430), MediumEvent::Done(frame(1))));
    assert!(seen[2].0 >= at(1430 + 110 + 600 + 50) && seen.len() == 4, "{seen:?}");
    let mut unanswered = 0.0;
    medium.sample(&mut |radio, quantity, value| {
        if (radio, quantity) == (Some(0), "calls_unanswered") {
            unanswered = value;
        }
    });
    assert!(unanswered >= 1.0);
    // A radio that overhears an exchange does not call.
    let mut medium = radios(PacketRadioConfig { overhear: true, ..radio_config() }, 3);
    medium.request(frame(1), 2, Bytes::new(1000), at(0));
    medium.request(frame(0), 1, Bytes::new(500), at(10));
    run_out(&mut medium);
    medium.sample(&mut |radio, quantity, value| {
        if (radio, quantity) == (Some(0), "calls_unanswered") {
            assert!(value == 0.0, "{value}");
        }
    });
}

#[test]
fn packets_hop_along_the_chain() {
    let chain = radios(radio_config(), 4);
    assert_eq!((chain.next_hop(0, 3), chain.next_hop(3, 0), chain.next_hop(1, 2)), (1, 2, 2));
    assert_eq!(radios(PacketRadioConfig { chain: false, ..radio_config() }, 4).next_hop(0, 3), 3);
}

/// Returns settings with a rate of 8 Mbit/s. A byte takes 1 µs, the interframe gap 12 µs, and a slot 64 µs.
fn cable() -> CsmaCdConfig {
    CsmaCdConfig { rate: BitRate::from_bps(8_000_000), framing: Framing::NONE, ..CsmaCdConfig::default() }
}

#[test]
fn a_free_cable_is_used_at_once_and_frames_keep_the_gap() {
    let mut medium = CsmaCd::new(cable(), 2, Rng::for_role(1, "lan/medium"));
    medium.request(frame(0), 1, Bytes::new(1000), at(100));
    // The first event is the start of a frame. At the second event, all stations sense the frame.
    for now in [at(100), at(105)] {
        assert_eq!((medium.next_event(), medium.on_event(now)), (Some(now), MediumEvent::Nothing));
    }
    medium.request(frame(1), 0, Bytes::new(500), at(300));
    let expected = [
        (at(1100), MediumEvent::Delivered(frame(0))),
        (at(1100), MediumEvent::Done(frame(0))),
        (at(1612), MediumEvent::Delivered(frame(1))),
        (at(1612), MediumEvent::Done(frame(1))),
    ];
    assert_eq!(run_out(&mut medium), expected);
}

#[test]
fn frames_that_start_within_reach_collide_and_are_sent_again() {
    let mut medium = CsmaCd::new(cable(), 2, Rng::for_role(1, "lan/medium"));
    medium.request(frame(0), 1, Bytes::new(1000), at(0));
    medium.request(frame(1), 0, Bytes::new(1000), at(4));
    let seen = run_out(&mut medium);
    // The collision (reach, preamble and jam) lasts until 17 µs, so no frame ends earlier. Two frames and at least one
    // gap follow.
    assert!(seen.len() == 4 && seen[0].0 >= at(17 + 12 + 1000), "{seen:?}");
    assert!(seen[3].0 - seen[1].0 >= Duration::from_micros(1012));
    let mut collisions = 0.0;
    medium.sample(&mut |_, quantity, value| collisions += if quantity == "collisions" { value } else { 0.0 });
    assert!(collisions >= 2.0);
}

/// Returns settings with 8 Mbit/s in each direction. An interval lasts 2 ms and starts with 128 µs of request
/// slots.
/// The queue of a station passes a burst of 1,600 bytes, and then a packet every 12 ms. No other event occurs then.
#[test]
fn a_queue_that_delays_packets_feeds_the_medium_on_time() {
    let names = ["a", "b"].map(str::to_owned);
    let medium = MediumConfig::new(CsmaCdConfig::default()).build(&names, 1).expect("a medium");
    let slow = || HtbConfig { r2q: 1, ..HtbConfig::default() };
    let stations = names.iter().enumerate().map(|(number, name)| {
        let queue = QueueConfig::new(slow()).build(1, name).expect("a queue").checked();
        (name.clone(), vec![StationQueue { name: name.clone(), receiver: 1 - number, queue }])
    });
    let address = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
    let ports = [(address(1), Port(0)), (address(2), Port(1))].into();
    let mut node = SharedLink::new(stations.collect(), medium, ports);
    let mut accounting = Accounting::new(1);
    for id in 0..4 {
        node.handle_packet(Port(0), packet(id, 1500, Time::ZERO), &mut Cx::new(Time::ZERO, NodeId(0), &mut accounting));
    }
    let mut arrived = Vec::new();
    while let Some(now) = node.poll_timeout() {
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        node.handle_timeout(&mut cx);
        arrived.extend(std::iter::from_fn(|| node.poll_transmit(&mut cx)).map(|_| now));
    }
    let gaps: Vec<u64> = arrived.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() / 1_000_000).collect();
    assert_eq!(gaps, [1, 9, 12]);
}

fn channel() -> DocsisConfig {
    DocsisConfig {
        down: BitRate::from_bps(8_000_000),
        up: BitRate::from_bps(8_000_000),
        framing: Framing::NONE,
        backoff_start: 0,
        ..DocsisConfig::default()
    }
}

fn docsis(config: DocsisConfig) -> Docsis {
    Docsis::new(config, 0, 3, Rng::for_role(1, "cable/medium"))
}

fn counted(medium: &dyn Medium, what: &str) -> f64 {
    let mut sum = 0.0;
    medium.sample(&mut |_, quantity, value| sum += if quantity == what { value } else { 0.0 });
    sum
}

#[test]
fn a_cmts_sends_frames_back_to_back() {
    let mut medium = docsis(channel());
    let second = FrameId { station: 0, number: 1 };
    medium.request(frame(0), 1, Bytes::new(1000), at(5));
    medium.request(second, 2, Bytes::new(500), at(5));
    let expected = [
        (at(1005), MediumEvent::Delivered(frame(0))),
        (at(1005), MediumEvent::Done(frame(0))),
        (at(1505), MediumEvent::Delivered(second)),
        (at(1505), MediumEvent::Done(second)),
    ];
    assert_eq!(run_out(&mut medium), expected);
}

#[test]
fn a_modem_requests_in_the_next_interval_and_sends_in_the_interval_after_it() {
    let mut medium = docsis(channel());
    medium.request(frame(1), 0, Bytes::new(1000), at(100));
    let sent = at(4000 + 128 + 1000);
    assert_eq!(run_out(&mut medium), [(sent, MediumEvent::Delivered(frame(1))), (sent, MediumEvent::Done(frame(1)))]);
    assert_eq!((counted(&medium, "requests"), counted(&medium, "collisions")), (1.0, 0.0));
}

#[test]
fn requests_in_the_same_slot_collide_and_are_sent_again() {
    let mut medium = docsis(channel());
    for station in [1, 2] {
        medium.request(frame(station), 0, Bytes::new(500), at(0));
    }
    let seen = run_out(&mut medium);
    // The requests in the first map collide, so no frame is sent before the third map.
    assert!(seen.len() == 4 && seen[0].0 >= at(4000 + 128 + 500), "{seen:?}");
    assert!(counted(&medium, "collisions") >= 2.0);
    // With one request slot and a backoff range of one slot, requests always collide. The first frame is dropped after
    // its last retry.
    let hopeless = DocsisConfig { request_slots: 1, backoff_end: 0, ..channel() };
    let mut medium = docsis(hopeless);
    for station in [1, 2] {
        medium.request(frame(station), 0, Bytes::new(500), at(0));
    }
    let seen = run_out(&mut medium);
    assert!(matches!(seen[0].1, MediumEvent::Lost(_, DropReason::RetriesExhausted)), "{seen:?}");
    assert_eq!(counted(&medium, "frames_given_up"), 1.0, "the other modem then sends without collisions");
    assert_eq!(counted(&medium, "collisions"), 34.0, "both modems ask 17 times");
    assert!(medium.takes(1, 0, 0) && medium.takes(2, 0, 0), "a frame that is given up takes no room");
}

#[test]
fn busy_modems_share_the_upstream_and_piggyback_their_requests() {
    let mut medium = docsis(channel());
    let mut next = [0_u64; 3];
    let mut arrived = [0_u64; 3];
    let (size, end) = (Bytes::new(600), at(2_000_000));
    loop {
        let now = medium.next_event().unwrap_or(Time::ZERO);
        if now > end {
            break;
        }
        for station in [1, 2] {
            while medium.takes(station, 0, 0) {
                medium.request(FrameId { station, number: next[station] }, 0, size, now);
                next[station] += 1;
            }
        }
        if let MediumEvent::Delivered(id) = medium.on_event(now) {
            arrived[id.station] += 1;
        }
    }
    // The request slots leave 1,872 of every 2,000 µs for data, and no frame waits for the next interval.
    assert!((3100..=3120).contains(&(arrived[1] + arrived[2])), "{arrived:?}");
    assert!(arrived[1].abs_diff(arrived[2]) <= 3, "{arrived:?}");
    assert!(counted(&medium, "requests") < 20.0, "busy modems contend only for their first request");
}

proptest! {
    #[test]
    fn each_frame_arrives_at_most_once_and_ends_once(
        loss in 0.0..0.9_f64,
        retries in 0..6_u32,
        seed: u64,
        kind in 0..7_u8,
        frames in prop::collection::vec((0..3_usize, 28..1500_u64), 1..40),
    ) {
        let rng = Rng::for_role(seed, "medium");
        let radio = PacketRadioConfig { loss, retries, piggyback: kind == 1, overhear: kind == 1, ..radio_config() };
        let mut medium: Box<dyn Medium> = match kind {
            0 => Box::new(medium(loss, retries, seed)),
            1 | 2 => Box::new(PacketRadio::new(radio, 3, rng)),
            3 => Box::new(CsmaCd::new(cable(), 3, rng)),
            // Frames take up to 1,500 µs, which is longer than the intervals of this channel.
            6 => Box::new(Docsis::new(DocsisConfig { map_interval: Duration::from_millis(1), ..channel() }, 0, 3, rng)),
            _ => {
                let wifi = WifiConfig { frame_error: loss, ack_error: loss, retries, acknowledge: kind == 4, ..WifiConfig::default() };
                Box::new(Wifi::new(wifi, &["ap".into(), "b".into(), "c".into()], rng).unwrap())
            }
        };
        let mut waiting = frames;
        let (mut with_medium, mut delivered, mut latest) = ([false; 3], [false; 3], Time::ZERO);
        loop {
            // Each station requests its next frame as soon as none of its frames is in the medium.
            while let Some(place) = waiting.iter().position(|(station, _)| !with_medium[*station]) {
                let (station, size) = waiting.remove(place);
                (with_medium[station], delivered[station]) = (true, false);
                medium.request(frame(station), if station == 1 { 2 } else { 1 }, Bytes::new(size), latest);
            }
            let Some(now) = medium.next_event() else { break };
            prop_assert!(now >= latest);
            latest = now;
            match medium.on_event(now) {
                MediumEvent::Nothing | MediumEvent::Fill { .. } => {}
                MediumEvent::Delivered(FrameId { station, .. }) => {
                    prop_assert!(with_medium[station] && !delivered[station]);
                    delivered[station] = true;
                }
                MediumEvent::Done(FrameId { station, .. }) => {
                    prop_assert!(with_medium[station] && delivered[station]);
                    with_medium[station] = false;
                }
                MediumEvent::Lost(FrameId { station, .. }, _) => {
                    prop_assert!(with_medium[station] && !delivered[station]);
                    with_medium[station] = false;
                }
            }
        }
        prop_assert!(waiting.is_empty() && with_medium == [false; 3], "a frame never ended");
    }
}
