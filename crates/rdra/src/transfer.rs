//! A transfer: the missing ranges of an object, the ranges in progress, and the next range to request.

use crate::fair_share::FairShare;
use crate::{Loss, Mode, Ranges, Settings, Step, What};
use lopsided_core::{Bytes, Duration, Time};
use std::fmt;
use std::ops::Range;

/// Smallest request of plain parallel TCP in bytes. Smaller requests would reduce the throughput.
const LEAST_PIECE: u64 = 64 << 10;
/// Largest request of plain parallel TCP in bytes. Larger requests would end at very different times.
const LARGEST_PIECE: u64 = 4 << 20;

/// The download of one object over several streams, which are numbered from 0. A transfer has no clock and no I/O.
///
/// For each idle stream call [`Transfer::request`] and send the range to the server. Report received data with
/// [`Transfer::received`], the state of each connection with [`Transfer::observe`], and lost connections with
/// [`Transfer::failed`].
///
/// # Examples
///
/// ```
/// use lopsided_core::{Duration, Time};
/// use lopsided_rdra::{Mode, Ranges, Settings, Transfer};
///
/// let settings = Settings { mode: Mode::Single, ..Settings::default() };
/// let mut transfer = Transfer::new(settings, Ranges::whole(1_000));
/// assert_eq!(transfer.request(Time::ZERO, 0), Some(0..1_000));
/// let now = Time::ZERO + Duration::from_millis(50);
/// assert_eq!(transfer.received(now, 0, 1_000), Ok(0..1_000));
/// assert!(transfer.is_complete());
/// ```
#[derive(Debug)]
pub struct Transfer {
    settings: Settings,
    /// The bytes that are neither received nor requested.
    missing: Ranges,
    streams: Vec<Stream>,
    /// The window of a single TCP sender; `None` if only the streams' TCP senders limit the transfer.
    share: Option<FairShare>,
    /// Number of bytes that all streams have requested but not received.
    requested: u64,
    /// Bytes received.
    received: u64,
    /// Steps since the last call of [`Transfer::take_steps`]; `None` if steps are not recorded.
    steps: Option<Vec<Step>>,
}

/// One stream.
#[derive(Debug, Default)]
struct Stream {
    chunk: Option<Chunk>,
    /// Number of out-of-order segments on the connection, according to its last report.
    out_of_order: u64,
    /// MSS of the connection, according to its last report.
    mss: Bytes,
    /// True from the detection of a hole until data arrives in order.
    has_hole: bool,
}

/// The current request of a stream.
#[derive(Debug)]
struct Chunk {
    /// The part that has not been received.
    range: Range<u64>,
    /// Time of the request.
    asked: Time,
    /// Time of the last arrival, or of the request if nothing has arrived yet.
    moved: Time,
    /// True once a part of the range has been received.
    begun: bool,
}

impl Transfer {
    /// Creates a transfer that downloads the ranges in `missing`.
    pub fn new(settings: Settings, missing: Ranges) -> Transfer {
        let streams = if settings.mode == Mode::Single { 1 } else { settings.streams.max(1) as usize };
        let share = match settings.mode {
            Mode::Fair => Some(FairShare::new(settings.window, settings.detection, streams)),
            Mode::Greedy | Mode::Single => None,
        };
        let streams = (0..streams).map(|_| Stream::default()).collect();
        Transfer { settings, missing, streams, share, requested: 0, received: 0, steps: None }
    }

    /// Starts to record every step.
    pub fn record(&mut self) {
        self.steps = Some(Vec::new());
    }

    /// Removes and returns the steps that were recorded since the last call.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records a step, if recording is on.
    fn write_down(&mut self, at: Time, stream: usize, what: What, loss: Option<Loss>) {
        let (window, requested) = (self.window(), self.requested);
        if let Some(steps) = &mut self.steps {
            steps.push(Step { at, stream, what, loss, window, requested });
        }
    }

    /// Returns the number of streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns the next range to request on an idle stream. Returns `None` if the stream is busy or all ranges are
    /// requested.
    pub fn request(&mut self, now: Time, stream: usize) -> Option<Range<u64>> {
        if self.streams.get(stream)?.chunk.is_some() {
            return None;
        }
        // Request the lowest missing bytes first, so that the object can be read while it downloads.
        let range = self.missing.take_first(self.chunk_size())?;
        self.requested += range.end - range.start;
        self.streams[stream].chunk = Some(Chunk { range: range.clone(), asked: now, moved: now, begun: false });
        self.write_down(now, stream, What::Asked { first: range.start, octets: range.end - range.start }, None);
        Some(range)
    }

