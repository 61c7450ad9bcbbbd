//! Writes captures, reads them back, and lets tshark read them.

use crate::story::{
    CLIENT, SERVER, SharedFile, changed, download_seen_by_the_server, is_dropped, leaves_queue, millis, packet,
};
use lopsided_core::packet::Flags;
use lopsided_core::{DropReason, Duration, Event, NodeId, Observer, Packet, Time, wire};
use lopsided_trace::{Capture, FlowTable, RoundTrip, RoundTrips, Tap, TraceRead, read};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::process::{Command, Stdio};

#[test]
fn a_host_capture_is_read_back_packet_by_packet() {
    let story = download_seen_by_the_server();
    let file = capture_of(&story);
    let mut seen = Vec::new();
    let done = read(&file[..], |at, packet| seen.push((at, wire::encode(packet)))).expect("our own file");
    assert_eq!(done, TraceRead { packets: story.len() as u64, passed_over: 0, cut: false });
    let expected_packets: Vec<_> = story.iter().map(|(at, _, packet)| (*at, wire::encode(packet))).collect();
    assert_eq!(seen, expected_packets);
}

#[test]
fn the_flow_table_summarises_the_download() {
    let mut table = FlowTable::default();
    read(&capture_of(&download_seen_by_the_server())[..], |at, packet| table.observe(at, packet))
        .expect("our own file");
    let summaries = table.summaries();
    let [download] = &summaries[..] else { panic!("one direction carried data: {summaries:?}") };
    assert_eq!((download.data_segments, download.data_bytes), (4, 4 * 1448));
    assert_eq!((download.retransmitted_segments, download.retransmitted_bytes), (1, 1448));
    assert_eq!(download.acked_bytes, 3 * 1448);
    assert_eq!(download.active, Duration::from_millis(250));
    assert_eq!(download.goodput_bps(), 3.0 * 1448.0 * 8.0 / 0.25);
    // The first segment has an RTT of 25 ms. The ACK of the other two segments covers a retransmission and produces no
    // sample.
    assert_eq!(download.rtt.samples, 1);
    // Both SYNs scale windows by 7 bits.
    assert_eq!((download.window_mean_bytes, download.window_back_mean_bytes), (65535.0 * 128.0, 65535.0 * 128.0));
    assert_eq!((download.rtt.min, download.rtt.max), (Duration::from_millis(25), Duration::from_millis(25)));
    let story = download_seen_by_the_server();
    let outbound = story.iter().filter(|(_, outbound, _)| *outbound).count() as u64;
    assert_eq!((download.packets, download.packets_back), (outbound, story.len() as u64 - outbound));
    assert_eq!(download.elapsed, story[story.len() - 1].0 - story[0].0);
    // Three segments are outstanding for 25 ms, then two of them for another 225 ms. The connection lasts 291 ms.
    let segment_ms = 3.0 * 25.0 + 2.0 * 225.0;
    // Compare exactly: the mean must not depend on the number of packets.
    assert_eq!(download.outstanding.mean_bytes, 1448.0 * segment_ms / 291.0);
    assert_eq!((download.outstanding.max_bytes, download.outstanding.max_at), (3 * 1448, millis(20)));
}

#[test]
fn late_reports_of_a_link_are_sorted_by_time() {
    let (down, up) = (NodeId(4), NodeId(5));
    let file = SharedFile::default();
    let taps = vec![Tap::link("r1-r2.down", down, None), Tap::link("r1-r2.up", up, None)];
    let mut capture = Capture::new(file.clone(), taps, Duration::from_millis(10));
    let reports = [(up, 5), (up, 12), (down, 4), (down, 7), (up, 14), (down, 14), (down, 20)];
    for (id, (node, at)) in reports.into_iter().enumerate() {
        leaves_queue(&mut capture, millis(at), node, &packet(id as u64, SERVER, millis(at), Flags::ACK, (1, 1), 100));
    }
    assert_eq!(capture.finish().expect("memory does not fail"), reports.len() as u64);
    let mut order = Vec::new();
    read(&file.bytes()[..], |at, packet| order.push((at, packet.id()))).expect("our own file");
    let expected = [(4, 2), (5, 0), (7, 3), (12, 1), (14, 4), (14, 5), (20, 6)];
    assert_eq!(order, expected.map(|(at, id)| (millis(at), id)));
}

