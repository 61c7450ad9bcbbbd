//! The QUIC stack behind the adapter: quinn-proto, or its fork noq-proto with the feature `noq`.
//!
//! The functions here hide the differences between the two stacks. Only noq-proto uses a congestion controller's
//! pacing rate, and reports the number of each packet to the controller.

use bytes::{Bytes, BytesMut};
use std::net::SocketAddr;
#[cfg(feature = "noq")]
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "noq")]
pub(super) use noq_proto::congestion::Bbr3Config as BbrConfig;
#[cfg(feature = "noq")]
pub(super) use noq_proto::*;
#[cfg(not(feature = "noq"))]
pub(super) use quinn_proto::congestion::BbrConfig;
#[cfg(not(feature = "noq"))]
pub(super) use quinn_proto::*;

#[cfg(feature = "noq")]
pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, true)
}

#[cfg(feature = "noq")]
pub(super) fn set_ids(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(make));
}

#[cfg(feature = "noq")]
pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    octets: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(remote), ecn, octets, buffer)
}

#[cfg(feature = "noq")]
pub(super) fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    most: usize,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN), buffer)
}

#[cfg(feature = "noq")]
pub(super) fn rtt(connection: &Connection) -> Duration {
    connection.rtt(PathId::ZERO).unwrap_or_default()
}

/// Returns the number of bytes and of whole chunks that the stream accepted.
#[cfg(feature = "noq")]
pub(super) fn write(stream: &mut SendStream<'_>, mut chunks: &mut [Bytes]) -> Result<(usize, usize), WriteError> {
    let before = chunks.len();
    let written = stream.write_chunks(&mut chunks)?;
    Ok((written, before - chunks.len()))
}

#[cfg(feature = "noq")]
pub(super) fn violation(reason: &str) -> TransportError {
    TransportError::new(TransportErrorCode::PROTOCOL_VIOLATION, reason.to_owned())
}

#[cfg(not(feature = "noq"))]
pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, true, None)
}

#[cfg(not(feature = "noq"))]
pub(super) fn set_ids(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(make);
}

#[cfg(not(feature = "noq"))]
pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    octets: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote, None, ecn, octets, buffer)
}

#[cfg(not(feature = "noq"))]
pub(super) fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    most: usize,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, most, buffer)
}

#[cfg(not(feature = "noq"))]
pub(super) fn rtt(connection: &Connection) -> Duration {
    connection.rtt()
}

/// Returns the number of bytes and of whole chunks that the stream accepted.
#[cfg(not(feature = "noq"))]
pub(super) fn write(stream: &mut SendStream<'_>, chunks: &mut [Bytes]) -> Result<(usize, usize), WriteError> {
    stream.write_chunks(chunks).map(|written| (written.bytes, written.chunks))
}

#[cfg(not(feature = "noq"))]
pub(super) fn violation(reason: &str) -> TransportError {
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason: reason.to_owned() }
}

/// The type in which the stack passes connection IDs to a session.
#[cfg(feature = "noq")]
pub(super) type Id<'a> = ConnectionId;
#[cfg(not(feature = "noq"))]
pub(super) type Id<'a> = &'a ConnectionId;
