//! Congestion controls from outside this crate, under names of their own beside the built-in ones.

use super::{Controller, Setup, maker};
use std::fmt;
use std::sync::Arc;

/// Makes a controller for each connection. The same `Setup` must give the same controller, or runs cannot be repeated.
pub type ControllerFactory = Arc<dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync>;

/// The congestion controls that a run may use: the built-in ones, and those added here.
#[derive(Clone, Default)]
pub struct Controllers {
    own: Vec<(String, ControllerFactory)>,
}

impl Controllers {
    pub fn add<M>(&mut self, name: &str, make: M) -> Result<(), NameTaken>
    where
        M: Fn(&Setup) -> Box<dyn Controller> + Send + Sync + 'static,
    {
        if self.get(name).is_some() {
            return Err(NameTaken { name: name.to_owned() });
        }
        self.own.push((name.to_owned(), Arc::new(make)));
        Ok(())
    }

    /// The names that were added, in that order.
    pub fn names(&self) -> Vec<&str> {
        self.own.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub fn get(&self, name: &str) -> Option<ControllerFactory> {
        let own = self.own.iter().find(|(own, _)| own == name).map(|(_, make)| Arc::clone(make));
        own.or_else(|| maker(name).map(|make| Arc::new(make) as ControllerFactory))
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controllers").field("own", &self.names()).finish()
    }
}

/// There is a congestion control of this name already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken {
    pub name: String,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a congestion control {:?} already", self.name)
    }
}

impl std::error::Error for NameTaken {}