#[test]
fn each_loss_of_a_link_is_recorded_once_with_its_reason() {
    let node = NodeId(4);
    let file = SharedFile::default();
    let mut capture = Capture::new(file.clone(), vec![Tap::link("line", node, None).with_drops()], Duration::ZERO);
    let [refused, lost, through] =
        [1, 2, 3].map(|id| packet(id, SERVER, millis(id), Flags::ACK, (id as u32 * 100, 1), 100));
    is_dropped(&mut capture, millis(1), node, &refused, DropReason::QueueFull);
    leaves_queue(&mut capture, millis(2), node, &lost);
    is_dropped(&mut capture, millis(2), node, &lost, DropReason::RandomLoss);
    leaves_queue(&mut capture, millis(3), node, &through);
    assert_eq!(capture.finish().expect("memory does not fail"), 3);
    let text = String::from_utf8_lossy(&file.bytes()).into_owned();
    assert_eq!(text.matches("dropped: ").count(), 2);
    assert!(text.contains("dropped: queue_full") && text.contains("dropped: random_loss"));
}

/// A link can deliver two packets in one instant. The comment belongs to the packet that was lost.
#[test]
fn a_loss_is_noted_at_its_packet_even_if_another_left_in_the_same_instant() {
    let node = NodeId(4);
    let [lost, through] = [1, 2].map(|id| packet(id, SERVER, millis(2), Flags::ACK, (id as u32 * 100, 1), 100));
    let file = |later: bool| {
        let file = SharedFile::default();
        let mut capture = Capture::new(file.clone(), vec![Tap::link("line", node, None).with_drops()], Duration::ZERO);
        leaves_queue(&mut capture, millis(2), node, &lost);
        if later {
            leaves_queue(&mut capture, millis(2), node, &through);
            is_dropped(&mut capture, millis(2), node, &lost, DropReason::RandomLoss);
        } else {
            is_dropped(&mut capture, millis(2), node, &lost, DropReason::RandomLoss);
            leaves_queue(&mut capture, millis(2), node, &through);
        }
        assert_eq!(capture.finish().expect("memory does not fail"), 2);
        assert!(format!("{capture:?}").contains("line"), "{capture:?}");
        file.bytes()
    };
    assert_eq!(file(true), file(false));
}

/// draft-ietf-opsawg-pcapng: a writer ends each list of options with `opt_endofopt`.
#[test]
fn each_block_ends_its_options() {
    let file = capture_of(&download_seen_by_the_server());
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("4 bytes"));
    let (mut at, mut blocks) = (0, 0);
    while at < file.len() {
        let len = word(at + 4) as usize;
        assert_eq!((word(at + len - 8), word(at + len - 4)), (0, len as u32));
        (at, blocks) = (at + len, blocks + 1);
    }
    assert_eq!(blocks, 2 + download_seen_by_the_server().len());
}

#[test]
fn the_mean_window_excludes_syns_and_the_maximum_is_that_of_its_first_time() {
    let mut table = FlowTable::default();
    for (at, _, packet) in download_seen_by_the_server() {
        let syn = packet.tcp().is_some_and(|header| header.flags.has(Flags::SYN));
        table.observe(at, &changed(&packet, |header| header.window = if syn { 5 } else { 300 }));
    }
    // As many bytes are outstanding again. The FIN occupies one of the sequence numbers.
    for (number, len) in [(0, 1448), (1, 1448), (2, 1447)] {
        let at = millis(300);
        table.observe(at, &packet(20, SERVER, at, Flags::ACK, (2 + (3 + number) * 1448, 2), len));
    }
    let summaries = table.summaries();
    let [download] = &summaries[..] else { panic!("one direction carried data: {summaries:?}") };
    assert_eq!(download.window_back_mean_bytes, 300.0 * 128.0);
    assert_eq!((download.outstanding.max_bytes, download.outstanding.max_at), (3 * 1448, millis(20)));
}

