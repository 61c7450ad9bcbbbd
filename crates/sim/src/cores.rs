//! The number of cores that a run used, and why.
//!
//! Hosts that run ahead of each other in a window do so on several threads if the window is expected to have enough
//! events: see `net/crews.rs`. The result does not depend on the number of threads.

use crate::host::Host;
use lopsided_core::EventMask;
use lopsided_net::Network;
use lopsided_scenario::Scenario;

/// The number of cores that a run used.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresUsed {
    /// Number of threads; 1 if the run was not divided.
    pub cores: usize,
    /// Share of the events that were handled on several threads, from 0 to 1.
    pub share: f64,
    /// How far hosts run ahead of each other, or why they do not, in words.
    pub why: String,
}

impl CoresUsed {
    /// The number of cores that a run of this scenario on this network used.
    pub(crate) fn of(scenario: &Scenario, network: &Network<Host>) -> CoresUsed {
        let (cores, events) = network.threads_used();
        let share = events as f64 / network.events().max(1) as f64;
        let why = match network.lookahead() {
            Some(ahead) if events > 0 => {
                format!("hosts run ahead of each other by {} ms and more", ahead.as_millis_f64())
            }
            Some(_) => "too little happens at once to pay for several".to_owned(),
            None if scenario.record.on_change => "samples at every change need one order of all events".to_owned(),
            None if network.accounting().mask() != EventMask::NONE => {
                "captures and recorded events need one order of all events".to_owned()
            }
            None => "not every link has a drop-tail queue and a delay, or hosts share code of your own".to_owned(),
        };
        CoresUsed { cores, share, why }
    }
}
