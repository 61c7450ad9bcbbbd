//! Changes to a packet, made through [`crate::Cx::rewrite`].

use super::{Addresses, Ecn, Fields, Payload, RawTransport, TcpHeader, Transport, UdpHeader};

/// The most octets of an IP packet: the length fields have 16 bits.
const MAX_SIZE: u32 = 65_535;

/// What may be changed of a packet. Where another host made it, each change patches its octets and its checksums (RFC
/// 1624), and leaves all others as they came: a checksum that was wrong stays wrong.
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

    /// Sets the codepoint. That of congestion is set by [`crate::Cx::mark`], which counts it.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.0.ecn = ecn;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ecn(ecn);
        }
    }

    /// Sets the differentiated services codepoint, of 6 bits.
    pub fn set_dscp(&mut self, dscp: u8) {
        self.0.dscp = dscp & 0x3f;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_dscp(dscp & 0x3f);
        }
    }

    /// Changes the time to live.
    pub fn set_ttl(&mut self, ttl: u8) {
        self.0.ttl = ttl;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ttl(ttl);
        }
    }

    /// Sets source and destination. False if the packet is of the other version of IP, and then nothing is changed.
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

    /// Changes the TCP header. False if there is none, or if a foreign packet's options have no room for the new ones
    /// beside those that are not of a kind in [`super::TcpOptions`]; then nothing is changed.
    #[must_use]
    pub fn tcp(&mut self, change: impl FnOnce(&mut TcpHeader)) -> bool {
        let (payload_len, ip_header) = (self.0.payload_len(), self.0.addresses().header_len());
        let Fields { transport: Transport::Tcp(header), apart, size, .. } = &mut *self.0 else { return false };
        match apart.as_mut().and_then(|apart| apart.raw.as_deref_mut()) {
            None => {
                change(header);
                *size = ip_header + header.len() + payload_len;
            }
            Some(raw) => {
                let mut changed = header.clone();
                change(&mut changed);
                if !raw.set_tcp(header, &changed, payload_len) {
                    return false;
                }
                *header = changed;
                *size = raw.octets().len() as u32 + payload_len;
            }
        }
        true
    }

    /// Changes the ports of UDP. False if it is not UDP.
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

    /// Puts another payload into the packet. False if that made it larger than an IP packet can be, and then nothing is
    /// changed.
    #[must_use]
    pub fn set_payload(&mut self, new: Payload) -> bool {
        let old = self.0.payload();
        let headers = self.0.size - old.len();
        if headers + new.len() > MAX_SIZE {
            return false;
        }
        let transport = RawTransport::of(&self.0.transport);
        if let Some(raw) = self.0.raw_mut() {
            raw.replace_payload(transport, &old, &new);
        }
        self.0.size = headers + new.len();
        self.0.set_payload(new);
        true
    }
}
