//! An application ends a connection: shutdown of either direction, close, and close with unread data (RFC 1122 section
//! 4.2.2.13, RFC 2525 section 2.17).

use super::script::{PEER, Script, linux};
use crate::{ConnError, ConnEvent, ReadError, State, WriteError};
use lopsided_core::Payload;
use std::net::Shutdown;

fn established() -> Script {
    let mut t = Script::established(linux(), PEER);
    t.expect_event(ConnEvent::Established);
    t
}

fn write_some(t: &mut Script) -> Result<u64, WriteError> {
    t.connection.write(&Payload::virtual_len(1000))
}

#[test]
fn a_close_with_unread_data_sends_a_reset() {
    let mut t = established();
    t.reads = false;
    t.answers(100, "1:1001", "ack 1001");
    t.leave(150);
    t.expect(150, "R. 1:1 ack 1001");
    t.expect_state(State::Closed);
    assert!(t.connection.is_finished());
}

#[test]
fn data_after_close_is_answered_with_a_reset() {
    let mut t = established();
    t.leave(100);
    t.expect(100, "F. 1:1 ack 1");
    t.inject(200, "ack 2");
    t.expect_state(State::FinWait2);
    t.answers(300, "1:1001 ack 2", "R 2:2");
    t.expect_event(ConnEvent::Failed(ConnError::Reset));
    assert!(t.connection.is_finished());
}

#[test]
fn written_data_is_delivered_after_a_close() {
    let mut t = established();
    t.sends(100, 1500, "1:1001 .");
    t.expect(100, "1001:1501 .");
    t.leave(100);
    t.expect(100, "F. 1501:1501 ack 1");
    assert_eq!(write_some(&mut t), Err(WriteError::Closed));
    t.answers(200, "F 1:1 ack 1502", "ack 2");
    t.expect_state(State::TimeWait);
}

#[test]
fn fin_wait_2_ends_after_a_minute_if_the_peer_never_closes() {
    let mut t = established();
    t.leave(100);
    t.expect(100, "F. 1:1 ack 1");
    t.inject(200, "ack 2");
    t.expect_nothing_until(60_199);
    t.expect_state(State::FinWait2);
    t.expect_nothing_until(60_200);
    t.expect_state(State::Closed);
    t.expect_event(ConnEvent::Closed);
}

#[test]
fn fin_wait_2_has_no_timeout_after_a_shutdown_for_writing() {
    let mut t = established();
    t.shutdown(100, Shutdown::Write);
    t.expect(100, "F. 1:1 ack 1");
    t.inject(200, "ack 2");
    t.expect_nothing_until(1_000_000);
    t.answers(1_000_000, "1:1001 ack 2", "2:2 ack 1001");
    t.expect_state(State::FinWait2);
}

#[test]
fn a_shutdown_for_reading_does_not_affect_the_peer() {
    let mut t = established();
    t.shutdown(100, Shutdown::Read);
    t.expect_nothing_until(200);
    assert_eq!(t.connection.read(super::script::instant(200), 10).unwrap_err(), ReadError::Ended);
    t.sends(200, 1000, "1:1001 .");
    t.expect_state(State::Established);
}

#[test]
fn readiness_is_reported_once() {
    let mut t = Script::established(super::script::send_buffer(linux(), 4000), PEER);
    t.expect_event(ConnEvent::Established);
    t.reads = false;
    t.connection.watch_readiness();
    t.expect_no_event();
    t.answers(100, "1:1001", "ack 1001");
    t.expect_event(ConnEvent::Readable);
    t.answers(101, "1001:2001", "ack 2001");
    t.expect_no_event();
    // The read was limited to fewer bytes than were available, so the reader is not waiting for more.
    t.read(110, 500);
    t.answers(111, "2001:3001", "ack 3001");
    t.expect_no_event();
    assert_eq!(t.connection.read(super::script::instant(112), 10_000).map(|data| data.len()), Ok(2500));
    assert_eq!(t.connection.read(super::script::instant(112), 10_000).unwrap_err(), ReadError::Blocked);
    t.answers(113, "3001:3501", "ack 3501");
    t.expect_event(ConnEvent::Readable);
    // The whole write fits into the buffer, so the writer does not wait.
    t.sends_train(120, 4000, 1, 4001);
    t.inject(220, "ack 1001");
    t.expect_no_event();
    assert_eq!(t.connection.write(&Payload::virtual_len(3000)), Ok(1000));
    t.answers(221, "ack 2001", "4001:5001 .");
    t.expect_event(ConnEvent::Writable);
    t.inject(222, "ack 3001");
    t.expect_no_event();
}

#[test]
fn a_failed_connection_reports_its_error() {
    let mut t = established();
    t.reads = false;
    t.answers(100, "1:1001", "ack 1001");
    t.inject(150, "R 1001:1001");
    t.expect_event(ConnEvent::Failed(ConnError::Reset));
    assert_eq!(t.connection.error(), Some(ConnError::Reset));
    assert_eq!(write_some(&mut t), Err(WriteError::Failed(ConnError::Reset)));
    // Data that arrived before the reset can still be read.
    t.read(160, 1000);
    let error = t.connection.read(super::script::instant(160), 10).unwrap_err();
    assert_eq!(error.to_string(), "the peer reset the connection");
}
