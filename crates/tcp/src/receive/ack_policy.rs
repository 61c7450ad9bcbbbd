//! When the receiver acknowledges: at once, with the next segment, or when a timer says so.

use crate::AckRule;
use lopsided_core::{Duration, Time};

/// Duplicate ACKs that go out at once before Linux starts to compress them.
const UNCOMPRESSED_DUPLICATES: u32 = 3;
/// No ACK may wait longer (RFC 1122 section 4.2.3.2).
const DELAY_MAX: Duration = Duration::from_millis(500);
/// One compressed ACK at the latest for so many segments.
const COMPRESSED_MAX: u32 = 44;

#[derive(Debug, Clone)]
pub(crate) struct AckPolicy {
    rule: AckRule,
    /// The largest segment seen: what counts as full.
    segment: u32,
    /// In-order octets and segments that no ACK covers yet.
    unacked: u64,
    unacked_segments: u32,
    /// One of them ended what an application wrote.
    pushed: bool,
    wanted: Wanted,
    deadline: Time,
    /// ACKs still to be sent without delay.
    quick: u32,
    ato: Duration,
    last_data: Option<Time>,
    /// Duplicate ACKs for the same place, and how many of the compressed kind are owed.
    duplicates: u32,
    compressed: u32,
    /// Fewer duplicate ACKs may stand for many: with SACK they lose nothing, without it each counts.
    pub compresses: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Later,
    Now,
}

/// What the arrival of data was to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The next octets; `closed_gap` if out-of-order data became readable and none is left, `gaps_left` if some is.
    InOrder {
        closed_gap: bool,
        gaps_left: bool,
    },
    OutOfOrder,
    /// All of it was there already.
    Duplicate,
}

impl AckPolicy {
    pub fn new(rule: AckRule) -> AckPolicy {
        AckPolicy {
            rule,
            segment: 536,
            unacked: 0,
            unacked_segments: 0,
            pushed: false,
            wanted: Wanted::Nothing,
            deadline: Time::MAX,
            quick: 0,
            ato: Duration::ZERO,
            last_data: None,
            duplicates: 0,
            compressed: 0,
            compresses: true,
        }
    }

    pub fn ato(&self) -> Duration {
        self.ato
    }

    pub fn segment(&self) -> u32 {
        self.segment
    }

    /// Segments arrived that no ACK covers yet.
    pub fn is_pending(&self) -> bool {
        self.unacked > 0
    }

    pub fn is_due(&self) -> bool {
        self.wanted == Wanted::Now
    }

    pub fn poll_timeout(&self) -> Time {
        self.deadline
    }

    /// An ACK must go out now, whatever the rule says (handshake, FIN, window update, challenge).
    pub fn ack_now(&mut self) {
        self.wanted = Wanted::Now;
    }

    /// Data of `len` octets arrived. `rtt` is the receiver's idea of the round trip, `rto` its own timeout, `window`
    /// what it advertises.
    pub fn on_data(
        &mut self,
        now: Time,
        len: u32,
        arrival: Arrival,
        rtt: Option<Duration>,
        rto: Duration,
        window: u64,
    ) {
        match arrival {
            Arrival::Duplicate => {
                if let AckRule::LinuxQuickAck { quick_acks, .. } = self.rule {
                    self.enter_quick(quick_acks, window);
                }
                self.ack_now();
            }
            Arrival::OutOfOrder => self.acknowledge_duplicate(now, rtt),
            Arrival::InOrder { closed_gap, gaps_left } => {
                // Linux watches the pace of what comes in order only: to it a loss that took long to repair was a
                // pause.
                if let AckRule::LinuxQuickAck { min, quick_acks, .. } = self.rule {
                    self.adapt_timeout(now, min, quick_acks, rto, window);
                }
                self.last_data = Some(now);
                self.segment = self.segment.max(len);
                self.unacked += u64::from(len);
                self.unacked_segments += 1;
                self.duplicates = 0;
                self.acknowledge_in_order(now, closed_gap, gaps_left, rtt);
            }
        }
    }

    /// The window opens: Linux lets the peer know at once.
    pub fn enter_quickack(&mut self) {
        if let AckRule::LinuxQuickAck { .. } = self.rule {
            self.quick = self.quick.max(1);
        }
    }

