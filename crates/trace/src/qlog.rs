//! An observer that writes the packets and decisions of one end of a QUIC flow to a qlog file
//! (draft-ietf-quic-qlog-main-schema-14, draft-ietf-quic-qlog-quic-events-14) as JSON text sequences (RFC 7464).
//!
//! The observer parses packets directly, because lopsided's QUIC does not encrypt them. Left out: HTTP/3 and TLS
//! events.

use lopsided_core::tcp_event::{Limit, TcpEvent};
use lopsided_core::{Event, EventMask, FlowId, NodeId, Observer, Packet, Time, Transport};
use lopsided_quic::frames::{Frame, PacketKind, PacketView, packets};
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// RFC 7464: this character precedes each JSON text.
const RECORD_SEPARATOR: char = '\u{1e}';
/// RFC 9000, section 18.2: ACK delays are in units of 2^3 µs unless a transport parameter changes the unit.
const ACK_DELAY_UNIT_MS: f64 = 0.008;

/// Writes a qlog file during a run. Clones share the file: pass one clone to the run and call [`Qlog::finish`] on
/// another clone.
///
/// # Examples
///
/// ```
/// use lopsided_core::{FlowId, NodeId};
/// use lopsided_trace::Qlog;
///
/// let log = Qlog::new(std::io::sink(), "download", NodeId(0), FlowId(0), true, false);
/// // A run would get `log.clone()` as one of its observers here.
/// log.finish()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Qlog {
    node: NodeId,
    flow: FlowId,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    out: Box<dyn Write + Send>,
    /// Largest packet number of each packet number space, for sent and for received packets.
    largest: [[Option<u64>; 3]; 2],
    sends: bool,
    failed: Option<io::Error>,
}

impl Qlog {
    /// Starts the file for the end of `flow` at `node`. `sends` is true if this end sends the flow's data, `client` if
    /// it opened the connection.
    pub fn new(
        out: impl Write + Send + 'static,
        title: &str,
        node: NodeId,
        flow: FlowId,
        sends: bool,
        client: bool,
    ) -> Qlog {
        let mut shared = Shared { out: Box::new(out), largest: Default::default(), sends, failed: None };
        let vantage = if client { "client" } else { "server" };
        // Remove characters that would need escaping, because the title is inserted into a JSON string as it is.
        let title: String = title.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect();
        shared.write(&format!(
            "{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
             \"serialization_format\":\"application/qlog+json-seq\",\"title\":\"{title}\",\
             \"trace\":{{\"common_fields\":{{\"time_format\":\"relative_to_epoch\",\
             \"reference_time\":{{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}},\
             \"vantage_point\":{{\"type\":\"{vantage}\"}},\
             \"event_schemas\":[\"urn:ietf:params:qlog:events:quic-14\"]}}}}"
        ));
        Qlog { node, flow, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Writes the buffered data.
    ///
    /// # Errors
    /// Returns the first error that occurred while writing.
    pub fn finish(&self) -> io::Result<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.failed.take() {
            Some(error) => Err(error),
            None => shared.out.flush(),
        }
    }
}

impl Observer for Qlog {
    fn mask(&self) -> EventMask {
        EventMask::HOSTS | EventMask::TCP
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        if node != self.node {
            return;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Sent(packet) if packet.flow() == self.flow => shared.datagram(at, packet, true),
            Event::Received(packet) if packet.flow() == self.flow => shared.datagram(at, packet, false),
            Event::Tcp { endpoint, event } if endpoint.flow == self.flow && endpoint.sends == shared.sends => {
                shared.inside(at, event);
            }
            _ => {}
        }
    }
}

impl Shared {
    fn write(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{RECORD_SEPARATOR}{text}").err();
        }
    }

    fn event(&mut self, at: Time, name: &str, data: &str) {
        let ms = at.as_nanos() as f64 / 1e6;
        self.write(&format!("{{\"time\":{ms:.6},\"name\":\"quic:{name}\",\"data\":{{{data}}}}}"));
    }

    fn datagram(&mut self, at: Time, packet: &Packet, sent: bool) {
        let payload = packet.payload();
        let (Some(octets), Transport::Udp(_)) = (payload.bytes(), packet.transport()) else { return };
        for view in packets(octets) {
            // RFC 9000, appendix A.3: the full packet number is derived from the largest number so far.
            let largest = &mut self.largest[usize::from(sent)][space(view.kind)];
            let number = view.number(*largest);
            *largest = Some(largest.map_or(number, |known| known.max(number)));
            let name = if sent { "packet_sent" } else { "packet_received" };
            let data = packet_json(&view, number);
            self.event(at, name, &data);
        }
    }