    /// Returns the size of the next request in bytes.
    fn chunk_size(&self) -> u64 {
        let streams = self.streams.len() as u64;
        let least = self.settings.min_chunk.get().max(1);
        match (self.settings.mode, &self.share) {
            // Havey 2015, equation 2.4. The printed equation contains "min", but the text describes "max".
            (_, Some(share)) => (share.window().get().saturating_sub(self.requested) / streams).max(least),
            (Mode::Single, None) => u64::MAX,
            (_, None) => (self.missing.octets() / (2 * streams)).clamp(LEAST_PIECE, LARGEST_PIECE).max(least),
        }
    }

    /// Reports that the next `octets` bytes of the stream's request have arrived. Returns the range of these bytes in
    /// the object.
    ///
    /// # Errors
    /// Returns an error if fewer than `octets` bytes of the stream's request are left.
    pub fn received(&mut self, now: Time, stream: usize, octets: u64) -> Result<Range<u64>, Excess> {
        self.received_late(now, now, stream, octets)
    }

    /// Like [`Transfer::received`], for bytes that arrived at `came` and are reported now.
    ///
    /// # Errors
    /// Returns an error if fewer than `octets` bytes of the stream's request are left.
    pub fn received_late(&mut self, now: Time, came: Time, stream: usize, octets: u64) -> Result<Range<u64>, Excess> {
        let chunk = self.streams.get_mut(stream).and_then(|stream| stream.chunk.as_mut());
        let chunk = chunk.filter(|chunk| octets <= chunk.range.end - chunk.range.start).ok_or(Excess)?;
        if octets == 0 {
            return Ok(chunk.range.start..chunk.range.start);
        }
        // The caller's times may be slightly out of order. Correct them, because the arrivals on one stream must be in
        // order.
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
        // Data that arrives in order shows that the hole is filled.
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

    /// Reports the state of a stream's connection: its number of out-of-order segments since the start
    /// (`tcpi_rcv_ooopack`), and its MSS.
    pub fn observe(&mut self, now: Time, stream: usize, out_of_order: u64, mss: Bytes) {
        let Some(seen) = self.streams.get_mut(stream) else { return };
        if (seen.out_of_order, seen.mss) == (out_of_order, mss) {
            return;
        }
        // Until the hole is filled, all further out-of-order segments belong to the same hole.
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

    /// Reports that the stream's connection has failed. The rest of the stream's request becomes missing again. The
    /// stream may then use a new connection.
    pub fn failed(&mut self, now: Time, stream: usize) {
        let Some(failed) = self.streams.get_mut(stream) else { return };
        // The counters of a new connection start at 0, so reset the whole state of the stream.
        let chunk = std::mem::take(failed).chunk;
        if let Some(chunk) = chunk {
            self.requested -= chunk.range.end - chunk.range.start;
            self.missing.insert(chunk.range);
        }
        self.write_down(now, stream, What::Failed, None);
    }

    /// Returns the streams on which nothing has arrived for the stall timeout. Close their connections, report the
    /// streams as [failed](Transfer::failed), and open new connections.
    pub fn stalled(&self, now: Time) -> Vec<usize> {
        let late = |stream: &Stream| self.stalls_at(stream).is_some_and(|at| at <= now);
        (0..self.streams.len()).filter(|at| late(&self.streams[*at])).collect()
    }

    /// Returns the earliest time at which a stream stalls if nothing arrives; `None` if no stream has a request.
    pub fn next_stall(&self) -> Option<Time> {
        self.streams.iter().filter_map(|stream| self.stalls_at(stream)).min()
    }

    /// Returns the time at which the stream stalls; `None` if it has no request.
    fn stalls_at(&self, stream: &Stream) -> Option<Time> {
        Some(stream.chunk.as_ref()?.moved + self.settings.stall_timeout)
    }

    /// Returns true if every byte was received.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.requested == 0
    }

    /// Returns the lowest offset that is neither received nor requested.
    pub fn first_missing(&self) -> Option<u64> {
        self.missing.iter().next().map(|range| range.start)
    }

    /// Returns the number of bytes that have not arrived, whether requested or not.
    pub fn left(&self) -> u64 {
        self.missing.octets() + self.requested
    }

    /// Returns the number of bytes received.
    pub fn octets_received(&self) -> u64 {
        self.received
    }

    /// Returns the number of bytes that were requested but not received.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Returns the window that a single TCP sender would have; `None` if the mode uses no window.
    pub fn window(&self) -> Option<Bytes> {
        self.share.as_ref().map(FairShare::window)
    }

    /// Returns the number of reductions of the window.
    pub fn reductions(&self) -> u64 {
        self.share.as_ref().map_or(0, FairShare::reductions)
    }

    /// Returns the round-trip time of requests, as the median of the latest samples; `None` if the mode uses no window.
    pub fn rtt(&self) -> Option<Duration> {
        self.share.as_ref().map(FairShare::rtt)
    }
}

/// Error: more data arrived on a stream than was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess;

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more data arrived than was requested on the stream")
    }
}

impl std::error::Error for Excess {}

#[cfg(test)]
mod tests;
