//! Infers the TCP events of a flow from captures at its two hosts, and lists its segments and ACKs.

use crate::aligned::{load, of_flow};
use crate::columns::columns;
use crate::error::Failure;
use lopsided_core::tcp_event::TimedTcpEvent;
use lopsided_core::{FlowId, TcpEndpoint};
use lopsided_sim::{Name, TcpEventRow, TcpEventTable, table};
use lopsided_trace::{Conversation, End, of_receiver, of_sender};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

table! {
    /// The segments with data that a flow's sender sent, and the ACKs that it received.
    PassedTable of PassedRow as "passed" {
        /// Time.
        time_s: f64 [Second "time"],
        /// `sent` or `acked`.
        event: &'static str [Text "event"],
        /// Start of the data in the stream; for an ACK, the acknowledged position.
        start_bytes: u64 [Byte "start"],
        /// End of the data in the stream.
        end_bytes: u64 [Byte "end"],
    }
}

/// One end of a flow: the capture file at its host, and the name of the host.
type Side = (PathBuf, String);

/// Returns the events of all connections of a flow, as a table like `tcp_events`, and the segments and ACKs at its
/// sender. The address and port of its receiver identify the flow.
#[pyfunction]
pub(crate) fn infer_tcp_events<'py>(
    py: Python<'py>,
    sender: Side,
    receiver: Side,
    place: (String, u16),
    flow: u32,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (events, passed) = py.detach(|| infer(&sender, &receiver, &place, FlowId(flow)))?;
    Ok((columns(py, &events.columns())?, columns(py, &passed.columns())?))
}

fn infer(
    (at_sender, sender): &Side,
    (at_receiver, receiver): &Side,
    place: &(String, u16),
    flow: FlowId,
) -> Result<(TcpEventTable, PassedTable), Failure> {
    let mut rows = Vec::new();
    let mut passed = PassedTable::default();
    for one in of_flow(&load(at_sender)?, place)? {
        rows.extend(rows_of(one, of_sender(one, End::Opener), flow, sender, true));
        add_passed(&mut passed, one);
    }
    for one in of_flow(&load(at_receiver)?, place)? {
        rows.extend(rows_of(one, of_receiver(one, End::Answerer), flow, receiver, false));
    }
    rows.sort_by(|one, other| one.time_s.total_cmp(&other.time_s));
    let mut events = TcpEventTable::default();
    rows.into_iter().for_each(|row| events.push(row));
    Ok((events, passed))
}

fn rows_of(
    one: &Conversation,
    events: Vec<TimedTcpEvent>,
    flow: FlowId,
    host: &str,
    sends: bool,
) -> impl Iterator<Item = TcpEventRow> {
    let (node, endpoint) = (Name::from(host), TcpEndpoint { flow, opener_port: one.key.src_port, sends });
    events.into_iter().map(move |timed| TcpEventRow::of(timed.at, node.clone(), endpoint, timed.event))
}

fn add_passed(table: &mut PassedTable, one: &Conversation) {
    let begun = one.begun.as_secs_f64();
    let mut acked = 0;
    for segment in &one.segments {
        let time_s = begun + segment.at as f64 * 1e-9;
        if segment.from == End::Opener && segment.len > 0 {
            // Number 0 is the SYN, so the first byte of the stream has number 1.
            let start_bytes = segment.seq - 1;
            table.push(PassedRow {
                time_s,
                event: "sent",
                start_bytes,
                end_bytes: start_bytes + u64::from(segment.len),
            });
        } else if let Some(ack) = segment.ack.filter(|ack| segment.from == End::Answerer && *ack > acked + 1) {
            acked = ack - 1;
            table.push(PassedRow { time_s, event: "acked", start_bytes: acked, end_bytes: acked });
        }
    }
}
