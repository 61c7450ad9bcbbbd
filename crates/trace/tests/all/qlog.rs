//! Reads qlog files as JSON text sequences, and compares the records with the packets and decisions.

use crate::story::{CLIENT, SERVER, SharedFile, millis};
use lopsided_core::packet::UdpHeader;
use lopsided_core::tcp_event::{CaReason, CaState, Limit, Reduction, State, TcpEvent, TimerKind};
use lopsided_core::{
    Bytes, Event, EventMask, FlowId, IpHeader, NewPacket, Observer, Packet, Payload, TcpEndpoint, Time, Transport,
};
use lopsided_quic::frames::{CID_LEN, TAG_LEN, put_varint};
use lopsided_trace::Qlog;
use serde_json::{Value, json};
use std::io::{self, Write};

const FLOW: FlowId = FlowId(3);

#[test]
fn the_head_names_the_schema_and_the_point_of_view() {
    for (client, role) in [(true, "client"), (false, "server")] {
        let file = SharedFile::default();
        let log = Qlog::new(file.clone(), "the \"first\"\n\\ run", SERVER, FLOW, true, client);
        log.finish().expect("memory does not fail");
        let head = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": "the first run",
            "trace": {
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                },
                "vantage_point": {"type": role},
                "event_schemas": ["urn:ietf:params:qlog:events:quic-14"],
            },
        });
        assert_eq!(records(&file), [head]);
    }
}

