//! A session without encryption: plain text with the sizes of TLS 1.3 and AES-GCM.
//!
//! The tag of a packet contains its number, its key and a checksum, so a changed packet is rejected as with an AEAD.
//! The handshake messages are those of TLS and have the same sizes. They contain the transport parameters and padding.

use super::clock::lock;
#[cfg(feature = "noq")]
use super::stack::PathId;
#[cfg(not(feature = "noq"))]
use super::stack::crypto::AeadKey;
use super::stack::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use super::stack::transport_parameters::TransportParameters;
use super::stack::{ConnectError, Id, Side, TransportError, violation};
use crate::frames::{CID_LEN, PacketKind, put_varint};
use bytes::BytesMut;
use lopsided_core::Rng;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// Length of an AEAD tag, and of the sample for header protection (RFC 9001, section 5), in bytes.
pub(super) const TAG: usize = 16;
/// RFC 9000, section 14.1: minimum size of a client's datagram that contains an Initial packet, in bytes.
const SMALLEST_INITIAL: usize = 1200;
/// Maximum size of a handshake message in bytes.
const LARGEST_MESSAGE: usize = 1 << 20;

/// Sizes of the handshake messages in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandshakeSizes {
    pub client_hello: usize,
    pub server_hello: usize,
    /// Total size of EncryptedExtensions, Certificate, CertificateVerify and Finished.
    pub server_flight: usize,
    pub finished: usize,
}

struct PlainHeader;

impl HeaderKey for PlainHeader {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

/// The ACK behaviour of a receiver whose peer sends no ACK_FREQUENCY frames. quinn has no setting for this behaviour,
/// so the session inserts an ACK_FREQUENCY frame into a received packet (draft-ietf-quic-ack-frequency).
#[derive(Debug, Default)]
pub(super) struct LocalAcks {
    /// 1-RTT packets received.
    pub received: u64,
    frame: Vec<u8>,
    /// Number of received packets into which the frame is still inserted. quinn may discard some of them as duplicates.
    left: u8,
    sequence: u64,
}

impl LocalAcks {
    /// Sets the ACK behaviour from the next received packet on: one ACK per `packets` packets, after at most `delay_us`
    /// microseconds.
    pub fn set(&mut self, packets: u64, delay_us: u64, reordering: u64) {
        // If a packet is a duplicate, quinn discards it without reading the frame, so insert the frame into three
        // packets.
        self.left = 3;
        self.frame = vec![0x40, 0xaf];
        for number in [self.sequence, packets - 1, delay_us, reordering] {
            put_varint(&mut self.frame, number);
        }
        self.sequence += 1;
    }

    fn pass(&mut self, payload: &mut BytesMut) {
        self.received += 1;
        if self.left > 0 {
            self.left -= 1;
            let mut whole = BytesMut::with_capacity(self.frame.len() + payload.len());
            whole.extend_from_slice(&self.frame);
            whole.extend_from_slice(payload);
            *payload = whole;
        }
    }
}

/// A key: packet number space, phase and sender. A key for received 1-RTT packets also contains the receiver's ACK
/// behaviour.
struct PlainKey(u64, Option<Arc<Mutex<LocalAcks>>>);

impl PlainKey {
    /// Writes the tag of a packet into its last bytes.
    fn seal(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len() - TAG;
        let tag = self.tag(packet, &buf[..header_len], &buf[header_len..end]);
        buf[end..].copy_from_slice(&tag);
    }

