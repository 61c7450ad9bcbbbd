//! Path-MTU discovery with ICMP messages (RFC 1191, RFC 8201): a "packet too big" message reduces the size of later
//! segments.
//!
//! As in Linux, a message must quote an outstanding sequence number, and the path MTU is valid for 10 minutes. The
//! outstanding data is retransmitted at once (see [`crate::recovery`]).
//!
//! Not implemented: probing (RFC 4821, tcp_mtu_probing) and fragmentation.

use super::Connection;
use crate::config::PathMtu;
use lopsided_core::packet::{AccEcnOption, IPV4_HEADER, IPV6_HEADER, MAX_TCP_OPTIONS, TCP_HEADER};
use lopsided_core::tcp_event::State;
use lopsided_core::{Bytes, Duration, Seq, Time};

/// The smallest path MTU that is accepted for IPv4, in bytes (Linux's min_pmtu).
const LEAST_V4: u64 = 552;
/// The smallest path MTU that is accepted for IPv6, in bytes (RFC 8200 section 5).
const LEAST_V6: u64 = 1280;
/// Lifetime of a path MTU (Linux's mtu_expires, RFC 1191 section 6.3).
const HOLDS: Duration = Duration::from_secs(600);
/// A path MTU never reduces the payload of a segment below this number of bytes.
const LEAST_SEGMENT: u32 = 64;

impl Connection {
    /// Handles an ICMP message that the segment with the sequence number `seq` exceeds the path MTU `mtu`. Returns the
    /// path MTU to store for this destination; `None` if the message is ignored.
    pub fn handle_too_big(&mut self, now: Time, seq: Seq, mtu: Bytes) -> Option<PathMtu> {
        self.send.flight.trace.set_now(now);
        if matches!(self.state, State::Closed | State::Listen) {
            return None;
        }
        let start = self.ack_offset(seq);
        // RFC 5927 section 4.1: a message that quotes no outstanding data may be forged.
        if start < self.send.flight.una() as i64 || start > self.send.flight.nxt() as i64 {
            return None;
        }
        let mtu = mtu.max(Bytes::new(if self.remote.addr.is_ipv4() { LEAST_V4 } else { LEAST_V6 }));
        if mtu >= self.limits.mtu() {
            return None;
        }
        let known = PathMtu { mtu, until: now + HOLDS };
        self.limits.known = Some(known);
        if self.resize_segments(now) {
            let full = self.full_segment();
            self.send.repair_too_long(now, full);
        }
        Some(known)
    }

    /// Stores the negotiated segment size. Returns the size to use: the negotiated size, or less if the known path MTU
    /// requires it.
    pub(super) fn limit_segments(&mut self, agreed: u32) -> u32 {
        self.limits.agreed = agreed;
        self.largest_segment()
    }

    /// Returns the segment size to use: the negotiated size, or less if the known path MTU requires it.
    fn largest_segment(&self) -> u32 {
        let ip = if self.remote.addr.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        let headers = ip + TCP_HEADER + if self.options.timestamps { 12 } else { 0 };
        let largest = match self.limits.known {
            None => self.limits.agreed,
            Some(known) => {
                let room = (known.mtu.get().min(65_535) as u32).saturating_sub(headers);
                self.limits.agreed.min(room.max(LEAST_SEGMENT))
            }
        };
        largest.saturating_sub(self.limits.reserved).max(1)
    }

    /// Deletes a path MTU that has expired, so that the sender tries larger segments again.
    #[inline]
    pub(super) fn forget_old_path(&mut self, now: Time) {
        if self.limits.known.is_some_and(|known| known.until <= now) {
            self.limits.known = None;
            self.resize_segments(now);
        }
    }

    /// Reserves space for the accurate-ECN option in every segment. Called at the end of the handshake.
    pub(super) fn reserve_for_ecn_option(&mut self, now: Time) {
        if let Some(fit) = self.ecn.fit_option(MAX_TCP_OPTIONS, 0) {
            self.limits.reserved = AccEcnOption::padded_len_of(fit.counters);
            let mss = self.largest_segment();
            self.send.set_segment_size(now, mss);
        }
    }

    /// Recomputes the segment size. Returns true if it became smaller.
    fn resize_segments(&mut self, now: Time) -> bool {
        let (before, after) = (self.mss(), self.largest_segment());
        if self.limits.agreed == u32::MAX || after == before {
            return false;
        }
        self.send.resize_segments(now, after);
        self.recv.note_sizes();
        after < before
    }
}
