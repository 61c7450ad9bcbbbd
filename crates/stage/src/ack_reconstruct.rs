//! ACK reconstruction (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, section
//! 6.4; RFC 3449 section 5.3.1): behind a slow line, the ACKs that were filtered or dropped in front of it are made
//! anew, so that a sender which grows by the ACK and sends on each sees a smooth stream.
//!
//! Where an ACK says more than `threshold` segments beyond the one before, ACKs are inserted between the two, each
//! `every` segments, and all of them, the arriving one last, are spread over the mean time between arriving ACKs. That
//! is an average with the weight `gain`. The gap of `d` segments takes `ceil(d / every) - 1` ACKs, which fills it
//! evenly; the paper prints one fewer, `text = true`.
//!
//! With `spacing = "interval"` it is a pacer, as in the authors' code in ns-2 (not in the text): the first of those
//! that are missing goes on at once, each other one a whole mean interval after the one before, and gaps count from
//! what went on last. So no more than `every` segments are acknowledged for each ACK that arrives, what is behind
//! waits, and the sender's round trip grows. A duplicate takes what waits with it.
//!
//! Nothing is acknowledged that was not: inserted numbers lie between two that arrived. An inserted ACK is the arriving
//! one with its number and the smaller of the two windows. Only plain ACKs are spread. One with data, flags, SACK
//! blocks or counts of marks goes on at once, behind those that wait. State is soft; an ACK waits no longer than
//! `max_delay`.

use crate::spread::{Connection, Spread, connection};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Bytes, Count, Cx, Duration, NewPacket, Packet, Payload, Seq, Time, Transport};
use lopsided_spec::{Choice, Fault, Key, Part, key};
use std::collections::BTreeMap;

/// ACK reconstruction as plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckReconstructConfig {
    pub side: StageSide,
    pub every: u32,
    pub threshold: u32,
    pub gain: f64,
    /// The mean time between ACKs before any is known; `None`: the first such time.
    pub interval: Option<Duration>,
    pub segment: Bytes,
    pub max_delay: Duration,
    pub text: bool,
    pub spacing: Spacing,
}

/// How far apart the ACKs of a gap go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spacing {
    /// By their share of the gap, in the mean interval.
    #[default]
    Share,
    /// A mean interval, each.
    Interval,
}

impl Choice for Spacing {
    const WORDS: &'static [(&'static str, Spacing)] = &[("share", Spacing::Share), ("interval", Spacing::Interval)];
}

/// Added to the mean interval where ACKs are paced: one that arrives on time finds what was made for this time still
/// waiting.
const MOMENT: Duration = Duration::from_nanos(2);

impl Default for AckReconstructConfig {
    fn default() -> AckReconstructConfig {
        AckReconstructConfig {
            side: StageSide::Exit,
            every: 2,
            threshold: 2,
            gain: 0.25,
            interval: None,
            segment: Bytes::new(1448),
            max_delay: Duration::from_millis(100),
            text: false,
            spacing: Spacing::Share,
        }
    }
}

impl Part for AckReconstructConfig {
    const NAME: &'static str = "ack_reconstruct";
    const TEXT: &'static str = "Fills the gaps between ACKs with new ones, and spreads them in time.";
    const KEYS: &'static [Key<AckReconstructConfig>] = &[
        key("side", |part: &mut Self| &mut part.side, "Before the queue (entry) or behind the line (exit)."),
        key("every", |part: &mut Self| &mut part.every, "An ACK for every so many segments."),
        key("threshold", |part: &mut Self| &mut part.threshold, "A gap of more segments than this is filled."),
        key("gain", |part: &mut Self| &mut part.gain, "The weight of a new sample in the mean time between ACKs."),
        key(
            "interval",
            |part: &mut Self| &mut part.interval,
            "The mean time between ACKs before any is known: the authors' scripts have 10 ms.",
        )
        .none_word("the first"),
        key("segment", |part: &mut Self| &mut part.segment, "The data of a full segment."),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "An ACK is held for this long at most."),
        key("text", |part: &mut Self| &mut part.text, "One ACK fewer for each gap, as balakrishnan1999 prints it."),
        key(
            "spacing",
            |part: &mut Self| &mut part.spacing,
            "The ACKs of a gap share the mean time between ACKs (share), or go on one such time apart (interval).",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.every == 0 {
            return Err(Fault::new("every", "an ACK stands for one segment at least"));
        }
        if self.segment == Bytes::ZERO {
            return Err(Fault::new("segment", "a segment has one octet at least"));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(Fault::new("gain", "a gain is above 0 and at most 1"));
        }
        if self.text && self.spacing == Spacing::Interval {
            return Err(Fault::new("text", "the text has the ACKs share the time: leave out `spacing`"));
        }
        Ok(())
    }
}