    fn inside(&mut self, at: Time, event: &TcpEvent) {
        match event {
            TcpEvent::CaState { from, to, .. } => {
                let data = format!("\"old\":\"{}\",\"new\":\"{}\"", from.name(), to.name());
                self.event(at, "congestion_state_updated", &data);
            }
            TcpEvent::CwndReduced { to, .. } => {
                self.event(at, "recovery_metrics_updated", &format!("\"congestion_window\":{}", to.get()));
            }
            TcpEvent::StateChanged { from, to } => {
                let data = format!("\"old\":\"{}\",\"new\":\"{}\"", state(from.name()), state(to.name()));
                self.event(at, "connection_state_updated", &data);
            }
            TcpEvent::Limited { by } => {
                let mut data = "\"new\":\"blocked\"".to_owned();
                if let Some(reason) = reason(*by) {
                    let _ = write!(data, ",\"reason\":\"{reason}\"");
                }
                self.event(at, "connection_data_blocked_updated", &data);
            }
            _ => {}
        }
    }
}

/// Returns qlog's name for a sender's limit; `None` if qlog defines no name for the limit.
fn reason(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Congestion => Some("congestion_control"),
        Limit::Pacing => Some("pacing"),
        Limit::Application => Some("application"),
        Limit::StreamFlowControl => Some("stream_flow_control"),
        Limit::ConnectionFlowControl => Some("connection_flow_control"),
        Limit::AntiAmplification => Some("amplification_protection"),
        Limit::Receiver | Limit::Nagle | Limit::SendBuffer | Limit::Processor => None,
    }
}

/// Returns qlog's name for the state of a connection.
fn state(name: &str) -> &str {
    match name {
        "syn-sent" | "syn-received" => "attempted",
        "established" => "handshake_complete",
        _ => "closed",
    }
}

/// Returns the index of the packet number space (RFC 9000, section 12.3).
fn space(kind: PacketKind) -> usize {
    match kind {
        PacketKind::Initial | PacketKind::Retry | PacketKind::VersionNegotiation => 0,
        PacketKind::Handshake => 1,
        PacketKind::ZeroRtt | PacketKind::OneRtt => 2,
    }
}

fn packet_json(view: &PacketView<'_>, number: u64) -> String {
    let mut text = format!("\"header\":{{\"packet_type\":\"{}\"", view.kind.name());
    // RFC 9000, section 17.2: packets of these two types have no packet number.
    if !matches!(view.kind, PacketKind::Retry | PacketKind::VersionNegotiation) {
        let _ = write!(text, ",\"packet_number_length\":{},\"packet_number\":{number}", view.number_len);
    }
    let _ = write!(text, "}},\"raw\":{{\"length\":{}}},\"frames\":[", view.size);
    for (place, frame) in view.frames().enumerate() {
        if place > 0 {
            text.push(',');
        }
        // Writing to a `String` cannot fail.
        let _ = frame_json(&mut text, &frame);
    }
    text.push(']');
    text
}

fn stream_type(bidi: bool) -> &'static str {
    if bidi { "bidirectional" } else { "unidirectional" }
}

