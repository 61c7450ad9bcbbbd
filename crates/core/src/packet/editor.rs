//! Changes the header fields and the payload of a packet: see [`crate::Cx::rewrite`].

use super::{Addresses, Ecn, Fields, Payload, RawTransport, TcpHeader, Transport, UdpHeader};

/// Maximum size of an IP packet in bytes: the length field has 16 bits.
const MAX_SIZE: u32 = 65_535;

/// Changes the fields of a packet.
///
/// In a foreign packet, each change patches the original bytes and updates the checksums incrementally (RFC 1624).
#[derive(Debug)]
pub struct PacketEditor<'a>(pub(crate) &'a mut Fields);

impl PacketEditor<'_> {
    /// The transport header.
    pub fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// The payload.
    pub fn payload(&self) -> Payload {
        self.0.payload()
    }

    /// Sets the ECN field. To set CE, call [`crate::Cx::mark`], which counts the mark.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.0.set_ecn(ecn);
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ecn(ecn);
        }
    }

    /// Sets the differentiated services codepoint, a number of 6 bits.
    pub fn set_dscp(&mut self, dscp: u8) {
        self.0.set_dscp(dscp & 0x3f);
        if let Some(raw) = self.0.raw_mut() {
            raw.set_dscp(dscp & 0x3f);
        }
    }

    /// Sets the time to live.
    pub fn set_ttl(&mut self, ttl: u8) {
        self.0.ttl = ttl;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ttl(ttl);
        }
    }

    /// Sets the source and destination addresses. Returns false and changes nothing if the packet has a different IP
    /// version.
    #[must_use]
    pub fn set_addresses(&mut self, addresses: Addresses) -> bool {
        if std::mem::discriminant(&addresses) != std::mem::discriminant(&self.0.addresses()) {
            return false;
        }
        self.0.set_addresses(addresses);
        let transport = RawTransport::of(&self.0.transport);
        if let Some(raw) = self.0.raw_mut() {
            raw.set_addresses(&addresses, transport);
        }
        true
    }

    /// Changes the TCP header. Returns false and changes nothing if the packet has no TCP header, or if the new options
    /// do not fit.
    #[must_use]
    pub fn tcp(&mut self, change: impl FnOnce(&mut TcpHeader)) -> bool {
        let (payload_len, ip_header) = (self.0.payload_len(), self.0.addresses().header_len());
        let Fields { transport: Transport::Tcp(header), apart, .. } = &mut *self.0 else { return false };
        let size = match apart.as_mut().and_then(|apart| apart.raw.as_deref_mut()) {
            None => {
                change(header);
                ip_header + header.len() + payload_len
            }
            Some(raw) => {
                // Change a copy first, because the result may not fit into the header.
                let mut changed = header.clone();
                change(&mut changed);
                if !raw.set_tcp(header, &changed, payload_len) {
                    return false;
                }
                *header = changed;
                raw.octets().len() as u32 + payload_len
            }
        };
        self.0.set_size(size);
        true
    }

    /// Changes the UDP ports. Returns false if the packet has no UDP header.
    #[must_use]
    pub fn udp(&mut self, change: impl FnOnce(&mut UdpHeader)) -> bool {
        let Transport::Udp(header) = &mut self.0.transport else { return false };
        change(header);
        let header = *header;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_udp_ports(&header);
        }
        true
    }

    /// Replaces the payload. Returns false and changes nothing if the packet would be larger than 65,535 bytes.
    #[must_use]
    pub fn set_payload(&mut self, new: Payload) -> bool {
        let old = self.0.payload();
        // The IP length field has 16 bits.
        if self.0.headers_len() + new.len() > MAX_SIZE {
            return false;
        }
        let transport = RawTransport::of(&self.0.transport);
        if let Some(raw) = self.0.raw_mut() {
            raw.replace_payload(transport, &old, &new);
        }
        self.0.set_payload(new);
        true
    }
}