#[test]
fn round_trips_are_those_of_new_data_to_the_ports_of_the_flows() {
    let samples = |port: u16, story: &[(Time, bool, Packet)]| {
        let mut trips = RoundTrips::of(BTreeMap::from([(port, 7)]));
        story.iter().for_each(|(at, _, packet)| trips.observe(*at, packet));
        trips.found()
    };
    let mut story = download_seen_by_the_server();
    // A later segment, which the first ACK does not cover.
    story[5].0 = millis(25);
    let sample = RoundTrip { flow: 7, at: millis(45), took: Duration::from_millis(25) };
    // The ACK of the other two segments covers a retransmission. The client sends no data to the server's port.
    assert_eq!(samples(40_000, &story), [sample]);
    assert_eq!(samples(5201, &story), []);
    assert_eq!(samples(80, &story), []);
    // A keep-alive has no data and does not count as a retransmission.
    let probe = packet(20, SERVER, millis(26), Flags::ACK, (1448, 1), 0);
    story.insert(6, (millis(26), true, probe));
    assert_eq!(samples(40_000, &story), [sample]);
}

#[test]
fn events_without_a_tap_are_not_recorded() {
    let mut capture = Capture::new(SharedFile::default(), vec![Tap::host("server", SERVER)], Duration::ZERO);
    let stray = packet(1, CLIENT, Time::ZERO, Flags::SYN, (0, 0), 0);
    capture.record(Time::ZERO, CLIENT, &Event::Sent(&stray));
    is_dropped(&mut capture, Time::ZERO, SERVER, &stray, DropReason::NoSocket);
    assert_eq!(capture.finish().expect("memory does not fail"), 0);
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct FullDisk;
    impl Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut capture = Capture::new(FullDisk, vec![Tap::host("server", SERVER)], Duration::ZERO);
    record_host(&mut capture, &download_seen_by_the_server());
    assert_eq!(capture.finish().expect_err("the disk is full").kind(), io::ErrorKind::StorageFull);
}

#[test]
fn pcap_ethernet_frames_are_read_and_other_protocols_are_skipped() {
    let ip = wire::encode(&packet(9, SERVER, Time::ZERO, Flags::ACK, (1, 1), 10));
    let [plain, tagged, arp] = [&[0x08, 0x00][..], &[0x81, 0x00, 0, 5, 0x08, 0x00], &[0x08, 0x06]];
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 1] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for (second, ether_type) in [(1, plain), (2, tagged), (3, arp)] {
        let frame = [&[0; 12], ether_type, &ip].concat();
        for word in [second, 500_000u32, frame.len() as u32, frame.len() as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&frame);
    }
    let mut times = Vec::new();
    let done = read(&file[..], |at, packet| times.push((at, packet.id()))).expect("a well-formed file");
    assert_eq!(done, TraceRead { packets: 2, passed_over: 1, cut: false });
    assert_eq!(times, [(millis(1500), 9), (millis(2500), 9)]);
}

#[test]
fn a_truncated_file_is_read_up_to_the_damage() {
    let story = download_seen_by_the_server();
    let file = capture_of(&story);
    let whole = story.len() as u64;
    for file in [&file[..file.len() - 5], &[&file[..], &[0xff; 40]].concat(), &[&file[..], &[0; 40]].concat()] {
        let done = read(file, |_, _| {}).expect("the packets before the damage can be read");
        assert!(done.cut && done.packets >= whole - 1, "{done:?}");
    }
    assert!(!read(&file[..], |_, _| {}).expect("our own file").cut);
    assert!(read(&b"not a capture at all, only text"[..], |_, _| {}).is_err());
}