fn frame_json(out: &mut String, frame: &Frame<'_>) -> fmt::Result {
    let simple = |out: &mut String, name: &str| write!(out, "{{\"frame_type\":\"{name}\"}}");
    let with = |out: &mut String, name: &str, key: &str, value: u64| {
        write!(out, "{{\"frame_type\":\"{name}\",\"{key}\":{value}}}")
    };
    match *frame {
        Frame::Padding(len) => write!(out, "{{\"frame_type\":\"padding\",\"raw\":{{\"length\":{len}}}}}"),
        Frame::Ping => simple(out, "ping"),
        Frame::Ack { delay, blocks, counts, .. } => {
            let ms = delay as f64 * ACK_DELAY_UNIT_MS;
            write!(out, "{{\"frame_type\":\"ack\",\"ack_delay\":{ms:.3},\"acked_ranges\":[")?;
            for (place, (start, end)) in blocks.enumerate() {
                let comma = if place > 0 { "," } else { "" };
                write!(out, "{comma}[{start},{end}]")?;
            }
            out.push(']');
            if let Some([ect0, ect1, ce]) = counts {
                write!(out, ",\"ect0\":{ect0},\"ect1\":{ect1},\"ce\":{ce}")?;
            }
            out.write_char('}')
        }
        Frame::ResetStream { id, code, final_size } => write!(
            out,
            "{{\"frame_type\":\"reset_stream\",\"stream_id\":{id},\"error\":\"unknown\",\"error_code\":{code},\
             \"final_size\":{final_size}}}"
        ),
        Frame::StopSending { id, code } => write!(
            out,
            "{{\"frame_type\":\"stop_sending\",\"stream_id\":{id},\"error\":\"unknown\",\"error_code\":{code}}}"
        ),
        Frame::Crypto { offset, len } => {
            write!(out, "{{\"frame_type\":\"crypto\",\"offset\":{offset},\"raw\":{{\"payload_length\":{len}}}}}")
        }
        Frame::NewToken { len } => {
            write!(out, "{{\"frame_type\":\"new_token\",\"token\":{{\"raw\":{{\"length\":{len}}}}}}}")
        }
        Frame::Stream { id, offset, len, fin } => write!(
            out,
            "{{\"frame_type\":\"stream\",\"stream_id\":{id},\"offset\":{offset},\"fin\":{fin},\
             \"raw\":{{\"payload_length\":{len}}}}}"
        ),
        Frame::MaxData { maximum } => with(out, "max_data", "maximum", maximum),
        Frame::MaxStreamData { id, maximum } => {
            write!(out, "{{\"frame_type\":\"max_stream_data\",\"stream_id\":{id},\"maximum\":{maximum}}}")
        }
        Frame::MaxStreams { bidi, maximum } => {
            let kind = stream_type(bidi);
            write!(out, "{{\"frame_type\":\"max_streams\",\"stream_type\":\"{kind}\",\"maximum\":{maximum}}}")
        }
        Frame::DataBlocked { limit } => with(out, "data_blocked", "limit", limit),
        Frame::StreamDataBlocked { id, limit } => {
            write!(out, "{{\"frame_type\":\"stream_data_blocked\",\"stream_id\":{id},\"limit\":{limit}}}")
        }
        Frame::StreamsBlocked { bidi, limit } => {
            let kind = stream_type(bidi);
            write!(out, "{{\"frame_type\":\"streams_blocked\",\"stream_type\":\"{kind}\",\"limit\":{limit}}}")
        }
        Frame::NewConnectionId { sequence, retire_prior_to, id } => {
            write!(
                out,
                "{{\"frame_type\":\"new_connection_id\",\"sequence_number\":{sequence},\
                 \"retire_prior_to\":{retire_prior_to},\"connection_id\":\""
            )?;
            id.iter().try_for_each(|octet| write!(out, "{octet:02x}"))?;
            out.write_str("\"}")
        }
        Frame::RetireConnectionId { sequence } => with(out, "retire_connection_id", "sequence_number", sequence),
        Frame::PathChallenge => simple(out, "path_challenge"),
        Frame::PathResponse => simple(out, "path_response"),
        // qlog has no name for this error. "unknown" means that the numeric code follows.
        Frame::ConnectionClose { by_application, code } => {
            let space = if by_application { "application" } else { "transport" };
            write!(
                out,
                "{{\"frame_type\":\"connection_close\",\"error_space\":\"{space}\",\"error\":\"unknown\",\
                 \"error_code\":{code}}}"
            )
        }
        Frame::HandshakeDone => simple(out, "handshake_done"),
        // The qlog draft has no names for the two frames of draft-ietf-quic-ack-frequency, but permits extensions to
        // add frames.
        Frame::AckFrequency { threshold, max_delay_us, reordering } => write!(
            out,
            "{{\"frame_type\":\"ack_frequency\",\"ack_eliciting_threshold\":{threshold},\
             \"request_max_ack_delay_us\":{max_delay_us},\"reordering_threshold\":{reordering}}}"
        ),
        Frame::ImmediateAck => simple(out, "immediate_ack"),
        Frame::Datagram { len } => write!(out, "{{\"frame_type\":\"datagram\",\"raw\":{{\"length\":{len}}}}}"),
    }
}

impl fmt::Debug for Qlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qlog").field("node", &self.node).field("flow", &self.flow).finish_non_exhaustive()
    }
}