    /// A segment of `len` octets arrived, with PSH or not: one that is short, or that the sender pushed, likely ends
    /// what an application wrote.
    pub fn note_push(&mut self, len: u32, push: bool) {
        if let AckRule::LinuxQuickAck { push: heeded, .. } = self.rule {
            self.pushed |= len < self.segment || push && heeded;
        }
    }

    /// The application read all there was. Linux does not let the sender of a finished message wait.
    pub fn on_all_read(&mut self) {
        if self.pushed && self.unacked > 0 {
            self.ack_now();
        }
    }

    /// Any segment that carries an acknowledgement went out.
    pub fn on_ack_sent(&mut self) {
        if self.unacked > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        self.unacked = 0;
        self.unacked_segments = 0;
        self.pushed = false;
        self.compressed = 0;
        self.wanted = Wanted::Nothing;
        self.deadline = Time::MAX;
    }

    pub fn on_timeout(&mut self, now: Time, rto: Duration) {
        if now < self.deadline {
            return;
        }
        self.deadline = Time::MAX;
        if self.wanted == Wanted::Later {
            self.wanted = Wanted::Now;
            // The peer did not send a second segment in time: wait longer.
            if self.compressed == 0 && matches!(self.rule, AckRule::LinuxQuickAck { .. }) {
                self.ato = (self.ato * 2).min(rto);
            }
        }
    }

    fn acknowledge_in_order(&mut self, now: Time, closed_gap: bool, gaps_left: bool, rtt: Option<Duration>) {
        match self.rule {
            AckRule::Immediate => self.ack_now(),
            AckRule::Delayed { segments, timeout } => {
                if closed_gap || gaps_left || self.unacked_segments >= segments {
                    self.ack_now();
                } else {
                    self.delay_until(now + timeout);
                }
            }
            AckRule::LinuxQuickAck { min, max, .. } => {
                if closed_gap || self.unacked > u64::from(self.segment) || self.quick > 0 {
                    self.ack_now();
                } else if gaps_left {
                    self.acknowledge_duplicate(now, rtt);
                } else {
                    self.delay_adaptively(now, min, max, rtt);
                }
            }
        }
    }

    fn acknowledge_duplicate(&mut self, now: Time, rtt: Option<Duration>) {
        let AckRule::LinuxQuickAck { compress, .. } = self.rule else {
            self.ack_now();
            return;
        };
        self.duplicates += 1;
        let now_due = self.quick > 0 || self.duplicates <= UNCOMPRESSED_DUPLICATES || self.compressed >= COMPRESSED_MAX;
        if now_due || !self.compresses {
            self.ack_now();
            return;
        }
        self.compressed += 1;
        if self.wanted == Wanted::Nothing {
            self.delay_until(now + rtt.map_or(compress, |rtt| compress.min(rtt / 20)));
        }
    }

    fn delay_until(&mut self, deadline: Time) {
        if self.wanted != Wanted::Now {
            self.wanted = Wanted::Later;
            self.deadline = self.deadline.min(deadline);
        }
    }

    /// Linux: the timeout follows the gaps between segments, no longer than an RTT if that is known.
    fn delay_adaptively(&mut self, now: Time, min: Duration, max: Duration, rtt: Option<Duration>) {
        let mut ato = self.ato;
        if ato > min {
            let bound = rtt.map_or(DELAY_MAX, |rtt| rtt.max(min)).min(DELAY_MAX);
            ato = ato.min(bound);
        }
        self.delay_until(now + ato.min(max));
    }

    fn adapt_timeout(&mut self, now: Time, min: Duration, quick_acks: u32, rto: Duration, window: u64) {
        let Some(last) = self.last_data else {
            self.enter_quick(quick_acks, window);
            self.ato = min;
            return;
        };
        let gap = now - last;
        if gap <= min / 2 {
            self.ato = self.ato / 2 + min / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            // The sender paused and starts again with a small window.
            self.enter_quick(quick_acks, window);
        }
    }

    fn enter_quick(&mut self, most: u32, window: u64) {
        let by_window = (window / (2 * u64::from(self.segment))).clamp(2, u64::from(most)) as u32;
        self.quick = self.quick.max(by_window);
        self.ato = match self.rule {
            AckRule::LinuxQuickAck { min, .. } => min,
            _ => self.ato,
        };
    }
}
