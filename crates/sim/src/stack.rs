//! TCP settings of one end of a flow, in the form that connections require.

use crate::error::BuildError;
use lopsided_core::Bytes;
use lopsided_scenario::FlowSpec;
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Profile, RunControllers, StackConfig};
use std::fmt;
use std::sync::Arc;

/// TCP settings of one end of a flow. All connections at this end use them.
#[derive(Clone)]
pub(crate) struct Stack {
    /// The profile, shared by all flows with equal settings.
    pub profile: Arc<Profile>,
    /// Creates the congestion control of a connection.
    pub make_controller: ControllerFactory,
    /// The MTU of the host's link.
    pub mtu: Bytes,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("profile", &self.profile).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

/// Creates the stacks of a scenario's flows.
#[derive(Debug)]
pub(crate) struct Stacks<'a> {
    controllers: &'a RunControllers,
    /// All profiles created so far. Usually even thousands of flows share a few profiles.
    profiles: Vec<Arc<Profile>>,
}

impl<'a> Stacks<'a> {
    pub fn new(controllers: &'a RunControllers) -> Stacks<'a> {
        Stacks { controllers, profiles: Vec::new() }
    }

    pub fn stack(&mut self, flow: &FlowSpec, config: &StackConfig) -> Result<Stack, BuildError> {
        let Some(profile) = config.to_profile() else {
            return Err(BuildError::UnknownProfile { flow: flow.name.clone(), profile: config.profile.clone() });
        };
        let Some(make_controller) = self.controllers.get(&config.cc) else {
            return Err(BuildError::UnknownController { flow: flow.name.clone(), cc: config.cc.clone() });
        };
        Ok(Stack { profile: self.share(profile), make_controller, mtu: config.mtu() })
    }

    fn share(&mut self, profile: Profile) -> Arc<Profile> {
        // Search from the end, because consecutive flows mostly have the same settings.
        if let Some(known) = self.profiles.iter().rev().find(|known| ***known == profile) {
            return known.clone();
        }
        let shared = Arc::new(profile);
        self.profiles.push(shared.clone());
        shared
    }
}
