//! A transfer of more than 2^32 bytes: sequence numbers wrap, but stream offsets do not.

use super::script::linux;
use crate::{BufferRule, ConnConfig, Connection, Endpoint, Profile, Segment, State};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Time};
use std::net::Ipv4Addr;

const TOTAL: u64 = 9 << 30;
const MILLISECOND: Duration = Duration::from_millis(1);

fn end(local: u32, remote: u32, iss: u32) -> ConnConfig {
    let endpoint = |number| Endpoint { addr: Ipv4Addr::from_bits(number).into(), port: 1000 };
    // Segments are large so that the test is fast, and the buffer permits the window to grow to 1 MiB.
    let buffer = BufferRule::Fixed(Bytes::new(1 << 20));
    let profile = Profile { receive_buffer: buffer, send_buffer: buffer, ..linux() };
    ConnConfig::new(endpoint(local), endpoint(remote), iss, Bytes::new(65_535), profile, "reno").expect("built in")
}

fn pass(now: Time, from: &mut Connection, to: &mut Connection) {
    while let Some(Segment { header, payload, .. }) = from.poll_segment(now) {
        to.handle_segment(now, &header, &payload, Ecn::NotEct);
    }
}

#[test]
fn a_connection_can_carry_more_than_4_gib() {
    let mut now = Time::ZERO;
    let mut sender = Connection::connect(end(1, 2, u32::MAX - 70_000));
    let mut receiver = Connection::listen(end(2, 1, u32::MAX - 3));
    let (mut written, mut read) = (0, 0);
    while sender.state() != State::TimeWait {
        written += sender.write(&Payload::virtual_len((TOTAL - written).min(1 << 20) as u32)).unwrap_or(0);
        if written == TOTAL {
            sender.shutdown(std::net::Shutdown::Write);
            receiver.shutdown(std::net::Shutdown::Write);
        }
        pass(now, &mut sender, &mut receiver);
        read += u64::from(receiver.read(now, u64::MAX).unwrap_or(Payload::EMPTY).len());
        now += MILLISECOND;
        pass(now, &mut receiver, &mut sender);
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        assert!(now < Time::from_nanos(60_000_000_000), "{read} octets, {:?}", sender.info(now));
    }
    assert_eq!(read, TOTAL);
    assert_eq!(sender.counters().bytes_acked, Bytes::new(TOTAL));
    assert_eq!(sender.counters().retransmits, 0);
}
