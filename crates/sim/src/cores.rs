//! The number of threads that a run used, with the reason.
//!
//! Hosts advance independently within short intervals of virtual time. Several threads are used if an interval contains
//! enough events (see `net/crews.rs`). The result does not depend on the number of threads.

use crate::host::Host;
use lopsided_core::EventMask;
use lopsided_net::Network;
use lopsided_scenario::Scenario;

/// The number of threads that a run used, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresUsed {
    /// Number of threads; 1 if the run used only one.
    pub cores: usize,
    /// Share of the events that were handled on several threads, from 0 to 1.
    pub share: f64,
    /// Explanation in words: the time by which hosts may run ahead of each other, or the reason why the run used one
    /// thread.
    pub why: String,
}

impl CoresUsed {
    /// Returns the number of threads that a run of this scenario used, with the reason.
    pub(crate) fn of(scenario: &Scenario, network: &Network<Host>) -> CoresUsed {
        let (cores, events) = network.threads_used();
        let share = events as f64 / network.events().max(1) as f64;
        let why = match network.lookahead() {
            Some(ahead) if events > 0 => {
                format!("hosts run ahead of each other by at least {} ms", ahead.as_millis_f64())
            }
            Some(_) => "too few events happen at the same time to run on several threads".to_owned(),
            None if scenario.record.on_change => {
                "samples at every change require one global order of events".to_owned()
            }
            None if network.accounting().mask() != EventMask::NONE => {
                "captures and recorded events require one global order of events".to_owned()
            }
            None => "not every link has a drop-tail queue and a delay, or hosts share code of your own".to_owned(),
        };
        CoresUsed { cores, share, why }
    }
}
