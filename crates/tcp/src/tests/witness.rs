//! A congestion control that behaves like Reno and records what the connection tells it.

use crate::cc::{Acked, CcState, Controller, Feedback, Idle, Lost, PathState, Setup, Signal, build};
use crate::{ByteCounting, Profile};
use lopsided_core::{BitRate, Bytes, Time};
use std::sync::{Arc, Mutex};

/// A call of the controller. [`Controller`] describes the calls.
#[derive(Debug, Clone)]
pub enum Told {
    Arrival(Acked),
    Ack(Acked, PathState),
    Lost(Lost),
    Congestion(Signal, PathState),
    Recovered,
    Undo,
    Idle(Idle),
}

/// The calls so far, with their times.
#[derive(Debug, Clone, Default)]
pub struct Record(Arc<Mutex<Vec<(Time, Told)>>>);

impl Record {
    pub fn take(&self) -> Vec<(Time, Told)> {
        std::mem::take(&mut *self.0.lock().expect("no test panicked with it"))
    }

    /// The ACKs since the last call, with the path state after each.
    #[track_caller]
    pub fn acks(&self) -> Vec<(Acked, PathState)> {
        self.take()
            .into_iter()
            .filter_map(|(_, told)| if let Told::Ack(ack, path) = told { Some((ack, path)) } else { None })
            .collect()
    }

    /// The only ACK since the last call.
    #[track_caller]
    pub fn ack(&self) -> (Acked, PathState) {
        let acks = self.acks();
        assert_eq!(acks.len(), 1, "{acks:?}");
        acks[0]
    }
}

#[derive(Debug)]
pub struct Witness {
    reno: Box<dyn Controller>,
    record: Record,
    pacing_rate: Option<BitRate>,
}

impl Witness {
    /// Creates the controller for segments of `mss` bytes.
    pub fn with_record(profile: &Profile, mss: u64) -> (Record, Box<dyn Controller>) {
        let record = Record::default();
        let setup = Setup { counting: ByteCounting::Delivered, ..Setup::new(profile, Bytes::new(mss), 0) };
        let reno = build("reno", &setup).expect("built in");
        (record.clone(), Box::new(Witness { reno, record, pacing_rate: None }))
    }

    fn note(&self, now: Time, told: Told) {
        self.record.0.lock().expect("no test panicked with it").push((now, told));
    }
}

impl Controller for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn on_feedback_agreed(&mut self, feedback: Feedback) {
        self.reno.on_feedback_agreed(feedback);
    }

    fn on_established(&mut self, now: Time, path: &PathState) {
        self.reno.on_established(now, path);
    }

    fn on_idle(&mut self, now: Time, idle: Idle, path: &PathState) {
        self.note(now, Told::Idle(idle));
        self.reno.on_idle(now, idle, path);
    }

    fn on_arrival(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.note(now, Told::Arrival(*ack));
        self.reno.on_arrival(now, ack, path);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.note(now, Told::Ack(*ack, *path));
        self.reno.on_ack(now, ack, path);
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState) {
        self.note(now, Told::Congestion(signal, *path));
        self.reno.on_congestion(now, signal, path);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost, _path: &PathState) {
        self.note(now, Told::Lost(*lost));
    }

    fn needs_losses(&self) -> bool {
        true
    }

    fn on_recovered(&mut self, now: Time, path: &PathState) {
        self.note(now, Told::Recovered);
        self.reno.on_recovered(now, path);
    }

    fn on_undo(&mut self, now: Time) {
        self.note(now, Told::Undo);
        self.reno.on_undo(now);
    }

    fn limit_window(&mut self, now: Time, most: Bytes) {
        self.reno.limit_window(now, most);
    }

    fn adopt(&mut self, now: Time, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.reno.adopt(now, cwnd, ssthresh);
    }

    fn on_segment_size(&mut self, now: Time, mss: Bytes, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.reno.on_segment_size(now, mss, cwnd, ssthresh);
    }

    fn state(&self) -> CcState {
        self.reno.state()
    }

    fn cwnd(&self) -> Bytes {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.reno.ssthresh()
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }
}