/// The draft's fields of each frame (draft-ietf-quic-qlog-quic-events-14, section 5).
#[test]
fn each_frame_has_the_fields_of_the_draft() {
    let frames: &[(&[u64], &[u8], Value)] = &[
        (&[0x01], b"", json!({"frame_type": "ping"})),
        // The delay is 1,000 units of 8 µs. The second range ends 2 + 3 below the start of the first.
        (
            &[0x02, 90, 1000, 1, 4, 3, 6],
            b"",
            json!({"frame_type": "ack", "ack_delay": 8.0, "acked_ranges": [[86, 90], [75, 81]]}),
        ),
        (
            &[0x03, 7, 0, 0, 0, 5, 6, 8],
            b"",
            json!({"frame_type": "ack", "ack_delay": 0.0, "acked_ranges": [[7, 7]], "ect0": 5, "ect1": 6, "ce": 8}),
        ),
        (
            &[0x04, 4, 9, 700],
            b"",
            json!({"frame_type": "reset_stream", "stream_id": 4, "error": "unknown", "error_code": 9, "final_size": 700}),
        ),
        (
            &[0x05, 4, 9],
            b"",
            json!({"frame_type": "stop_sending", "stream_id": 4, "error": "unknown", "error_code": 9}),
        ),
        (&[0x06, 12, 3], b"abc", json!({"frame_type": "crypto", "offset": 12, "raw": {"payload_length": 3}})),
        (&[0x07, 2], b"ab", json!({"frame_type": "new_token", "token": {"raw": {"length": 2}}})),
        (
            &[0x0f, 4, 65_000, 3],
            b"abc",
            json!({"frame_type": "stream", "stream_id": 4, "offset": 65_000, "fin": true, "raw": {"payload_length": 3}}),
        ),
        (&[0x10, 5000], b"", json!({"frame_type": "max_data", "maximum": 5000})),
        (&[0x11, 4, 5000], b"", json!({"frame_type": "max_stream_data", "stream_id": 4, "maximum": 5000})),
        (&[0x12, 9], b"", json!({"frame_type": "max_streams", "stream_type": "bidirectional", "maximum": 9})),
        (&[0x13, 9], b"", json!({"frame_type": "max_streams", "stream_type": "unidirectional", "maximum": 9})),
        (&[0x14, 5000], b"", json!({"frame_type": "data_blocked", "limit": 5000})),
        (&[0x15, 4, 5000], b"", json!({"frame_type": "stream_data_blocked", "stream_id": 4, "limit": 5000})),
        (&[0x16, 9], b"", json!({"frame_type": "streams_blocked", "stream_type": "bidirectional", "limit": 9})),
        (&[0x17, 9], b"", json!({"frame_type": "streams_blocked", "stream_type": "unidirectional", "limit": 9})),
        (
            &[0x18, 6, 2, 2],
            b"\x0a\xbc0123456789abcdef",
            json!({"frame_type": "new_connection_id", "sequence_number": 6, "retire_prior_to": 2, "connection_id": "0abc"}),
        ),
        (&[0x19, 6], b"", json!({"frame_type": "retire_connection_id", "sequence_number": 6})),
        (&[0x1a], b"12345678", json!({"frame_type": "path_challenge"})),
        (&[0x1b], b"12345678", json!({"frame_type": "path_response"})),
        (
            &[0x1c, 10, 6, 2],
            b"no",
            json!({"frame_type": "connection_close", "error_space": "transport", "error": "unknown", "error_code": 10}),
        ),
        (
            &[0x1d, 10, 2],
            b"no",
            json!({"frame_type": "connection_close", "error_space": "application", "error": "unknown", "error_code": 10}),
        ),
        (&[0x1e], b"", json!({"frame_type": "handshake_done"})),
        (&[0x1f], b"", json!({"frame_type": "immediate_ack"})),
        (&[0x31, 4], b"abcd", json!({"frame_type": "datagram", "raw": {"length": 4}})),
        (
            &[0xaf, 1, 10, 25_000, 3],
            b"",
            json!({
                "frame_type": "ack_frequency",
                "ack_eliciting_threshold": 10,
                "request_max_ack_delay_us": 25_000,
                "reordering_threshold": 3,
            }),
        ),
        // Padding last: it extends up to the next byte that is not 0.
        (&[0, 0, 0], b"", json!({"frame_type": "padding", "raw": {"length": 3}})),
    ];
    let octets: Vec<u8> = frames.iter().flat_map(|(numbers, rest, _)| frame(numbers, rest)).collect();
    let file = logged(|log| log.record(millis(0), SERVER, &Event::Sent(&datagram(FLOW, one_rtt(0, &octets)))));
    let [_, sent] = &records(&file)[..] else { panic!("one packet was sent") };
    let expected: Vec<&Value> = frames.iter().map(|(.., expected)| expected).collect();
    assert_eq!(sent["data"]["frames"].as_array().expect("a list of frames").iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_packets_of_a_datagram_have_their_types_sizes_and_numbers() {
    let ping = frame(&[0x01], b"");
    let [initial, handshake] = [long(0, 200, &ping), long(2, 5, &ping)];
    let sizes = [initial.len(), handshake.len()];
    let early = long(1, 4, &ping);
    let file = logged(|log| {
        let whole = [&initial[..], &handshake, &one_rtt(6, &ping)].concat();
        let at = Time::from_nanos(12_345_678);
        log.record(at, SERVER, &Event::Sent(&datagram(FLOW, whole)));
        // 0-RTT and 1-RTT packets share their numbers; received packets have numbers of their own.
        log.record(at, SERVER, &Event::Received(&datagram(FLOW, early.clone())));
    });
    let header =
        |kind: &str, number: u64| json!({"packet_type": kind, "packet_number_length": 1, "packet_number": number});
    let event = |name: &str, header: Value, size: usize| {
        let data = json!({"header": header, "raw": {"length": size}, "frames": [{"frame_type": "ping"}]});
        json!({"time": 12.345678, "name": name, "data": data})
    };
    let expected = [
        event("quic:packet_sent", header("initial", 200), sizes[0]),
        event("quic:packet_sent", header("handshake", 5), sizes[1]),
        event("quic:packet_sent", header("1RTT", 6), 1 + CID_LEN + 1 + 1 + TAG_LEN),
        event("quic:packet_received", header("0RTT", 4), early.len()),
    ];
    assert_eq!(records(&file)[1..], expected);
}

/// RFC 9000, section 17.2: these packets have neither a packet number nor frames.
#[test]
fn retries_and_version_negotiations_have_no_packet_number() {
    let retry = [&[0xf0, 0, 0, 0, 1, 0, 0][..], &[7; 20]].concat();
    let versions = [&[0x80, 0, 0, 0, 0, 0, 0][..], &[0, 0, 0, 1]].concat();
    let file = logged(|log| {
        for octets in [retry.clone(), versions.clone()] {
            log.record(millis(1), SERVER, &Event::Received(&datagram(FLOW, octets)));
        }
    });
    let data =
        |kind: &str, size: usize| json!({"header": {"packet_type": kind}, "raw": {"length": size}, "frames": []});
    let expected = [data("retry", retry.len()), data("version_negotiation", versions.len())];
    assert_eq!(records(&file)[1..].iter().map(|event| event["data"].clone()).collect::<Vec<_>>(), expected);
}

/// A packet number on the wire has only the low bits. The numbers of each direction and space continue separately, and
/// a late packet does not turn them back.
#[test]
fn packet_numbers_continue_beyond_their_length_on_the_wire() {
    let ping = frame(&[0x01], b"");
    let file = logged(|log| {
        for number in [100, 200, 3, 254, 127, 4] {
            log.record(millis(1), SERVER, &Event::Sent(&datagram(FLOW, one_rtt(number, &ping))));
        }
        for octets in [long(2, 4, &ping), one_rtt(3, &ping)] {
            log.record(millis(2), SERVER, &Event::Sent(&datagram(FLOW, octets.clone())));
            log.record(millis(2), SERVER, &Event::Received(&datagram(FLOW, octets)));
        }
    });
    let numbers = |name: &str| -> Vec<Value> {
        let events = records(&file);
        let events = events.iter().filter(|event| event["name"] == name);
        events.map(|event| event["data"]["header"]["packet_number"].clone()).collect()
    };
    assert_eq!(numbers("quic:packet_sent"), [100, 200, 259, 254, 383, 260, 4, 259].map(Value::from));
    assert_eq!(numbers("quic:packet_received"), [4, 3].map(Value::from));
}

#[test]
fn decisions_of_the_endpoint_become_events() {
    let limits = [
        (Limit::Congestion, Some("congestion_control")),
        (Limit::Pacing, Some("pacing")),
        (Limit::Application, Some("application")),
        (Limit::StreamFlowControl, Some("stream_flow_control")),
        (Limit::ConnectionFlowControl, Some("connection_flow_control")),
        (Limit::AntiAmplification, Some("amplification_protection")),
        // The draft has no names for these.
        (Limit::SendBuffer, None),
        (Limit::Processor, None),
    ];
    let states =
        [(State::Closed, State::SynSent), (State::SynSent, State::Established), (State::Established, State::Closed)];
    let names = ["closed", "attempted", "handshake_complete", "closed"];
    let file = logged(|log| {
        for (from, to) in states {
            log.record(millis(1), SERVER, &decides(FLOW, true, TcpEvent::StateChanged { from, to }));
        }
        let lost = TcpEvent::CaState { from: CaState::Open, to: CaState::Recovery, why: CaReason::LossDetected };
        let [from, to] = [20_000, 14_000].map(Bytes::new);
        let reduced = TcpEvent::CwndReduced { signal: Reduction::Loss, from, to };
        // The draft has an event of another form for timers.
        for event in [lost, reduced, TcpEvent::Timer { kind: TimerKind::Retransmission }] {
            log.record(millis(2), SERVER, &decides(FLOW, true, event));
        }
        for (by, _) in limits {
            log.record(millis(3), SERVER, &decides(FLOW, true, TcpEvent::Limited { by }));
        }
    });
    let event = |ms: f64, name: &str, data: Value| json!({"time": ms, "name": format!("quic:{name}"), "data": data});
    let states =
        names.windows(2).map(|pair| event(1.0, "connection_state_updated", json!({"old": pair[0], "new": pair[1]})));
    let decisions = [
        event(2.0, "congestion_state_updated", json!({"old": "open", "new": "recovery"})),
        event(2.0, "recovery_metrics_updated", json!({"congestion_window": 14_000})),
    ];
    let blocked = limits.iter().map(|(_, reason)| {
        let data = reason.map_or(json!({"new": "blocked"}), |reason| json!({"new": "blocked", "reason": reason}));
        event(3.0, "connection_data_blocked_updated", data)
    });
    let expected: Vec<Value> = states.chain(decisions).chain(blocked).collect();
    assert_eq!(records(&file)[1..], expected);
}

#[test]
fn a_log_contains_only_its_end_of_its_flow() {
    let packet = |flow| datagram(flow, one_rtt(0, &frame(&[0x01], b"")));
    let other = FlowId(4);
    let file = logged(|log| {
        assert_eq!(log.mask(), EventMask::HOSTS | EventMask::TCP);
        log.record(millis(0), CLIENT, &Event::Sent(&packet(FLOW)));
        log.record(millis(0), SERVER, &Event::Sent(&packet(other)));
        log.record(millis(0), SERVER, &Event::Received(&packet(other)));
        let event = || TcpEvent::Limited { by: Limit::Pacing };
        log.record(millis(0), CLIENT, &decides(FLOW, true, event()));
        log.record(millis(0), SERVER, &decides(other, true, event()));
        log.record(millis(0), SERVER, &decides(FLOW, false, event()));
    });
    assert_eq!(records(&file).len(), 1, "only the head");
}

#[test]
fn the_first_error_is_reported_at_the_end() {
    /// Fails from the second record on.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0 += usize::from(octets.contains(&0x1e));
            if self.0 > 1 { Err(io::Error::other(format!("record {}", self.0))) } else { Ok(octets.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut log = Qlog::new(Full(0), "full", SERVER, FLOW, true, false);
    for _ in 0..3 {
        log.record(millis(0), SERVER, &decides(FLOW, true, TcpEvent::Limited { by: Limit::Pacing }));
    }
    assert_eq!(log.finish().expect_err("the disk is full").to_string(), "record 2");
    assert!(format!("{log:?}").contains("FlowId(3)"), "{log:?}");
}

/// Returns the log of the sender of [`FLOW`] at the server.
fn logged(events: impl FnOnce(&mut Qlog)) -> SharedFile {
    let file = SharedFile::default();
    let mut log = Qlog::new(file.clone(), "download", SERVER, FLOW, true, false);
    events(&mut log);
    log.finish().expect("memory does not fail");
    file
}

/// Returns the records of a JSON text sequence (RFC 7464).
fn records(file: &SharedFile) -> Vec<Value> {
    let text = String::from_utf8(file.bytes()).expect("JSON is UTF-8");
    let mut records = text.split('\u{1e}');
    assert_eq!(records.next(), Some(""), "a record separator precedes each record");
    records.map(|record| serde_json::from_str(record.strip_suffix('\n').expect("a newline")).expect("JSON")).collect()
}

fn decides(flow: FlowId, sends: bool, event: TcpEvent) -> Event<'static> {
    Event::Tcp { endpoint: TcpEndpoint { flow, opener_port: 40_000, sends }, event }
}

fn datagram(flow: FlowId, octets: Vec<u8>) -> Packet {
    let ip = IpHeader::v4([10, 0, 0, 1].into(), [10, 0, 1, 2].into());
    let header = UdpHeader { src_port: 443, dst_port: 40_000 };
    Packet::unbooked(0, Time::ZERO, NewPacket::new(flow, ip, Transport::Udp(header), Payload::real(octets)))
}

fn frame(numbers: &[u64], rest: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    numbers.iter().for_each(|number| put_varint(&mut octets, *number));
    [&octets, rest].concat()
}

/// Returns a packet with a short header and a packet number of one byte.
fn one_rtt(number: u8, frames: &[u8]) -> Vec<u8> {
    [&[0x40][..], &[0; CID_LEN], &[number], frames, &[0; TAG_LEN]].concat()
}

/// Returns a packet with a long header of this type (RFC 9000, section 17.2) and a packet number of one byte.
fn long(kind: u8, number: u8, frames: &[u8]) -> Vec<u8> {
    let mut octets = vec![0xc0 | kind << 4, 0, 0, 0, 1, 0, 0];
    if kind == 0 {
        // The length of the token.
        octets.push(0);
    }
    put_varint(&mut octets, (1 + frames.len() + TAG_LEN) as u64);
    [&octets[..], &[number], frames, &[0; TAG_LEN]].concat()
}
