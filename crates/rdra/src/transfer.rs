//! A transfer: the missing parts of an object, the stream that brings each part, and the next request.

use crate::fair_share::FairShare;
use crate::{Loss, Mode, Ranges, Settings, Step, What};
use lopsided_core::{Bytes, Duration, Time};
use std::fmt;
use std::ops::Range;

/// Plain parallel TCP requests pieces of what is left: small enough that all streams end together, large enough that
/// the wait for an answer costs little.
const LEAST_PIECE: u64 = 64 << 10;
const LARGEST_PIECE: u64 = 4 << 20;

/// One object on its way over several streams. Streams are numbered from 0.
#[derive(Debug)]
pub struct Transfer {
    settings: Settings,
    /// Octets neither received nor requested.
    missing: Ranges,
    streams: Vec<Stream>,
    /// The window of the one sender; `None` if only the streams' senders limit the transfer.
    share: Option<FairShare>,
    /// Octets requested and not received, over all streams.
    requested: u64,
    received: u64,
    /// The steps since the caller last took them; `None` unless they are recorded.
    steps: Option<Vec<Step>>,
}

#[derive(Debug, Default)]
struct Stream {
    chunk: Option<Chunk>,
    /// Segments out of order on the connection, as last seen.
    out_of_order: u64,
    /// The connection's segment size, as last seen.
    mss: Bytes,
    /// The stream has a hole, and nothing in order has arrived since.
    has_hole: bool,
}

/// A stream's current request.
#[derive(Debug)]
struct Chunk {
    /// The part that has not arrived.
    range: Range<u64>,
    asked: Time,
    /// Time of the last arrival, or of the request.
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

    /// Records every step from now on.
    pub fn record(&mut self) {
        self.steps = Some(Vec::new());
    }

    /// The steps recorded since the last call.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn write_down(&mut self, at: Time, stream: usize, what: What, loss: Option<Loss>) {
        let (window, requested) = (self.window(), self.requested);
        if let Some(steps) = &mut self.steps {
            steps.push(Step { at, stream, what, loss, window, requested });
        }
    }

    /// Number of streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The next request of an idle stream. `None` if the stream is busy, or if everything is requested.
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

    /// Equation 2.4. The paper prints "min", but its text describes "max".
    fn chunk_size(&self) -> u64 {
        let streams = self.streams.len() as u64;
        let least = self.settings.min_chunk.get().max(1);
        match (self.settings.mode, &self.share) {
            (_, Some(share)) => (share.window().get().saturating_sub(self.requested) / streams).max(least),
            (Mode::Single, None) => u64::MAX,
            (_, None) => (self.missing.octets() / (2 * streams)).clamp(LEAST_PIECE, LARGEST_PIECE).max(least),
        }
    }

    /// The next `octets` octets of the stream's request arrived. Returns their place in the object.
    ///
    /// # Errors
    /// If the stream's request has fewer octets left.
    pub fn received(&mut self, now: Time, stream: usize, octets: u64) -> Result<Range<u64>, Excess> {
        self.received_late(now, now, stream, octets)
    }

    /// The same as [`Transfer::received`] for octets that arrived at `came` and are reported now.
    ///
    /// # Errors
    /// If the stream's request has fewer octets left.
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

    /// Takes the statistics of a stream's connection: segments that arrived out of order since it began
    /// (`tcpi_rcv_ooopack`), and the segment size.
    pub fn observe(&mut self, now: Time, stream: usize, out_of_order: u64, mss: Bytes) {
        let Some(seen) = self.streams.get_mut(stream) else { return };
        if (seen.out_of_order, seen.mss) == (out_of_order, mss) {
            return;
        }
        // Further segments out of order, until the hole is filled, belong to the same hole.
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

    /// The stream's connection failed. The rest of its request is missing again, and the stream may have a new
    /// connection.
    pub fn failed(&mut self, now: Time, stream: usize) {
        let Some(failed) = self.streams.get_mut(stream) else { return };
        let chunk = std::mem::take(failed).chunk;
        if let Some(chunk) = chunk {
            self.requested -= chunk.range.end - chunk.range.start;
            self.missing.insert(chunk.range);
        }
        self.write_down(now, stream, What::Failed, None);
    }

    /// The streams on which nothing arrived for the stall timeout. The caller closes each, reports it as
    /// [failed](Transfer::failed) and opens it again.
    pub fn stalled(&self, now: Time) -> Vec<usize> {
        let late = |stream: &Stream| self.stalls_at(stream).is_some_and(|at| at <= now);
        (0..self.streams.len()).filter(|at| late(&self.streams[*at])).collect()
    }

    /// Time at which the next stream stalls if nothing arrives.
    pub fn next_stall(&self) -> Option<Time> {
        self.streams.iter().filter_map(|stream| self.stalls_at(stream)).min()
    }

    fn stalls_at(&self, stream: &Stream) -> Option<Time> {
        Some(stream.chunk.as_ref()?.moved + self.settings.stall_timeout)
    }

    /// True if nothing is missing and no request is open.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.requested == 0
    }

    /// The lowest octet that was neither received nor requested.
    pub fn first_missing(&self) -> Option<u64> {
        self.missing.iter().next().map(|range| range.start)
    }

    /// Octets that have not arrived, requested or not.
    pub fn left(&self) -> u64 {
        self.missing.octets() + self.requested
    }

    /// Number of received bytes of the object.
    pub fn octets_received(&self) -> u64 {
        self.received
    }

    /// Octets requested and not received.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// The window that one sender would have; `None` if the mode has no window.
    pub fn window(&self) -> Option<Bytes> {
        self.share.as_ref().map(FairShare::window)
    }

    /// Number of reductions of the window.
    pub fn reductions(&self) -> u64 {
        self.share.as_ref().map_or(0, FairShare::reductions)
    }

    /// The round trip of requests: the median of the latest samples.
    pub fn rtt(&self) -> Option<Duration> {
        self.share.as_ref().map(FairShare::rtt)
    }
}

/// More arrived on a stream than it requested.
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
