//! The TCP packets of a capture as columns, for studies that need each packet.

use crate::columns::columns;
use crate::error::Failure;
use lopsided_capture::{Endpoint, Segment, frames};
use lopsided_core::packet::Flags;
use lopsided_sim::Column;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// The columns of the log. Each list contains one field of all packets.
#[derive(Default)]
struct Log {
    time_s: Vec<f64>,
    from: Vec<u32>,
    to: Vec<u32>,
    size_bytes: Vec<u32>,
    payload_bytes: Vec<u32>,
    seq: Vec<u32>,
    ack: Vec<u32>,
    is_syn: Vec<u32>,
    timestamp: Vec<f64>,
}

/// Reads at most `most` TCP packets from the beginning of a capture.
///
/// Returns the address and port of each endpoint, and the packets as columns. `from` and `to` are indexes into the list
/// of endpoints. Times are measured from the first TCP packet. `timestamp` is TSval (RFC 7323); NaN if the packet lacks
/// the option.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn capture_packets<'py>(
    py: Python<'py>,
    path: PathBuf,
    most: usize,
) -> PyResult<(Vec<(String, u16)>, Bound<'py, PyDict>)> {
    let failed = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let (endpoints, log) = py.detach(|| {
        let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
        let mut known: BTreeMap<Endpoint, u32> = BTreeMap::new();
        let mut endpoints = Vec::new();
        let mut place = |end: Endpoint| {
            *known.entry(end).or_insert_with(|| {
                endpoints.push((end.address.to_string(), end.port));
                endpoints.len() as u32 - 1
            })
        };
        let (mut log, mut begin) = (Log::default(), None);
        frames(BufReader::new(file), |frame| {
            if let Some(segment) = Segment::of(&frame) {
                let begin = *begin.get_or_insert(segment.at);
                // Captures of several queues can be out of order by a few microseconds.
                log.time_s.push((segment.at as i64 - begin as i64) as f64 * 1e-9);
                log.from.push(place(segment.from));
                log.to.push(place(segment.to));
                log.size_bytes.push(segment.ip_len);
                log.payload_bytes.push(segment.len);
                log.seq.push(segment.seq.get());
                log.ack.push(segment.ack.get());
                log.is_syn.push(u32::from(segment.flags.has(Flags::SYN)));
                log.timestamp.push(segment.options.timestamps.map_or(f64::NAN, |(value, _)| value.into()));
            }
            log.time_s.len() < most
        })
        .map_err(|error| failed(error.to_string()))?;
        Ok::<_, Failure>((endpoints, log))
    })?;
    let found = [
        ("time_s", Column::F64(&log.time_s)),
        ("from", Column::U32(&log.from)),
        ("to", Column::U32(&log.to)),
        ("size_bytes", Column::U32(&log.size_bytes)),
        ("payload_bytes", Column::U32(&log.payload_bytes)),
        ("seq", Column::U32(&log.seq)),
        ("ack", Column::U32(&log.ack)),
        ("is_syn", Column::U32(&log.is_syn)),
        ("timestamp", Column::F64(&log.timestamp)),
    ];
    Ok((endpoints, columns(py, &found)?))
}
