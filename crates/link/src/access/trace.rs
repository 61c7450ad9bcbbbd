//! A line driven by a trace of opportunities to send, in Mahimahi's format (Netravali et al., USENIX ATC 2015, section
//! 3; manual page of `mm-link`). A trace is a text file with one integer per line: a time in milliseconds at which the
//! line may deliver 1,500 bytes. Repeated numbers are separate opportunities. The trace restarts at the time on its
//! last line.
//!
//! Opportunities are counted in bytes: small packets share an opportunity, and a large packet continues in the next
//! opportunity. An opportunity is lost if the queue is empty.
//!
//! **Deviation.** A packet leaves the queue at its first opportunity, and arrives after its last opportunity.

use super::AccessKind;
use crate::shaper::Shaper;
use lopsided_core::{BitRate, Bytes, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Maximum number of opportunities in a trace: 33 hours at 2 Mbit/s, or 4 minutes at 1 Gbit/s.
const MOST: usize = 20_000_000;
/// Nanoseconds in a millisecond.
const NANOS: u64 = 1_000_000;

/// Settings of a line that is driven by a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceConfig {
    /// Path of the trace, relative to the scenario's folder.
    pub file: Option<String>,
    /// Times of the opportunities in milliseconds, ascending. Read from `file` if the scenario does not list them.
    pub opportunities: Vec<u64>,
    /// Bytes on the wire that one opportunity carries.
    pub size: Bytes,
}

impl Default for TraceConfig {
    fn default() -> TraceConfig {
        TraceConfig { file: None, opportunities: Vec::new(), size: Bytes::new(1500) }
    }
}

impl Part for TraceConfig {
    const NAME: &'static str = "trace";
    const TEXT: &'static str = "Sends at the times in a recorded trace in Mahimahi's format.";
    const KEYS: &'static [Key<TraceConfig>] = &[
        key(
            "file",
            |trace: &mut Self| &mut trace.file,
            "Path, relative to the scenario's folder, of a file with one whole number of milliseconds in each \
             line.",
        )
        .default_text(""),
        key(
            "opportunities",
            |trace: &mut Self| &mut trace.opportunities,
            "The times in the file, in milliseconds. A resolved scenario contains these times and does not need the file.",
        )
        .default_text("those of the file"),
        key("size", |trace: &mut Self| &mut trace.size, "Octets on the wire that each opportunity carries."),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        // A resolved scenario lists the opportunities, so it runs without the trace file.
        if given.has("opportunities") {
            return Ok(());
        }
        let Some(file) = &self.file else {
            return Err(Fault::new("file", "a trace needs a file").help("add file = \"verizon.down\""));
        };
        let path = std::path::Path::new(given.folder).join(file);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Fault::new("file", format!("cannot read the trace {}: {error}", path.display())))?;
        self.opportunities = parse_trace(&text).map_err(|what| Fault::new("file", format!("{file}: {what}")))?;
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        check(&self.opportunities).map_err(|what| Fault::new("opportunities", what))?;
        if !(1..=1 << 20).contains(&self.size.get()) {
            return Err(Fault::new("size", "an opportunity must have from 1 B to 1 MiB"));
        }
        Ok(())
    }
}

/// Parses the times of a trace, in milliseconds.
///
/// # Errors
///
/// Returns the problem and its line if a line is not a number or a time decreases. Also returns an error if the trace
/// is empty, lasts 0 ms or is too long.
///
/// # Examples
///
/// ```
/// use lopsided_link::parse_trace;
///
/// // 2 opportunities at 0 ms, 1 at 5 ms; the trace restarts after 5 ms.
/// assert_eq!(parse_trace("0\n0\n5\n"), Ok(vec![0, 0, 5]));
/// assert!(parse_trace("5\n0\n").unwrap_err().starts_with("line 2:"));
/// ```
pub fn parse_trace(text: &str) -> Result<Vec<u64>, String> {
    let mut times = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        let short: String = line.chars().take(40).collect();
        let time = line
            .parse::<u64>()
            .map_err(|_| format!("line {number}: {short:?} is not a whole number of milliseconds"))?;
        if let Some(before) = times.last().filter(|before| **before > time) {
            return Err(format!("line {number}: {time} comes after {before}, but times must not decrease"));
        }
        if times.len() == MOST {
            return Err(format!("line {number}: a trace has at most {MOST} opportunities"));
        }
        times.push(time);
    }
    check(&times)?;
    Ok(times)
}