/// tshark finds no malformed packet, agrees on directions and times, and flags only the duplicate ACK and the
/// retransmission.
#[test]
fn tshark_finds_no_malformed_packet_in_a_capture() {
    if Command::new("tshark").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: no tshark here");
        return;
    }
    let file = capture_of(&download_seen_by_the_server());
    assert_eq!(tshark(&file, "_ws.malformed || _ws.expert.severity >= 8388608", "frame.number"), "");
    assert_eq!(tshark(&file, "ip.checksum.status == 0 || tcp.len > 1448", "frame.number"), "");
    assert_eq!(tshark(&file, "frame.number == 7", "frame.time_epoch"), "0.045000000\n");
    assert_eq!(
        tshark(&file, "frame.interface_name == \"server\" && frame.packet_flags_direction == 1", "tcp.stream")
            .lines()
            .count(),
        6
    );
    assert_eq!(tshark(&file, "tcp.analysis.flags", "frame.number"), "8\n9\n", "a duplicate ACK and a retransmission");
}

proptest! {
    #[test]
    fn a_damaged_file_never_panics(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut file = capture_of(&download_seen_by_the_server());
        for (at, octet) in damage {
            let at = at.index(file.len());
            file[at] = octet;
        }
        let mut table = FlowTable::default();
        let _ = read(&file[..], |at, packet| table.observe(at, packet));
        let _ = table.summaries();
    }
}

fn capture_of(story: &[(Time, bool, Packet)]) -> Vec<u8> {
    let file = SharedFile::default();
    let mut capture = Capture::new(file.clone(), vec![Tap::host("server", SERVER)], Duration::ZERO);
    record_host(&mut capture, story);
    assert_eq!(capture.finish().expect("memory does not fail"), story.len() as u64);
    file.bytes()
}

fn record_host(capture: &mut Capture, story: &[(Time, bool, Packet)]) {
    for (at, outbound, packet) in story {
        let event = if *outbound { Event::Sent(packet) } else { Event::Received(packet) };
        capture.record(*at, SERVER, &event);
    }
}

fn tshark(file: &[u8], filter: &str, field: &str) -> String {
    let options = ["-o", "ip.check_checksum:TRUE", "-Tfields"];
    let mut child = Command::new("tshark")
        .args(["-r", "-", "-Y", filter, "-e", field])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("tshark is installed");
    child.stdin.take().expect("a pipe").write_all(file).expect("tshark reads");
    let output = child.wait_with_output().expect("tshark ends");
    assert!(output.status.success(), "tshark rejected {filter}");
    String::from_utf8(output.stdout).expect("tshark writes text")
}

/// Returns a capture of raw IP packets in the older pcap format.
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x40000, 101] {
        file.extend(word.to_le_bytes());
    }
    for (at, packet) in (0_u32..).zip(packets) {
        for word in [1, at, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Returns a segment with this payload in bytes. If the length does not fit into its field, the field is 0, as in
/// Linux.
fn segment(payload: usize) -> Vec<u8> {
    let len = u16::try_from(40 + payload).unwrap_or(0).to_be_bytes();
    let mut octets = vec![0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    octets.extend([0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 9, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    octets.resize(40 + payload, b'x');
    octets
}

#[test]
fn large_records_of_offloading_hosts_are_read_completely() {
    let sizes = [1448, 65_000, 70_000, 180_000, 500_000, 100];
    let file = pcap(&sizes.map(segment));
    let sources: [Box<dyn Read + Send>; 3] =
        [Box::new(&file[..]), Box::new(BufReader::new(&file[..])), Box::new(Pipe(&file))];
    for source in sources {
        let mut seen = Vec::new();
        let done = read(source, |_, packet| seen.push(packet.payload().len() as usize)).unwrap();
        assert_eq!((done.packets, done.passed_over), (6, 0));
        assert_eq!(seen, sizes);
    }
}

/// An input that returns at most one page per read.
struct Pipe<'a>(&'a [u8]);

impl Read for Pipe<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let page = room.len().min(4096);
        self.0.read(&mut room[..page])
    }
}

#[test]
fn a_record_with_an_impossible_length_is_rejected() {
    let mut file = pcap(&[segment(100)]);
    let at = file.len() - 140 - 8;
    file[at..at + 8].fill(0x7f);
    assert!(read(&file[..], |_, _| ()).is_err());
}
