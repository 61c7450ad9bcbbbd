//! The acknowledgement policies by their names: the built-in ones, and those from outside this crate beside them.

use super::acc::AckCongestionControl;
use super::ace::WindowEstimate;
use super::contract::AckPolicy;
use super::delayed::Delayed;
use super::growing::Growing;
use super::immediate::Immediate;
use super::linux::Linux;
use super::rfc5690::AckRatio;
use super::tack::Tack;
use super::tarr::AckRateRequest;
use crate::profile::AckSettings;
use lopsided_spec::{NameTaken, Named, Registry};

/// Makes a policy for each connection.
pub type AckPolicyFactory = fn(&AckSettings) -> Box<dyn AckPolicy>;

/// A policy's name, and what makes it. A new one is a line here.
const BUILT_IN: &[fn() -> Entry] = &[
    || Entry { name: "delayed", make: |settings| Box::new(Delayed::new(settings)) },
    || Entry { name: "immediate", make: |_| Box::new(Immediate) },
    || Entry { name: "linux", make: |settings| Box::new(Linux::new(settings)) },
    || Entry { name: "acc", make: |settings| Box::new(AckCongestionControl::by_marks(settings)) },
    || Entry { name: "acc_peerwin", make: |settings| Box::new(AckCongestionControl::by_window(settings)) },
    || Entry { name: "rfc5690", make: |settings| Box::new(AckRatio::new(settings)) },
    || Entry { name: "tarr", make: |settings| Box::new(AckRateRequest::new(settings)) },
    || Entry { name: "ace", make: |settings| Box::new(WindowEstimate::new(settings)) },
    || Entry { name: "growing", make: |settings| Box::new(Growing::new(settings)) },
    || Entry { name: "tack", make: |settings| Box::new(Tack::new(settings)) },
];

static POLICIES: Registry<Entry> = Registry::new(BUILT_IN);

#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    make: AckPolicyFactory,
}

impl Named for Entry {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// The names that `ack_policy` may have.
pub fn ack_policies() -> Vec<&'static str> {
    POLICIES.names()
}

/// Makes a policy of one's own known to all scenarios of this process.
///
/// # Errors
/// If a policy of this crate has the name. One that was registered before under the name is replaced.
pub fn register_ack_policy(name: &'static str, make: AckPolicyFactory) -> Result<(), NameTaken> {
    POLICIES.register(Entry { name, make })
}

/// The policy that the settings name, or none.
pub(crate) fn build(settings: &AckSettings) -> Option<Box<dyn AckPolicy>> {
    POLICIES.find(settings.policy).map(|found| (found.make)(settings))
}
