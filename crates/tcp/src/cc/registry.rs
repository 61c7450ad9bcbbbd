//! The congestion controls by their names: the built-in ones, and those from outside this crate beside them.

use super::controller::{Controller, Setup};
use super::cubic::{self, Cubic};
use super::reno::Reno;
use super::window::{WindowAlgorithm, WindowController};
use super::{
    bbr, bbr3, bic, compound, dctcp, highspeed, htcp, hybla, illinois, ledbat, prague, scalable, vegas, veno, westwood,
    yeah,
};
use std::fmt;
use std::sync::Arc;

type Build = fn(&Setup) -> Box<dyn Controller>;

fn window_controller<L: WindowAlgorithm + 'static>(setup: &Setup, algorithm: L) -> Box<dyn Controller> {
    Box::new(WindowController::new(setup, algorithm))
}

/// Every algorithm by its name, the default first.
const TABLE: &[(&str, Build)] = &[
    ("reno", |setup| window_controller(setup, Reno::named("reno").with_abe(setup.abe))),
    ("newreno", |setup| window_controller(setup, Reno::named("newreno").with_abe(setup.abe))),
    ("cubic", |setup| window_controller(setup, Cubic::new(cubic::LINUX).with_abe(setup.abe))),
    ("cubic-hystart++", |setup| window_controller(setup, Cubic::new(cubic::HYSTART_PLUS_PLUS).with_abe(setup.abe))),
    ("cubic-slow-start", |setup| window_controller(setup, Cubic::new(cubic::SLOW_START).with_abe(setup.abe))),
    ("cubic-0.8", |setup| window_controller(setup, Cubic::new(cubic::OLDER).with_abe(setup.abe))),
    ("bic", |setup| window_controller(setup, bic::Bic::new())),
    ("highspeed", |setup| window_controller(setup, highspeed::HighSpeed::default())),
    ("htcp", |setup| window_controller(setup, htcp::Htcp::new(setup))),
    ("westwood", |setup| window_controller(setup, westwood::Westwood::new(setup))),
    ("vegas", |setup| window_controller(setup, vegas::Vegas::default())),
    ("scalable", |setup| window_controller(setup, scalable::Scalable)),
    ("hybla", |setup| window_controller(setup, hybla::Hybla::default())),
    ("illinois", |setup| window_controller(setup, illinois::Illinois::default())),
    ("veno", |setup| window_controller(setup, veno::Veno::default())),
    ("yeah", |setup| window_controller(setup, yeah::Yeah::default())),
    ("compound", |setup| window_controller(setup, compound::Compound::default())),
    ("ledbat", |setup| window_controller(setup, ledbat::Ledbat::default())),
    ("bbr", |setup| Box::new(bbr::Bbr::new(setup))),
    ("bbr3", |setup| Box::new(bbr3::Bbr3::new(setup))),
    ("dctcp", |setup| window_controller(setup, dctcp::Dctcp::default())),
    ("prague", |setup| Box::new(prague::Prague::new(setup))),
];

/// The names that [`build`] knows.
pub const CONTROLLERS: &[&str] = &names();

const fn names() -> [&'static str; TABLE.len()] {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].0;
        at += 1;
    }
    names
}

/// The controller of that name, set up for a profile; `None` for an unknown name.
pub fn build(name: &str, setup: &Setup) -> Option<Box<dyn Controller>> {
    maker(name).map(|build| build(setup))
}

pub(crate) fn maker(name: &str) -> Option<Build> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, build)| *build)
}

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