    fn tag(&self, packet: u64, header: &[u8], payload: &[u8]) -> [u8; TAG] {
        let sum = checksum(header, payload);
        let mut tag = [0; TAG];
        tag[..8].copy_from_slice(&(sum ^ packet.rotate_left(32)).to_be_bytes());
        tag[8..].copy_from_slice(&(self.0 ^ packet).to_be_bytes());
        tag
    }
}

/// Returns a checksum that detects changed packets. Each of the four independent lanes processes 16 bytes per step.
fn checksum(header: &[u8], payload: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |octets: &[u8; 8]| u64::from_le_bytes(*octets);
    let mix = |sum: u64, one: u64, other: u64| {
        let product = u128::from(sum ^ one) * u128::from(other ^ FACTOR);
        (product as u64) ^ ((product >> 64) as u64)
    };
    // If the first word of a step equals the sum, the product is 0 and the second word has no effect. The sums
    // therefore start from digits of pi, because packets rarely contain these words. Small numbers are frequent in
    // packets.
    let mut lanes = [
        0x243f_6a88_85a3_08d3 ^ payload.len() as u64,
        0x1319_8a2e_0370_7344,
        0xa409_3822_299f_31d0,
        0x082e_fa98_ec4e_6c89,
    ];
    let mut rest = payload;
    while let Some((block, tail)) = rest.split_first_chunk::<64>() {
        for (number, lane) in lanes.iter_mut().enumerate() {
            let at = |place: usize| {
                let from = 16 * number + 8 * place;
                let mut octets = [0; 8];
                octets.copy_from_slice(&block[from..from + 8]);
                word(&octets)
            };
            *lane = mix(*lane, at(0), at(1));
        }
        rest = tail;
    }
    let [mut sum, ..] = lanes;
    for mut part in [rest, header] {
        while let Some((octets, tail)) = part.split_first_chunk::<8>() {
            sum = mix(sum, word(octets), 1);
            part = tail;
        }
        let mut last = [0; 8];
        last[..part.len()].copy_from_slice(part);
        // The length distinguishes trailing zeros from missing bytes.
        sum = mix(sum, word(&last), 2 + part.len() as u64);
    }
    mix(mix(sum, lanes[1], lanes[2]), lanes[3], 3)
}

impl PacketKey for PlainKey {
    fn encrypt(&self, #[cfg(feature = "noq")] _: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.seal(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        #[cfg(feature = "noq")] _: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[end..] != self.tag(packet, header, &payload[..end]) {
            return Err(CryptoError);
        }
        payload.truncate(end);
        if let Some(acks) = &self.1 {
            lock(acks).pass(payload);
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// The packet number spaces (RFC 9000, section 12.3).
const INITIAL: u64 = 0;
const HANDSHAKE: u64 = 1;
const APPLICATION: u64 = 2;

/// Returns the number of a key.
fn key_number(space: u64, phase: u64, client: bool) -> u64 {
    space << 56 | phase << 8 | u64::from(!client) | 0x51 << 48
}

/// Returns a packet with a valid tag and the given contents, as a hostile peer could send it. Used for fuzzing and
/// tests.
///
/// `dcid` is a connection ID of the receiver, `number` the packet number, `frames` the contents. Initial packets of a
/// client are padded to 1,200 bytes.
///
/// # Examples
///
/// ```
/// use lopsided_quic::forged_packet;
/// use lopsided_quic::frames::{Frame, PacketKind, packets};
///
/// let datagram = forged_packet(PacketKind::OneRtt, true, &[7; 8], 5, &[0x01]);
/// let packet = packets(&datagram).next().unwrap();
/// assert_eq!((packet.kind, packet.number(None)), (PacketKind::OneRtt, 5));
/// assert!(matches!(packet.frames().next(), Some(Frame::Ping)));
/// ```
pub fn forged_packet(kind: PacketKind, from_client: bool, dcid: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
    // RFC 9000, section 17.2: the form, the fixed bit, and a packet number of 4 bytes.
    let (first, space) = match kind {
        PacketKind::Initial => (0xc3, INITIAL),
        PacketKind::ZeroRtt => (0xd3, APPLICATION),
        PacketKind::Handshake => (0xe3, HANDSHAKE),
        PacketKind::Retry => (0xf3, INITIAL),
        PacketKind::VersionNegotiation => (0x83, INITIAL),
        PacketKind::OneRtt => (0x43, APPLICATION),
    };
    let mut packet = vec![first];
    let mut payload = frames.to_vec();
    if kind == PacketKind::OneRtt {
        packet.extend_from_slice(dcid);
    } else {
        let version = u32::from(kind != PacketKind::VersionNegotiation);
        packet.extend_from_slice(&version.to_be_bytes());
        for id in [dcid, &[9; CID_LEN]] {
            packet.push(id.len() as u8);
            packet.extend_from_slice(id);
        }
        if kind == PacketKind::Initial {
            put_varint(&mut packet, 0);
            let size = if from_client { SMALLEST_INITIAL } else { 0 };
            payload.resize(payload.len().max(size), 0);
        }
        put_varint(&mut packet, (4 + payload.len() + TAG) as u64);
    }
    packet.extend_from_slice(&number.to_be_bytes());
    let header_len = packet.len();
    packet.extend_from_slice(&payload);
    packet.resize(packet.len() + TAG, 0);
    PlainKey(key_number(space, 0, from_client), None).seal(u64::from(number), &mut packet, header_len);
    packet
}

fn packet_keys(
    space: u64,
    phase: u64,
    side: Side,
    acks: Option<&Arc<Mutex<LocalAcks>>>,
) -> KeyPair<Box<dyn PacketKey>> {
    let key = |client: bool, acks: Option<&Arc<Mutex<LocalAcks>>>| -> Box<dyn PacketKey> {
        Box::new(PlainKey(key_number(space, phase, client), acks.cloned()))
    };
    KeyPair { local: key(side.is_client(), None), remote: key(side.is_server(), acks) }
}

fn keys(space: u64, side: Side, acks: Option<&Arc<Mutex<LocalAcks>>>) -> Keys {
    let header = KeyPair {
        local: Box::new(PlainHeader) as Box<dyn HeaderKey>,
        remote: Box::new(PlainHeader) as Box<dyn HeaderKey>,
    };
    Keys { header, packet: packet_keys(space, 0, side, acks) }
}

struct PlainSession {
    side: Side,
    sizes: HandshakeSizes,
    parameters: Vec<u8>,
    peer: Option<TransportParameters>,
    inbox: Vec<u8>,
    /// Number of handshake messages received completely.
    received: u8,
    /// Number of sending steps completed.
    sent: u8,
    phase: u64,
    complete: bool,
    acks: Arc<Mutex<LocalAcks>>,
}

impl PlainSession {
    fn new(side: Side, sizes: HandshakeSizes, parameters: &TransportParameters) -> PlainSession {
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        PlainSession {
            side,
            sizes,
            parameters: encoded,
            peer: None,
            inbox: Vec::new(),
            received: 0,
            sent: 0,
            phase: 0,
            complete: false,
            acks: Arc::default(),
        }
    }

    /// Appends a message: its length, the length of the transport parameters, the parameters, and zeros as padding.
    fn put(buf: &mut Vec<u8>, parameters: &[u8], size: usize) {
        let (start, size) = (buf.len(), size.max(8 + parameters.len()));
        buf.extend_from_slice(&(size as u32).to_be_bytes());
        buf.extend_from_slice(&(parameters.len() as u32).to_be_bytes());
        buf.extend_from_slice(parameters);
        buf.resize(start + size, 0);
    }
}

impl Session for PlainSession {
    fn initial_keys(&self, _dst_cid: Id<'_>, side: Side) -> Keys {
        keys(INITIAL, side, None)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.complete
    }

    fn read_handshake(&mut self, octets: &[u8]) -> Result<bool, TransportError> {
        self.inbox.extend_from_slice(octets);
        let mut news = false;
        while let Some(head) = self.inbox.get(..8) {
            let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
            let (size, parameters) = (number(0), number(4));
            if size < 8 || parameters > size - 8 || size > LARGEST_MESSAGE {
                return Err(violation("the length of a handshake message"));
            }
            if self.inbox.len() < size {
                break;
            }
            if parameters > 0 {
                let mut encoded = &self.inbox[8..8 + parameters];
                self.peer = Some(TransportParameters::read(self.side, &mut encoded)?);
                news = true;
            }
            self.inbox.drain(..size);
            self.received = self.received.saturating_add(1);
            // The second message that a server receives is the client's Finished.
            if self.side.is_server() && self.received == 2 {
                self.complete = true;
            }
        }
        Ok(news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    /// Writes the next handshake message, and returns new keys if there are any. The message itself belongs to the
    /// previous packet number space.
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let sizes = self.sizes;
        let step = (self.side.is_client(), self.sent, self.received);
        let keys = match step {
            (true, 0, _) => {
                PlainSession::put(buf, &self.parameters, sizes.client_hello);
                None
            }
            // The server's hello has arrived. In TLS, both ends derive the handshake keys from the hellos.
            (true, 1, 1..) => Some(keys(HANDSHAKE, self.side, None)),
            (true, 2, 2..) => {
                PlainSession::put(buf, &[], sizes.finished);
                self.complete = true;
                Some(keys(APPLICATION, self.side, Some(&self.acks)))
            }
            (false, 0, 1..) => {
                PlainSession::put(buf, &[], sizes.server_hello);
                Some(keys(HANDSHAKE, self.side, None))
            }
            // The server can send data before the client's Finished arrives.
            (false, 1, _) => {
                PlainSession::put(buf, &self.parameters, sizes.server_flight);
                Some(keys(APPLICATION, self.side, Some(&self.acks)))
            }
            _ => return None,
        };
        self.sent += 1;
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.phase += 1;
        Some(packet_keys(APPLICATION, self.phase, self.side, Some(&self.acks)))
    }

    fn is_valid_retry(&self, _orig_dst_cid: Id<'_>, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

/// Builds the sessions of both sides.
pub(super) struct PlainConfig {
    sizes: HandshakeSizes,
    /// The ACK behaviour of the newest session.
    latest: Mutex<Arc<Mutex<LocalAcks>>>,
}

impl PlainConfig {
    pub fn new(sizes: HandshakeSizes) -> PlainConfig {
        PlainConfig { sizes, latest: Mutex::default() }
    }

    /// Returns the ACK behaviour of the newest connection.
    pub fn latest(&self) -> Arc<Mutex<LocalAcks>> {
        Arc::clone(&lock(&self.latest))
    }

    fn session(&self, side: Side, parameters: &TransportParameters) -> Box<dyn Session> {
        let session = PlainSession::new(side, self.sizes, parameters);
        *lock(&self.latest) = Arc::clone(&session.acks);
        Box::new(session)
    }
}

impl ClientConfig for PlainConfig {
    #[cfg(feature = "noq")]
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(self.session(Side::Client, parameters))
    }

    #[cfg(not(feature = "noq"))]
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(self.session(Side::Client, parameters))
    }
}

impl ServerConfig for PlainConfig {
    fn initial_keys(&self, _version: u32, _dst_cid: Id<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL, Side::Server, None))
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: Id<'_>, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    #[cfg(feature = "noq")]
    fn start_session(&self, _version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        self.session(Side::Server, parameters)
    }

    #[cfg(not(feature = "noq"))]
    fn start_session(self: Arc<Self>, _version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        self.session(Side::Server, parameters)
    }
}

/// Signs the tokens of stateless resets. Not secure, but repeatable: the same seed produces the same tokens.
pub(super) struct SeededHmac(pub u64);

impl SeededHmac {
    fn signature(&self, data: &[u8]) -> [u8; 32] {
        let mut rng = Rng::for_role(self.0 ^ checksum(&[], data), "quic/hmac");
        let mut signature = [0; 32];
        signature.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_le_bytes()));
        signature
    }
}

impl HmacKey for SeededHmac {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let signature = self.signature(data);
        signature_out.iter_mut().zip(signature).for_each(|(out, octet)| *out = octet);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if self.signature(data) == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// Protects address validation tokens with a checksum only.
pub(super) struct PlainTokenKey;

impl PlainTokenKey {
    fn protect(data: &mut Vec<u8>, additional: &[u8]) {
        let sum = checksum(additional, data);
        data.extend_from_slice(&sum.to_be_bytes());
        data.extend_from_slice(&[0; TAG - 8]);
    }

    fn check<'a>(data: &'a mut [u8], additional: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (plain, tag) = data.split_at_mut(end);
        if tag[..8] == checksum(additional, plain).to_be_bytes() { Ok(plain) } else { Err(CryptoError) }
    }
}

#[cfg(feature = "noq")]
impl HandshakeTokenKey for PlainTokenKey {
    fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        PlainTokenKey::protect(data, &nonce.to_be_bytes());
        Ok(())
    }

    fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        PlainTokenKey::check(data, &nonce.to_be_bytes()).map(|plain| &*plain)
    }
}

#[cfg(not(feature = "noq"))]
impl HandshakeTokenKey for PlainTokenKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(PlainTokenKey)
    }
}

#[cfg(not(feature = "noq"))]
impl AeadKey for PlainTokenKey {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        PlainTokenKey::protect(data, additional_data);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        PlainTokenKey::check(data, additional_data)
    }
}