fn check(times: &[u64]) -> Result<(), String> {
    match times.last() {
        None => Err("the trace has no opportunities".to_owned()),
        Some(0) => Err("the trace has no length: its last time is 0".to_owned()),
        // 1,000 years in milliseconds. A longer trace could overflow [`Time`], which counts nanoseconds.
        Some(last) if *last > 31_536_000_000_000 => Err("the trace lasts longer than 1,000 years".to_owned()),
        Some(_) if times.windows(2).any(|pair| pair[0] > pair[1]) => Err("times must not decrease".to_owned()),
        Some(_) => Ok(()),
    }
}

impl AccessKind for TraceConfig {
    fn build(&self, _rate: Option<BitRate>, _rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
        self.check()?;
        Ok(Box::new(Opportunities::new(self.opportunities.clone(), self.size)))
    }
}

/// A line that sends at the opportunities of a trace, which repeats forever.
#[derive(Debug)]
pub struct Opportunities {
    /// Times in milliseconds, ascending. The trace restarts at the last time.
    times: Vec<u64>,
    /// Bytes on the wire that one opportunity carries.
    size: u64,
    /// Number of the next opportunity, counted from 0 over all repetitions of the trace.
    next: u64,
    /// Number of bytes of the next opportunity that are still unused; never 0.
    left: u64,
}

impl Opportunities {
    fn new(times: Vec<u64>, size: Bytes) -> Opportunities {
        Opportunities { times, size: size.get(), next: 0, left: size.get() }
    }

    /// Returns the duration of one repetition of the trace, in milliseconds.
    fn length(&self) -> u64 {
        self.times.last().copied().expect("a trace has opportunities")
    }

    /// Returns the time of the next opportunity.
    fn time(&self) -> Time {
        // Opportunity `next` is in repetition `next / count` of the trace.
        let count = self.times.len() as u64;
        let ms = self.next / count * self.length() + self.times[(self.next % count) as usize];
        Time::from_nanos(ms.saturating_mul(NANOS))
    }

    fn step(&mut self) {
        self.next += 1;
        self.left = self.size;
    }
}

impl Shaper for Opportunities {
    fn needs_size(&self) -> bool {
        false
    }

    fn advance_idle(&mut self, now: Time) {
        if self.time() >= now {
            return;
        }
        // Find the repetition of the trace that contains `now`. A repetition includes the instant at which it ends.
        let ms = now.as_nanos().div_ceil(NANOS);
        let lap = (ms - 1) / self.length();
        let within = self.times.partition_point(|time| lap * self.length() + time < ms);
        // Skip the opportunities before `now`, because the queue was empty then. The rest of a partly used opportunity
        // is also lost.
        self.next = lap * self.times.len() as u64 + within as u64;
        self.left = self.size;
    }

    fn advance_backlogged(&mut self, now: Time, _wire: Bytes) {
        self.advance_idle(now);
    }

    fn ready_at(&mut self, _wire: Bytes) -> Time {
        self.time()
    }

    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        self.advance_idle(start);
        let mut unsent = wire.get();
        loop {
            let sent = unsent.min(self.left);
            unsent -= sent;
            self.left -= sent;
            let at = self.time();
            // The next packet may use the rest of this opportunity.
            if self.left == 0 {
                self.step();
            }
            if unsent == 0 {
                return at;
            }
        }
    }

    fn rate(&self) -> Option<BitRate> {
        let bits = u128::from(self.size) * 8 * self.times.len() as u128 * 1000;
        Some(BitRate::from_bps((bits / u128::from(self.length())) as u64))
    }
}
