//! ACK reconstruction like the authors' code in ns-2.35, which differs from the paper's text. The code is a pacer:
//!
//! - If no ACK waits and the arriving ACK leaves no gap, the arriving ACK is forwarded at once. All ACKs from a
//!   duplicate to the first ACK for new data are also forwarded at once.
//! - Any other ACK is spread: one ACK is sent for each `every` segments. The first ACK is sent at once, and each
//!   further ACK a full mean interval after the previous ACK. Each number is forwarded once and in order. If a number
//!   is scheduled twice, it is forwarded at the earlier time.
//!
//! **Mean interval.** A sample is the time from the last ACK that was forwarded at once to an arriving ACK. The time
//! since the last spread ACK is not used, because of a bug: ns-2.35 reads the number of a spread ACK from a freed
//! packet. It therefore does not store the spread ACK as the last ACK. The ns version that the paper used did not clear
//! freed packets. In table 1, the paper states 8.57 Mbit/s. ns-2.35 reaches 4.7 Mbit/s if freed packets are not
//! cleared, and 8.4 Mbit/s if they are cleared.
//!
//! An ACK that only opens the window, or that ends an echo of ECN marks, is forwarded at once. ns-2 has no such ACKs.

use super::config::AckReconstructConfig;
use super::mean::Mean;
use crate::Outlet;
use crate::held_acks::{Ack, Rule, Waiting, inserted};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, Duration, Packet, Seq, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Spreads ACKs so that each ACK leaves a full mean interval after the previous ACK.
#[derive(Debug)]
pub(super) struct ByInterval {
    config: AckReconstructConfig,
    inserted: u64,
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Stream {
    /// Highest acknowledgement number that was forwarded.
    sent: Seq,
    /// Acknowledgement number of the last ACK that arrived.
    number: Seq,
    /// Window of the last ACK that arrived.
    window: u16,
    /// Flags of the last ACK that arrived.
    flags: Flags,
    /// Acknowledgement number of the last ACK that was forwarded at once.
    at_once: Seq,
    /// Arrival time of the last ACK that was forwarded at once.
    came: Time,
    /// True once a duplicate of the last ACK that was forwarded at once has arrived.
    is_duplicated: bool,
    mean: Mean,
    /// Latest departure time so far. An ACK that arrives before this time is spread.
    busy_until: Time,
}

impl ByInterval {
    pub fn new(config: AckReconstructConfig) -> ByInterval {
        ByInterval { config, inserted: 0 }
    }

    /// Schedules an ACK and the ACKs that fill the gap before it, one mean interval apart.
    fn spread(&mut self, stream: &mut Stream, ack: Ack, interval: Duration, waiting: &mut Waiting, cx: &mut Cx<'_>) {
        let (now, step, connection) = (cx.now(), self.config.step(), ack.connection);
        let gap = if ack.header.ack.after(stream.sent) { ack.header.ack.since(stream.sent) } else { 0 };
        // An ACK with this number has been forwarded, so this ACK is a duplicate and is not forwarded.
        let Some(last) = gap.div_ceil(step).checked_sub(1) else { return cx.absorb(ack.packet) };
        let goes = |place: u32| now + (interval * u64::from(place)).min(self.config.max_delay);
        stream.busy_until = stream.busy_until.max(goes(last));
        // Index the waiting ACKs by acknowledgement number, relative to the last forwarded number.
        let ahead = |(time, packet): (Time, Packet)| {
            (packet.tcp().expect("only ACKs wait").ack.since(stream.sent), (time, packet))
        };
        let mut all: BTreeMap<u32, (Time, Packet)> = waiting.take(connection).into_iter().map(ahead).collect();
        // An inserted ACK must not advertise a larger window than the ACK before the gap or the ACK after it.
        let window = stream.window.min(ack.header.window);
        for place in 0..last {
            match all.entry((place + 1) * step) {
                Entry::Occupied(mut set) => set.get_mut().0 = set.get().0.min(goes(place)),
                Entry::Vacant(free) => {
                    self.inserted += 1;
                    free.insert((
                        goes(place),
                        inserted(&ack.packet, &ack.header, stream.sent + (place + 1) * step, window, cx),
                    ));
                }
            }
        }
        match all.entry(gap) {
            Entry::Occupied(mut set) => {
                // An ACK with this number already waits. Keep the earlier of the two departure times.
                set.get_mut().0 = set.get().0.min(goes(last));
                cx.absorb(ack.packet);
            }
            Entry::Vacant(free) => _ = free.insert((goes(last), ack.packet)),
        }
        // Visit the ACKs in descending order of their numbers. An ACK that would leave after an ACK with a larger
        // number is superfluous.
        let mut soonest = Time::MAX;
        let mut kept = Vec::with_capacity(all.len());
        for (time, packet) in all.into_values().rev() {
            if time > soonest {
                cx.absorb(packet);
            } else {
                soonest = time;
                kept.push((time, packet));
            }
        }
        kept.into_iter().rev().for_each(|(time, packet)| waiting.hold(connection, time, packet));
    }
}

impl Rule for ByInterval {
    type Stream = Stream;

