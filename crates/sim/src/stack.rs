//! One end's stack as a scenario describes it, ready for connections.

use crate::error::BuildError;
use lopsided_core::Bytes;
use lopsided_scenario::FlowSpec;
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Controllers, Profile, StackConfig};
use std::fmt;

/// One end's stack, ready for any number of connections.
#[derive(Clone)]
pub(crate) struct Stack {
    pub profile: Profile,
    pub make_controller: ControllerFactory,
    pub mtu: Bytes,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("profile", &self.profile).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

impl Stack {
    pub fn new(flow: &FlowSpec, config: &StackConfig, controllers: &Controllers) -> Result<Stack, BuildError> {
        let Some(profile) = config.to_profile() else {
            return Err(BuildError::UnknownProfile { flow: flow.name.clone(), profile: config.profile.clone() });
        };
        let Some(make_controller) = controllers.get(&config.cc) else {
            return Err(BuildError::UnknownController { flow: flow.name.clone(), cc: config.cc.clone() });
        };
        Ok(Stack { profile, make_controller, mtu: config.mtu() })
    }
}
