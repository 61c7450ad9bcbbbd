//! A transfer: what is missing of an object, which stream brings which part of it, and what to ask for next.

use crate::fair_share::FairShare;
use crate::{Loss, Mode, Ranges, Settings, Step, What};
use lopsided_core::{Bytes, Duration, Time};
use std::fmt;
use std::ops::Range;

/// Plain parallel TCP asks for pieces of what is left: small enough that all streams end together, large enough that
/// the wait for an answer costs little.
const LEAST_PIECE: u64 = 64 << 10;
const LARGEST_PIECE: u64 = 4 << 20;

/// One object on its way over several streams. Streams are numbered from 0.
#[derive(Debug)]
pub struct Transfer {
    settings: Settings,
    /// Neither received nor asked for.
    missing: Ranges,
    streams: Vec<Stream>,
    /// `None`: nothing but the streams' senders limits what is asked for.
    share: Option<FairShare>,
    /// Asked for and not received, over all streams.
    requested: u64,
    received: u64,
    /// What was done since somebody took it, where it is written down.
    steps: Option<Vec<Step>>,
}

#[derive(Debug, Default)]
struct Stream {
    chunk: Option<Chunk>,
    /// Segments out of order on the connection, as last seen.
    out_of_order: u64,
    /// The connection's segment size, as last seen.
    mss: Bytes,
    /// There is a hole in what came, and nothing in order has come since.
    has_hole: bool,
}

/// What a stream was asked for.
#[derive(Debug)]
struct Chunk {
    /// Still to come.
    range: Range<u64>,
    asked: Time,
    /// When something came last, or it was asked for.
    moved: Time,
    begun: bool,
}

impl Transfer {
    /// A transfer of `missing`.
    pub fn new(settings: Settings, missing: Ranges) -> Transfer {
        let streams = if settings.mode == Mode::Single { 1 } else { settings.streams.max(1) as usize };
        let share = match settings.mode {
            Mode::Fair => Some(FairShare::new(settings.window, settings.detection, streams)),
            Mode::Greedy | Mode::Single => None,
        };
        let streams = (0..streams).map(|_| Stream::default()).collect();
        Transfer { settings, missing, streams, share, requested: 0, received: 0, steps: None }
    }

    /// From now on every step is written down.
    pub fn record(&mut self) {
        self.steps = Some(Vec::new());
    }

    /// The steps that were written down since they were last taken.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn write_down(&mut self, at: Time, stream: usize, what: What, loss: Option<Loss>) {
        let (window, requested) = (self.window(), self.requested);
        if let Some(steps) = &mut self.steps {
            steps.push(Step { at, stream, what, loss, window, requested });
        }
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// What an idle stream is to ask for. `None`: the stream is busy, or everything was asked for.
    pub fn request(&mut self, now: Time, stream: usize) -> Option<Range<u64>> {
        if self.streams.get(stream)?.chunk.is_some() {
            return None;
        }
        let range = self.missing.take_first(self.chunk_size())?;
        self.requested += range.end - range.start;
        self.streams[stream].chunk = Some(Chunk { range: range.clone(), asked: now, moved: now, begun: false });
        self.write_down(now, stream, What::Asked { first: range.start, octets: range.end - range.start }, None);
        Some(range)
    }

    /// Equation 2.4, which is printed with "min" and means "max" by its own text.
    fn chunk_size(&self) -> u64 {
        let streams = self.streams.len() as u64;
        let least = self.settings.min_chunk.get().max(1);
        match (self.settings.mode, &self.share) {
            (_, Some(share)) => (share.window().get().saturating_sub(self.requested) / streams).max(least),
            (Mode::Single, None) => u64::MAX,
            (_, None) => (self.missing.octets() / (2 * streams)).clamp(LEAST_PIECE, LARGEST_PIECE).max(least),
        }
    }

    /// The next `octets` of what the stream was asked for have arrived: their place in the object.
    ///
    /// # Errors
    /// If it was not asked for so many.
    pub fn received(&mut self, now: Time, stream: usize, octets: u64) -> Result<Range<u64>, Excess> {
        self.received_late(now, now, stream, octets)
    }

