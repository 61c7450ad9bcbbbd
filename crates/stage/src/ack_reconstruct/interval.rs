//! The authors' code as ns-2.35 runs it, which is not the text: a pacer.
//!
//! - Where nothing waits and an ACK leaves no gap, it goes on at once. So do all that come behind a duplicate of one
//!   that did, up to the first for new data.
//! - Any other is spread: from the last number that went on, each `every` segments, the first goes on at once and each
//!   other a whole mean interval after the one before. So no more than `every` segments are acknowledged for each ACK
//!   that arrives, what is behind waits, and the sender's round trip grows. The time of a number from an
//!   earlier arrival is kept if it is sooner, and no ACK leaves after one with a larger number. Each number leaves once: a
//!   duplicate ends here.
//!
//! The mean is of the times from the last ACK that went on at once to each that arrives, also where others came between
//! the two, and a duplicate is one of such an ACK. For ns-2.35 reads the number of an ACK that it has spread from a
//! packet that it has given back, which is zero by then, and so forgets that it came. In the ns of the paper's time a
//! packet was not cleared as it was given back: the mean is smaller then, and duplicates count while ACKs wait. That
//! way the cell of table 1 (8.57 Mbit/s) comes to 4.7 in ns-2.35, this way to 8.4.
//!
//! The time since the handshake is the first between two ACKs where a mean is given to begin with. An ACK that
//! only opens the window or ends an echo of marks, of which ns-2 has none, goes on at once, behind those that wait.

use super::config::AckReconstructConfig;
use super::inserted::{Mean, inserted};
use crate::Outlet;
use crate::held_acks::{Ack, Rule, Waiting};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, Duration, Packet, Seq, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Debug)]
pub(super) struct ByInterval {
    config: AckReconstructConfig,
    inserted: u64,
}

/// One connection's ACKs.
#[derive(Debug)]
pub(super) struct Stream {
    /// The highest number that went on.
    sent: Seq,
    /// Acknowledgement number, window and flags of the last ACK that arrived.
    number: Seq,
    window: u16,
    flags: Flags,
    /// The last one that went on at once, when it came, and whether it came again.
    at_once: Seq,
    came: Time,
    is_duplicated: bool,
    mean: Mean,
    /// By then all that was ever spread would have gone on, had none overtaken another.
    busy_until: Time,
}

impl ByInterval {
    pub fn new(config: AckReconstructConfig) -> ByInterval {
        ByInterval { config, inserted: 0 }
    }

    /// An ACK, and what is missing before it, wait among those that do.
    fn spread(&mut self, stream: &mut Stream, ack: Ack, interval: Duration, waiting: &mut Waiting, cx: &mut Cx<'_>) {
        let (now, step, connection) = (cx.now(), self.config.step(), ack.connection);
        let gap = if ack.header.ack.after(stream.sent) { ack.header.ack.since(stream.sent) } else { 0 };
        let Some(last) = gap.div_ceil(step).checked_sub(1) else { return cx.absorb(ack.packet) };
        let goes = |place: u32| now + (interval * u64::from(place)).min(self.config.max_delay);
        stream.busy_until = stream.busy_until.max(goes(last));
        // By their numbers, which are behind what went on last.
        let ahead = |(time, packet): (Time, Packet)| {
            (packet.tcp().expect("only such wait").ack.since(stream.sent), (time, packet))
        };
        let mut all: BTreeMap<u32, (Time, Packet)> = waiting.take(connection).into_iter().map(ahead).collect();
        let window = stream.window.min(ack.header.window);
        for place in 0..last {
            match all.entry((place + 1) * step) {
                Entry::Occupied(mut set) => set.get_mut().0 = set.get().0.min(goes(place)),
                Entry::Vacant(free) => {
                    self.inserted += 1;
                    free.insert((goes(place), inserted(&ack, stream.sent + (place + 1) * step, window, cx)));
                }
            }
        }
        match all.entry(gap) {
            Entry::Occupied(mut set) => {
                set.get_mut().0 = set.get().0.min(goes(last));
                cx.absorb(ack.packet);
            }
            Entry::Vacant(free) => _ = free.insert((goes(last), ack.packet)),
        }
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
        (self.config.interval.is_some() || !header.flags.has(Flags::SYN)).then_some(begun)
    }

    /// One that says nothing but that the window has opened, or that there are no more marks, is not spread.
    fn takes(stream: &Stream, header: &TcpHeader) -> bool {
        header.ack != stream.number || (header.window, header.flags) == (stream.window, stream.flags)
    }

    fn take(&mut self, stream: &mut Stream, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>) {
        let now = cx.now();
        let number = ack.header.ack;
        waiting.release(ack.connection, now, out).into_iter().for_each(|last| stream.sent = last);
        let interval = Duration::from_nanos(stream.mean.sample(self.config.gain, stream.came, now) as u64);
        let is_new = number.after(stream.sent);
        let closes_no_gap = !(is_new && self.config.is_gap(number.since(stream.sent)));
        let (window, flags) = (ack.header.window, ack.header.flags);
        if stream.is_duplicated || now >= stream.busy_until && closes_no_gap {
            stream.is_duplicated = number == stream.at_once || stream.is_duplicated && !is_new;
            stream.sent = stream.sent.later_of(number);
            if !number.before(stream.at_once) {
                (stream.at_once, stream.came) = (number, now);
            }
            out.forward(ack.packet);
        } else {
            let connection = ack.connection;
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

    /// `inserted_packets` counts the ACKs that were made since the beginning.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("inserted_packets", self.inserted as f64);
    }
}
