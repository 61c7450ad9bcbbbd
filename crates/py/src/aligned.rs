//! Compares two captures of the same flows, connection by connection, and finds the packet at which they diverge.

use crate::error::Failure;
use lopsided_core::packet::Ecn;
use lopsided_core::{Packet, Time};
use lopsided_trace::{
    Alignment, Conversation, Conversations, Divergence, End, Field, Fields, Lasted, Pair, Rules, Segment, Stretch,
    drift, read,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The address and port on which a flow's receiver listens.
type Place = (String, u16);

/// The amount of detail in the report: number of packets shown before and after a divergence, number of packets in a
/// plot, and number of equal parts of a connection's duration.
#[derive(Clone, Copy)]
struct Wanted {
    before: usize,
    after: usize,
    drawn: usize,
    parts: usize,
}

/// Compares the connections of each flow: the n-th connection in one capture with the n-th connection in the other. A
/// flow is identified in each capture by the address and port of its receiver. Times are in nanoseconds since the SYN
/// of the connection. `ignored` contains the names of fields that are not compared; see `PACKET_FIELDS`.
#[pyfunction]
#[pyo3(signature = (one, other, flows, tolerance_ns, ignored, *, before, after, drawn, parts))]
#[allow(clippy::too_many_arguments, reason = "the interface to Python, where each argument has a keyword")]
pub(crate) fn align<'py>(
    py: Python<'py>,
    one: PathBuf,
    other: PathBuf,
    flows: Vec<(Place, Place)>,
    tolerance_ns: u64,
    ignored: Vec<String>,
    before: usize,
    after: usize,
    drawn: usize,
    parts: usize,
) -> PyResult<Bound<'py, PyList>> {
    let mut compared = Fields::ALL;
    for name in &ignored {
        let unknown = || Failure::Usage(format!("packets have no field {name:?}"));
        compared = compared.without(Fields::NONE.with(Field::of_name(name).ok_or_else(unknown)?));
    }
    let rules = Rules { tolerance: tolerance_ns, compared };
    let wanted = Wanted { before, after, drawn, parts };
    // Reading captures can take seconds, so release the interpreter for other Python threads.
    let (one, other) = py.detach(|| Ok::<_, Failure>((load(&one)?, load(&other)?)))?;
    let found = PyList::empty(py);
    for (place_one, place_other) in flows {
        let these = of_flow(&one, &place_one)?;
        let those = of_flow(&other, &place_other)?;
        let connections = PyList::empty(py);
        // If one capture has more connections, the surplus connections are not compared. `connections` contains the
        // number of connections in each capture.
        for (this, that) in these.iter().zip(&those) {
            let lasted = Lasted { one: since(&one, this), other: since(&other, that) };
            connections.append(connection(py, this, that, lasted, &rules, wanted)?)?;
        }
        let row = PyDict::new(py);
        row.set_item("connections", (these.len(), those.len()))?;
        row.set_item("pairs", connections)?;
        found.append(row)?;
    }
    Ok(found)
}

/// Returns two numbers for a capture: the number of TCP packets before a time in nanoseconds, and the number of all TCP
/// packets.
#[pyfunction]
pub(crate) fn count_packets(py: Python<'_>, path: PathBuf, before_ns: u64) -> PyResult<(u64, u64)> {
    let counted = py.detach(|| {
        let (mut before, mut all) = (0, 0);
        each_packet(&path, |at, packet| {
            if packet.tcp().is_some() {
                all += 1;
                before += u64::from(at.as_nanos() < before_ns);
            }
        })?;
        Ok::<_, Failure>((before, all))
    })?;
    Ok(counted)
}

pub(crate) fn load(path: &Path) -> Result<Conversations, Failure> {
    let mut conversations = Conversations::default();
    each_packet(path, |at, packet| conversations.observe(at, packet))?;
    Ok(conversations)
}

fn each_packet(path: &Path, each: impl FnMut(Time, &Packet)) -> Result<(), Failure> {
    let failed = |what: String| Failure::Trace { file: path.display().to_string(), what };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    read(BufReader::new(file), each).map(|_| ()).map_err(|error| failed(error.to_string()))
}

pub(crate) fn of_flow<'a>(
    capture: &'a Conversations,
    (address, port): &Place,
) -> Result<Vec<&'a Conversation>, Failure> {
    let address: IpAddr = address.parse().map_err(|_| Failure::Usage(format!("{address:?} is not an IP address")))?;
    let place = (address, *port);
    let to_it = |conversation: &&Conversation| (conversation.key.dst, conversation.key.dst_port) == place;
    Ok(capture.all().iter().filter(to_it).collect())
}

fn since(capture: &Conversations, conversation: &Conversation) -> u64 {
    capture.last().saturating_since(conversation.begun).as_nanos()
}