    /// As [`Transfer::received`], of octets that came at `came` and are told of only now.
    ///
    /// # Errors
    /// If it was not asked for so many.
    pub fn received_late(&mut self, now: Time, came: Time, stream: usize, octets: u64) -> Result<Range<u64>, Excess> {
        let chunk = self.streams.get_mut(stream).and_then(|stream| stream.chunk.as_mut());
        let chunk = chunk.filter(|chunk| octets <= chunk.range.end - chunk.range.start).ok_or(Excess)?;
        if octets == 0 {
            return Ok(chunk.range.start..chunk.range.start);
        }
        let came = came.clamp(chunk.moved, now.max(chunk.moved));
        let rtt = (!chunk.begun).then(|| came.saturating_since(chunk.asked));
        let pause = came.saturating_since(chunk.moved);
        let last = chunk.moved;
        chunk.begun = true;
        chunk.moved = came;
        let place = chunk.range.start..chunk.range.start + octets;
        chunk.range.start = place.end;
        let ended = chunk.range.is_empty();
        let at = &mut self.streams[stream];
        at.has_hole = false;
        if ended {
            at.chunk = None;
        }
        let mut loss = None;
        if let Some(share) = &mut self.share {
            loss = share.resumed(now, stream, last, pause, self.requested);
            share.arrived(now, octets, rtt, self.requested);
        }
        self.requested -= octets;
        self.received += octets;
        let late = now.saturating_since(came);
        self.write_down(now, stream, What::Received { first: place.start, octets, late }, loss);
        Ok(place)
    }

    /// What the stream's connection says of itself: segments that came out of order since it began
    /// (`tcpi_rcv_ooopack`), and its segment size.
    pub fn observe(&mut self, now: Time, stream: usize, out_of_order: u64, mss: Bytes) {
        let Some(seen) = self.streams.get_mut(stream) else { return };
        if (seen.out_of_order, seen.mss) == (out_of_order, mss) {
            return;
        }
        // What comes out of order until the hole is filled tells of the same one.
        let hole = out_of_order > seen.out_of_order && !seen.has_hole;
        (seen.out_of_order, seen.mss) = (out_of_order, mss);
        seen.has_hole |= hole;
        let mut loss = None;
        if let Some(share) = &mut self.share {
            if mss > Bytes::ZERO {
                share.set_mss(mss);
            }
            if hole {
                loss = Some(share.hole(now, stream, self.requested));
            }
        }
        self.write_down(now, stream, What::Observed { out_of_order, mss }, loss);
    }

    /// The stream's connection is gone: what it still owed is missing again, and a new one may take its place.
    pub fn failed(&mut self, now: Time, stream: usize) {
        let Some(failed) = self.streams.get_mut(stream) else { return };
        let chunk = std::mem::take(failed).chunk;
        if let Some(chunk) = chunk {
            self.requested -= chunk.range.end - chunk.range.start;
            self.missing.insert(chunk.range);
        }
        self.write_down(now, stream, What::Failed, None);
    }

    /// The streams that have not moved for too long. Each is to be closed, told as [failed](Transfer::failed) and
    /// opened anew.
    pub fn stalled(&self, now: Time) -> Vec<usize> {
        let late = |stream: &Stream| self.stalls_at(stream).is_some_and(|at| at <= now);
        (0..self.streams.len()).filter(|at| late(&self.streams[*at])).collect()
    }

    /// When the next stream will have stalled, if nothing comes.
    pub fn next_stall(&self) -> Option<Time> {
        self.streams.iter().filter_map(|stream| self.stalls_at(stream)).min()
    }

    fn stalls_at(&self, stream: &Stream) -> Option<Time> {
        Some(stream.chunk.as_ref()?.moved + self.settings.stall_timeout)
    }

    /// Nothing is missing and nothing is on its way.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.requested == 0
    }

    /// The lowest octet that was neither received nor asked for.
    pub fn first_missing(&self) -> Option<u64> {
        self.missing.iter().next().map(|range| range.start)
    }

    /// Octets still to come: on their way, or not asked for.
    pub fn left(&self) -> u64 {
        self.missing.octets() + self.requested
    }

    /// Number of received bytes of the object.
    pub fn octets_received(&self) -> u64 {
        self.received
    }

    /// Asked for and not received.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// The window that one sender would have; `None` where nothing limits what is asked for.
    pub fn window(&self) -> Option<Bytes> {
        self.share.as_ref().map(FairShare::window)
    }

    /// How often congestion was seen.
    pub fn reductions(&self) -> u64 {
        self.share.as_ref().map_or(0, FairShare::reductions)
    }

    /// The round trip of requests, the least of the latest few.
    pub fn rtt(&self) -> Option<Duration> {
        self.share.as_ref().map(FairShare::rtt)
    }
}

/// More arrived on a stream than it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess;

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more arrived than the stream was asked for")
    }
}

impl std::error::Error for Excess {}

#[cfg(test)]
mod tests;
