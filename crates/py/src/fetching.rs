//! The controller of a fetch over several connections, for a real client. The simulator's application uses the same
//! controller.

use lopsided_core::{Bytes, Duration, Time};
use lopsided_rdra::{Detection, Loss, Mode, Ranges, Settings, Step, Transfer as Inner, What, WindowRule};
use lopsided_spec::Choice;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Decides which range to request next on each stream, and stores the missing ranges. Times are in nanoseconds of a
/// monotonic clock.
#[pyclass(module = "lopsided._native")]
#[derive(Debug)]
pub struct Transfer {
    /// Protected by a mutex, because several Python threads may use the object.
    inner: Mutex<Inner>,
}

impl Transfer {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Transfer {
    #[new]
    #[pyo3(signature = (missing, *, mode, streams, window, detection, min_chunk, stall_timeout_ns))]
    fn new(
        missing: Vec<(u64, u64)>,
        mode: &str,
        streams: u32,
        window: &str,
        detection: &str,
        min_chunk: u64,
        stall_timeout_ns: u64,
    ) -> PyResult<Transfer> {
        let mut ranges = Ranges::default();
        missing.into_iter().for_each(|(start, end)| ranges.insert(start..end));
        let settings = Settings {
            mode: word::<Mode>("mode", mode)?,
            streams,
            window: word::<WindowRule>("window", window)?,
            detection: word::<Detection>("detection", detection)?,
            min_chunk: Bytes::new(min_chunk),
            stall_timeout: Duration::from_nanos(stall_timeout_ns),
        };
        Ok(Transfer { inner: Mutex::new(Inner::new(settings, ranges)) })
    }

    #[getter]
    fn streams(&self) -> usize {
        self.inner().streams()
    }

    fn request(&self, now_ns: u64, stream: usize) -> Option<(u64, u64)> {
        self.inner().request(Time::from_nanos(now_ns), stream).map(|range| (range.start, range.end))
    }

    /// Reports that bytes arrived on a stream. `late_ns` is the time between their arrival and this call.
    #[pyo3(signature = (now_ns, stream, octets, late_ns=0))]
    fn received(&self, now_ns: u64, stream: usize, octets: u64, late_ns: u64) -> PyResult<(u64, u64)> {
        let came = Time::from_nanos(now_ns.saturating_sub(late_ns));
        let place = self.inner().received_late(Time::from_nanos(now_ns), came, stream, octets);
        place.map(|place| (place.start, place.end)).map_err(|excess| PyValueError::new_err(excess.to_string()))
    }

    fn observe(&self, now_ns: u64, stream: usize, out_of_order: u64, mss: u64) {
        self.inner().observe(Time::from_nanos(now_ns), stream, out_of_order, Bytes::new(mss));
    }

    fn failed(&self, now_ns: u64, stream: usize) {
        self.inner().failed(Time::from_nanos(now_ns), stream);
    }

    fn record(&self) {
        self.inner().record();
    }

    /// Returns each step as a row of the table `fetches`, with times in nanoseconds.
    fn take_steps(&self) -> Vec<PyStep> {
        self.inner().take_steps().into_iter().map(plain).collect()
    }

    fn stalled(&self, now_ns: u64) -> Vec<usize> {
        self.inner().stalled(Time::from_nanos(now_ns))
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.inner().is_complete()
    }

    #[getter]
    fn left(&self) -> u64 {
        self.inner().left()
    }

    #[getter]
    fn requested(&self) -> u64 {
        self.inner().requested()
    }

    #[getter]
    fn first_missing(&self) -> Option<u64> {
        self.inner().first_missing()
    }

    #[getter]
    fn window(&self) -> Option<u64> {
        self.inner().window().map(Bytes::get)
    }

    #[getter]
    fn reductions(&self) -> u64 {
        self.inner().reductions()
    }

    #[getter]
    fn rtt_ns(&self) -> Option<u64> {
        self.inner().rtt().map(Duration::as_nanos)
    }
}

/// A step: time, stream, kind, offset, length, delay, out-of-order segments, MSS, cause of a loss, window, bytes
/// requested.
type PyStep = (u64, usize, &'static str, u64, u64, u64, u64, u64, &'static str, Option<u64>, u64);

fn plain(step: Step) -> PyStep {
    let (first, octets, late, out_of_order, mss) = match step.what {
        What::Asked { first, octets } => (first, octets, 0, 0, 0),
        What::Received { first, octets, late } => (first, octets, late.as_nanos(), 0, 0),
        What::Observed { out_of_order, mss } => (0, 0, 0, out_of_order, mss.get()),
        What::Failed => (0, 0, 0, 0, 0),
    };
    let loss = step.loss.map_or("", Loss::name);
    let window = step.window.map(Bytes::get);
    let (at, what) = (step.at.as_nanos(), step.what.name());
    (at, step.stream, what, first, octets, late, out_of_order, mss, loss, window, step.requested)
}

fn word<C: Choice>(what: &str, text: &str) -> PyResult<C> {
    let found = C::WORDS.iter().find(|(word, _)| *word == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let known: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        PyValueError::new_err(format!("{what}: there is no `{text}`; there are {}", known.join(", ")))
    })
}