impl StageKind for AckReconstructConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.check()?;
        Ok(Box::new(AckReconstruct::new(*self)))
    }
}

/// Reconstructs the ACKs of every connection that passes.
#[derive(Debug)]
pub struct AckReconstruct {
    config: AckReconstructConfig,
    connections: BTreeMap<Connection, Stream>,
    spread: Spread,
    inserted: u64,
}

/// One connection's ACKs.
#[derive(Debug)]
struct Stream {
    /// What the last one said, and when it came.
    number: Seq,
    window: u16,
    came: Time,
    /// The mean time between them, in nanoseconds; `None` before the second, where no mean is given.
    interval: Option<f64>,
    /// The highest number that went on.
    sent: Seq,
}

impl Stream {
    fn new(number: Seq, window: u16, came: Time, interval: Option<Duration>) -> Stream {
        let interval = interval.map(|mean| mean.as_nanos() as f64);
        Stream { number, window, came, interval, sent: number }
    }

    /// The mean interval with that of an ACK that arrives now.
    fn sample(&mut self, gain: f64, now: Time) -> f64 {
        let sample = (now - self.came).as_nanos() as f64;
        let mean = self.interval.map_or(sample, |mean| mean + gain * (sample - mean));
        self.interval = Some(mean);
        mean
    }
}

impl AckReconstruct {
    pub fn new(config: AckReconstructConfig) -> AckReconstruct {
        AckReconstruct { config, connections: BTreeMap::new(), spread: Spread::default(), inserted: 0 }
    }

    /// Spreads a plain ACK that says more than the last, and what is missing between the two.
    fn spread(
        &mut self,
        connection: Connection,
        header: &TcpHeader,
        packet: Packet,
        out: &mut Outlet,
        cx: &mut Cx<'_>,
    ) {
        let AckReconstructConfig { every, threshold, gain, segment, max_delay, text, .. } = self.config;
        let now = cx.now();
        let stream = self.connections.get_mut(&connection).expect("only a known connection's");
        let mean = stream.sample(gain, now);
        let gap = header.ack.since(stream.number);
        let step = every * segment.get() as u32;
        let missing = if u64::from(gap) > u64::from(threshold) * segment.get() {
            gap.div_ceil(step).saturating_sub(if text { 2 } else { 1 })
        } else {
            0
        };
        let first = self.spread.last(connection).unwrap_or(now).max(now);
        let latest = (now + max_delay).max(first);
        // The text has each wait for its share of the gap; what is left of it is the arriving one's.
        let share = f64::from(step) / f64::from(gap.max(1));
        let at = |number: u32| {
            (first + Duration::from_nanos((mean * (share * f64::from(number)).min(1.0)) as u64)).min(latest)
        };
        let window = stream.window.min(header.window);
        let mut made = Vec::new();
        for number in 1..=missing {
            let header = TcpHeader { ack: stream.number + number * step, window, ..header.clone() };
            let new = NewPacket::new(packet.flow(), *packet.ip(), Transport::Tcp(header), Payload::EMPTY);
            made.push((at(number), cx.originate(new)));
        }
        self.inserted += u64::from(missing);
        let last = if missing > 0 { at(u32::MAX) } else { first };
        (stream.number, stream.window, stream.came) = (header.ack, header.window, now);
        for (time, packet) in made.into_iter().chain([(last, packet)]) {
            self.spread.hold(connection, time, packet);
        }
        self.spread.release(connection, now, out);
    }

