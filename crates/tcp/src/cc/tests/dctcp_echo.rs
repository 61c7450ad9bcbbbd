//! DCTCP between two real endpoints: the negotiation, and the echo of a changed CE mark (RFC 8257 section 3.2).

use crate::{AckSettings, ConnConfig, Connection, EcnRule, Endpoint, Profile, Segment, State};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Time};
use std::net::Ipv4Addr;

const MSS: u32 = 1448;

fn config(client: bool) -> ConnConfig {
    let here = Endpoint { addr: Ipv4Addr::from_bits(1).into(), port: 40_000 };
    let there = Endpoint { addr: Ipv4Addr::from_bits(2).into(), port: 5000 };
    let (local, remote) = if client { (here, there) } else { (there, here) };
    // The controller requires ECN, although the profile does not enable it.
    let ack = AckSettings::delayed(Duration::from_millis(40));
    let profile = Profile { ecn: EcnRule::Off, ack, ..Profile::linux_6_1() };
    ConnConfig::new(local, remote, 1000, Bytes::new(1500), profile, "dctcp").expect("a known name")
}

fn established() -> (Connection, Connection) {
    let mut client = Connection::connect(config(true));
    let mut server = Connection::listen(config(false));
    for _ in 0..3 {
        while let Some(Segment { header, payload, ecn, .. }) = client.poll_segment(Time::ZERO) {
            assert_eq!(ecn, Ecn::Ect0, "SYNs and ACKs too");
            server.handle_segment(Time::ZERO, &header, &payload, ecn);
        }
        while let Some(Segment { header, payload, ecn, .. }) = server.poll_segment(Time::ZERO) {
            assert_eq!(ecn, Ecn::Ect0, "SYNs and ACKs too");
            client.handle_segment(Time::ZERO, &header, &payload, ecn);
        }
    }
    assert_eq!((client.state(), server.state()), (State::Established, State::Established));
    (client, server)
}

/// Returns, for each ACK of the server, the number of segments acknowledged so far, and true if the ACK carries ECE.
fn acks(server: &mut Connection, first: &TcpHeader, now: Time) -> Vec<(u32, bool)> {
    std::iter::from_fn(|| server.poll_segment(now))
        .map(|ack| (ack.header.ack.since(first.seq) / MSS, ack.header.flags.has(Flags::ECE)))
        .collect()
}

#[test]
fn the_receiver_echoes_each_mark() {
    let (mut client, mut server) = established();
    client.write(&Payload::virtual_len(8 * MSS)).expect("open");
    let data: Vec<Segment> = std::iter::from_fn(|| client.poll_segment(Time::ZERO)).collect();
    assert_eq!(data.len(), 8);
    assert!(data.iter().all(|segment| segment.ecn == Ecn::Ect0));
    let marks = [false, false, false, true, true, true, false, false];
    let expected: [&[(u32, bool)]; 8] = [
        &[],
        &[(2, false)],
        &[],
        // The fourth segment is the first marked one, so the pending ACK of the third segment is sent first, without
        // ECE. The fourth segment is acknowledged at once (dctcp_ece_ack_update).
        &[(3, false), (4, true)],
        &[],
        &[(6, true)],
        // The seventh segment is unmarked and acknowledged at once. No ACK is pending.
        &[(7, false)],
        &[],
    ];
    for ((Segment { header, payload, .. }, marked), expected) in data.iter().zip(marks).zip(expected) {
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
        server.handle_segment(Time::ZERO, header, payload, ecn);
        assert_eq!(acks(&mut server, &data[0].header, Time::ZERO), expected);
    }
}

/// Several marks within a round trip reduce the window only once, and at most by half.
#[test]
fn the_sender_reduces_by_the_share_of_marks() {
    let (mut client, mut server) = established();
    let before = client.cwnd();
    client.write(&Payload::virtual_len(8 * MSS)).expect("open");
    let data: Vec<Segment> = std::iter::from_fn(|| client.poll_segment(Time::ZERO)).collect();
    let mut now = Time::ZERO + Duration::from_millis(10);
    for (number, Segment { header, payload, .. }) in data.iter().enumerate() {
        let ecn = if (3..6).contains(&number) { Ecn::Ce } else { Ecn::Ect0 };
        server.handle_segment(now, header, payload, ecn);
        while let Some(Segment { header, payload, .. }) = server.poll_segment(now) {
            client.handle_segment(now, &header, &payload, Ecn::NotEct);
        }
        now += Duration::from_millis(1);
    }
    assert_eq!(client.counters().ecn_reductions, 1, "once a round trip");
    let ssthresh = client.info(now).snd_ssthresh.map(|ssthresh| ssthresh.get() / u64::from(MSS));
    // The marks arrive before the end of the first round, so alpha is still close to its initial value of 1.
    assert!(ssthresh.is_some_and(|segments| segments >= 5 && segments < before.get() / u64::from(MSS)), "{ssthresh:?}");
}
