//! The acknowledgement policies by name: the built-in policies and the policies that other crates register.

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

/// Creates the acknowledgement policy of a connection from the settings of the profile.
pub type AckPolicyFactory = fn(&AckSettings) -> Box<dyn AckPolicy>;

/// The built-in policies. To add a policy, add a line here.
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

/// Returns the names that the key `ack_policy` accepts: built-in and registered policies.
pub fn ack_policies() -> Vec<&'static str> {
    POLICIES.names()
}

/// Registers your own policy for all scenarios of this process. Replaces an earlier registered policy of the same name.
///
/// # Errors
///
/// Returns [`NameTaken`] if a built-in policy already has this name.
pub fn register_ack_policy(name: &'static str, make: AckPolicyFactory) -> Result<(), NameTaken> {
    POLICIES.register(Entry { name, make })
}

/// Creates the policy that the settings name; `None` if no policy has that name.
pub(crate) fn build(settings: &AckSettings) -> Option<Box<dyn AckPolicy>> {
    POLICIES.find(settings.policy).map(|found| (found.make)(settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::Duration;

    #[test]
    fn a_policy_has_the_name_by_which_it_is_found() {
        for entry in BUILT_IN {
            let settings = AckSettings { policy: entry().name, ..AckSettings::delayed(Duration::from_millis(40)) };
            assert_eq!(build(&settings).expect("it is built in").name(), settings.policy);
        }
    }
}