    /// The same, each a mean interval after the one before, and those that wait anew with them.
    fn pace(&mut self, connection: Connection, header: &TcpHeader, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let AckReconstructConfig { every, threshold, gain, segment, max_delay, .. } = self.config;
        let now = cx.now();
        let stream = self.connections.get_mut(&connection).expect("only a known connection's");
        let interval = Duration::from_nanos(stream.sample(gain, now) as u64) + MOMENT;
        let waiting = self.spread.take(connection);
        let gap = header.ack.since(stream.sent);
        let step = every * segment.get() as u32;
        let fills = !waiting.is_empty() || u64::from(gap) > u64::from(threshold) * segment.get();
        let missing = if fills { gap.div_ceil(step).saturating_sub(1) } else { 0 };
        let window = stream.window.min(header.window);
        // What an earlier arrival set for a number, or one behind it, stands where it is sooner.
        let mut earlier = waiting.iter().map(|(time, old)| (*time, old.tcp().expect("only such wait").ack)).peekable();
        let mut at = |place: u32, number: Seq| {
            while earlier.next_if(|(_, old)| number.after(*old)).is_some() {}
            let anew = now + (interval * u64::from(place)).min(max_delay);
            earlier.peek().map_or(anew, |(time, _)| anew.min(*time))
        };
        for place in 0..missing {
            let number = stream.sent + (place + 1) * step;
            let header = TcpHeader { ack: number, window, ..header.clone() };
            let new = NewPacket::new(packet.flow(), *packet.ip(), Transport::Tcp(header), Payload::EMPTY);
            self.spread.hold(connection, at(place, number), cx.originate(new));
        }
        self.spread.hold(connection, at(missing, header.ack), packet);
        self.inserted += u64::from(missing);
        (stream.number, stream.window, stream.came) = (header.ack, header.window, now);
        waiting.into_iter().for_each(|(_, old)| cx.absorb(old));
        self.release_paced(connection, now, out);
    }

    /// Lets go what waits of a connection until then, and notes how far that is.
    fn release_paced(&mut self, connection: Connection, until: Time, out: &mut Outlet) {
        let last = self.spread.release(connection, until, out);
        if let Some((number, stream)) = last.zip(self.connections.get_mut(&connection)) {
            stream.sent = number;
        }
    }

    /// What a segment that is not spread says, which goes on at once.
    fn note(&mut self, connection: Connection, header: &TcpHeader, now: Time) {
        if header.flags.has(Flags::FIN) || header.flags.has(Flags::RST) || header.flags.has(Flags::SYN) {
            self.connections.remove(&connection);
        } else if header.flags.has(Flags::ACK) {
            let (number, window, interval) = (header.ack, header.window, self.config.interval);
            let begun = || Stream::new(number, window, now, interval);
            let stream = self.connections.entry(connection).or_insert_with(begun);
            if number.after(stream.number) {
                (stream.number, stream.came) = (number, now);
            }
            (stream.sent, stream.window) = (stream.number, window);
        }
    }
}

impl Stage for AckReconstruct {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let Some((connection, header)) = connection(&packet) else { return out.forward(packet) };
        let header = header.clone();
        let known = self.connections.get(&connection);
        if is_plain(&packet, &header) && known.is_some_and(|stream| header.ack.after(stream.number)) {
            return match self.config.spacing {
                Spacing::Share => self.spread(connection, &header, packet, out, cx),
                Spacing::Interval => self.pace(connection, &header, packet, out, cx),
            };
        }
        match self.config.spacing {
            Spacing::Share => _ = self.spread.release(connection, Time::MAX, out),
            // What was made in between tells nothing beside the last, which was not.
            Spacing::Interval => {
                let mut waiting = self.spread.take(connection);
                let last = waiting.pop();
                waiting.into_iter().for_each(|(_, made)| cx.absorb(made));
                last.into_iter().for_each(|(_, real)| out.forward(real));
            }
        }
        self.note(connection, &header, cx.now());
        out.forward(packet);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.spread.next()
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        while let Some(connection) = self.spread.due(cx.now()) {
            self.release_paced(connection, cx.now(), out);
        }
    }

    fn held(&self) -> Count {
        self.spread.held()
    }

    /// `inserted_packets` counts the ACKs that were made since the beginning.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("inserted_packets", self.inserted as f64);
    }
}

/// Whether it acknowledges and says nothing else that a copy could not say.
pub(crate) fn is_plain(packet: &Packet, header: &TcpHeader) -> bool {
    let options = &header.options;
    packet.payload().is_empty()
        && header.flags == Flags::ACK
        && options.sack.is_empty()
        && options.accurate_ecn().is_none()
        && options.other().is_empty()
        && packet.is_read_whole()
}