fn connection<'py>(
    py: Python<'py>,
    one: &Conversation,
    other: &Conversation,
    lasted: Lasted,
    rules: &Rules,
    wanted: Wanted,
) -> PyResult<Bound<'py, PyDict>> {
    let aligned = Alignment::of(one, other, lasted, rules);
    let row = PyDict::new(py);
    row.set_item("begun_ns", (nanos(one.begun), nanos(other.begun)))?;
    row.set_item("packets", (one.segments.len(), other.segments.len()))?;
    row.set_item("first", divergence(py, aligned.first())?)?;
    row.set_item("parted", divergence(py, aligned.parted())?)?;
    let fields = PyDict::new(py);
    for field in Field::ALL {
        if let Some(found) = aligned.first_in(field) {
            fields.set_item(field.name(), divergence(py, Some(found))?)?;
        }
    }
    row.set_item("fields", fields)?;
    row.set_item("first_scene", aligned.first().map(|at| scene(py, &aligned, (one, other), at, wanted)).transpose()?)?;
    row.set_item(
        "parted_scene",
        aligned.parted().map(|at| scene(py, &aligned, (one, other), at, wanted)).transpose()?,
    )?;
    // Use the longer duration, so that both captures are divided into the same parts.
    let stretches = drift(one, other, lasted.one.max(lasted.other), wanted.parts, rules);
    row.set_item("drift", stretches.iter().map(|part| stretch(py, part)).collect::<PyResult<Vec<_>>>()?)?;
    Ok(row)
}

fn nanos(time: Time) -> u64 {
    time.as_nanos()
}

/// Returns a divergence with the packets around it and the state of both ends.
fn scene<'py>(
    py: Python<'py>,
    aligned: &Alignment<'_>,
    (one, other): (&Conversation, &Conversation),
    at: Divergence,
    wanted: Wanted,
) -> PyResult<Bound<'py, PyDict>> {
    let pairs = aligned.pairs();
    let is_it = |pair: &Pair<'_>| pair.from() == Some(at.from) && pair.number == at.number;
    // The context includes the diverging pair of packets itself.
    let place = pairs.iter().position(is_it).map_or(0, |place| place + 1);
    let shown = &pairs[place.saturating_sub(wanted.before + 1)..place];
    let sides = [one, other].map(|side| (side, side.place_of(at.from, at.number)));
    let both = |before: usize, after: usize| {
        let part = |(side, place): (&Conversation, usize)| {
            let shown = &side.segments[place.saturating_sub(before)..side.segments.len().min(place + after)];
            shown.iter().map(|found| segment(py, found)).collect::<PyResult<Vec<_>>>()
        };
        sides.into_iter().map(part).collect::<PyResult<Vec<_>>>()
    };
    let row = PyDict::new(py);
    row.set_item("context", shown.iter().map(|pair| pair_row(py, pair)).collect::<PyResult<Vec<_>>>()?)?;
    row.set_item("then", both(0, wanted.after)?)?;
    row.set_item("around", both(wanted.drawn, 2 * wanted.drawn)?)?;
    let ends = |(side, place)| standing(py, side, place);
    row.set_item("standing", sides.into_iter().map(ends).collect::<PyResult<Vec<_>>>()?)?;
    Ok(row)
}

fn pair_row<'py>(py: Python<'py>, pair: &Pair<'_>) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("number", pair.number)?;
    row.set_item("one", pair.one.map(|found| segment(py, found)).transpose()?)?;
    row.set_item("other", pair.other.map(|found| segment(py, found)).transpose()?)?;
    row.set_item("differ", names(pair.differ))?;
    Ok(row)
}

/// Returns the number of bytes that each end has sent, and the number of bytes that the other end has acknowledged.
fn standing<'py>(py: Python<'py>, conversation: &Conversation, place: usize) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for end in End::BOTH {
        let found = conversation.progress(end, place);
        row.set_item(name(end), (found.sent, found.acked))?;
    }
    Ok(row)
}

fn divergence<'py>(py: Python<'py>, found: Option<Divergence>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(found) = found else { return Ok(None) };
    let row = PyDict::new(py);
    row.set_item("at_ns", found.at)?;
    row.set_item("from", name(found.from))?;
    row.set_item("number", found.number)?;
    row.set_item("packets", found.packets)?;
    row.set_item("fields", names(found.fields))?;
    Ok(Some(row))
}

fn segment<'py>(py: Python<'py>, found: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("at_ns", found.at)?;
    row.set_item("from", name(found.from))?;
    row.set_item("seq", found.seq)?;
    row.set_item("ack", found.ack)?;
    row.set_item("len", found.len)?;
    row.set_item("flags", format!("{:?}", found.flags))?;
    row.set_item("ecn", ecn(found.ecn))?;
    row.set_item("window", found.window)?;
    row.set_item("sack", found.sack.clone())?;
    row.set_item("timestamps", found.timestamps)?;
    row.set_item("syn_options", (found.mss, found.window_scale, found.sack_permitted))?;
    Ok(row)
}

fn stretch<'py>(py: Python<'py>, part: &Stretch) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("from_ns", part.from)?;
    row.set_item("until_ns", part.until)?;
    row.set_item("packets", part.packets)?;
    row.set_item("position", part.position)?;
    row.set_item("matched", part.matched)?;
    row.set_item("in_time", part.in_time)?;
    row.set_item("alike", part.alike)?;
    row.set_item("later_ns", part.later.map(|later| (later.least, later.median, later.most)))?;
    Ok(row)
}

fn names(fields: Fields) -> Vec<&'static str> {
    fields.iter().map(Field::name).collect()
}

fn name(end: End) -> &'static str {
    match end {
        End::Opener => "opener",
        End::Answerer => "answerer",
    }
}

fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ce => "CE",
    }
}
