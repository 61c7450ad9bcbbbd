//! The acknowledgement policies by their names: the built-in ones, and those from outside this crate beside them.

use super::contract::AckPolicy;
use super::delayed::Delayed;
use super::immediate::Immediate;
use super::linux::Linux;
use super::tack::Tack;
use crate::profile::AckSettings;
use std::fmt;
use std::sync::Arc;

type Build = fn(&AckSettings) -> Box<dyn AckPolicy>;

/// Every policy by its name.
const TABLE: &[(&str, Build)] = &[
    ("delayed", |settings| Box::new(Delayed::new(settings))),
    ("immediate", |_| Box::new(Immediate)),
    ("linux", |settings| Box::new(Linux::new(settings))),
    ("tack", |settings| Box::new(Tack::new(settings))),
];

/// The names of the built-in policies.
pub const ACK_POLICIES: &[&str] = &names();

const fn names() -> [&'static str; TABLE.len()] {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].0;
        at += 1;
    }
    names
}

/// The built-in policy of that name, or none.
pub(crate) fn built_in(settings: &AckSettings) -> Option<Box<dyn AckPolicy>> {
    maker(settings.policy).map(|build| build(settings))
}

fn maker(name: &str) -> Option<Build> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, build)| *build)
}

/// Makes a policy for each connection.
pub type AckPolicyFactory = Arc<dyn Fn(&AckSettings) -> Box<dyn AckPolicy> + Send + Sync>;

/// The policies that a run may use: the built-in ones, and those added here.
#[derive(Clone, Default)]
pub struct AckPolicies {
    own: Vec<(String, AckPolicyFactory)>,
}

impl AckPolicies {
    /// Adds a policy; false if there is one of this name already.
    #[must_use]
    pub fn add<M>(&mut self, name: &str, make: M) -> bool
    where
        M: Fn(&AckSettings) -> Box<dyn AckPolicy> + Send + Sync + 'static,
    {
        let free = self.get(name).is_none();
        if free {
            self.own.push((name.to_owned(), Arc::new(make)));
        }
        free
    }

    /// The names that were added, in that order.
    pub fn names(&self) -> Vec<&str> {
        self.own.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub fn get(&self, name: &str) -> Option<AckPolicyFactory> {
        let own = self.own.iter().find(|(own, _)| own == name).map(|(_, make)| Arc::clone(make));
        own.or_else(|| maker(name).map(|make| Arc::new(make) as AckPolicyFactory))
    }
}

impl fmt::Debug for AckPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AckPolicies").field("own", &self.names()).finish()
    }
}