    fn begin(&self, header: &TcpHeader, now: Time) -> Option<Stream> {
        let number = header.ack;
        let begun = Stream {
            sent: number,
            number,
            window: header.window,
            flags: header.flags,
            at_once: number,
            came: now,
            is_duplicated: false,
            mean: Mean::new(self.config.interval),
            busy_until: now,
        };
        // If the settings contain an initial mean, the time since the SYN is the first sample. Otherwise wait for the
        // first ACK.
        (self.config.interval.is_some() || !header.flags.has(Flags::SYN)).then_some(begun)
    }

    /// True if this rule handles the ACK. Window updates, and ACKs that end an ECN echo, are forwarded at once.
    fn takes(stream: &Stream, header: &TcpHeader) -> bool {
        header.ack != stream.number || (header.window, header.flags) == (stream.window, stream.flags)
    }

    fn take(&mut self, stream: &mut Stream, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>) {
        let now = cx.now();
        let number = ack.header.ack;
        waiting.release(ack.connection, now, out).into_iter().for_each(|last| stream.sent = last);
        // Every arriving ACK is a sample, even a duplicate.
        let interval = Duration::from_nanos(stream.mean.sample(self.config.gain, stream.came, now) as u64);
        let is_new = number.after(stream.sent);
        let closes_no_gap = !(is_new && self.config.is_gap(number.since(stream.sent)));
        let (window, flags) = (ack.header.window, ack.header.flags);
        if stream.is_duplicated || now >= stream.busy_until && closes_no_gap {
            stream.is_duplicated = number == stream.at_once || stream.is_duplicated && !is_new;
            stream.sent = stream.sent.later_of(number);
            // ns-2.35 does not store a spread ACK as the last ACK (see the module documentation), so samples start at
            // the last ACK that was forwarded at once.
            if !number.before(stream.at_once) {
                (stream.at_once, stream.came) = (number, now);
            }
            out.forward(ack.packet);
        } else {
            let connection = ack.connection;
            // The first ACK of the gap is due now, so release it at once.
            self.spread(stream, ack, interval, waiting, cx);
            waiting.release(connection, now, out).into_iter().for_each(|last| stream.sent = last);
        }
        (stream.number, stream.window, stream.flags) = (stream.number.later_of(number), window, flags);
    }

    fn passes(stream: &mut Stream, header: &TcpHeader, now: Time) {
        let number = header.ack;
        stream.sent = stream.sent.later_of(number);
        (stream.number, stream.window, stream.flags) = (stream.number.later_of(number), header.window, header.flags);
        (stream.at_once, stream.came, stream.is_duplicated) = (stream.at_once.later_of(number), now, false);
    }

    fn went_on(stream: &mut Stream, number: Seq) {
        stream.sent = number;
    }

    /// Calls `out` with `inserted_packets`, the number of ACKs created since the start of the run.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("inserted_packets", self.inserted as f64);
    }
}
