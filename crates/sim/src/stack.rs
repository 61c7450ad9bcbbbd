//! TCP settings of one end of a flow, in the form that connections require.

use crate::error::BuildError;
use lopsided_core::Bytes;
use lopsided_scenario::FlowSpec;
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Profile, RunControllers, StackConfig};
use std::fmt;
use std::sync::Arc;

/// TCP settings of one end of a flow. All connections at this end use them, and flows with equal settings share them.
pub(crate) struct Stack {
    /// The profile.
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
    /// All stacks created so far. Usually even thousands of flows share a few stacks.
    known: Vec<(&'a StackConfig, Arc<Stack>)>,
}

impl<'a> Stacks<'a> {
    pub fn new(controllers: &'a RunControllers) -> Stacks<'a> {
        Stacks { controllers, known: Vec::new() }
    }

    pub fn stack(&mut self, flow: &FlowSpec, config: &'a StackConfig) -> Result<Arc<Stack>, BuildError> {
        // Search from the end, because consecutive flows mostly have the same settings.
        if let Some((_, stack)) = self.known.iter().rev().find(|(known, _)| *known == config) {
            return Ok(Arc::clone(stack));
        }
        let Some(profile) = config.to_profile() else {
            return Err(BuildError::UnknownProfile { flow: flow.name.clone(), profile: config.profile.clone() });
        };
        let Some(make_controller) = self.controllers.get(&config.cc) else {
            return Err(BuildError::UnknownController { flow: flow.name.clone(), cc: config.cc.clone() });
        };
        let stack = Arc::new(Stack { profile: Arc::new(profile), make_controller, mtu: config.mtu() });
        self.known.push((config, Arc::clone(&stack)));
        Ok(stack)
    }
}
