//! The congestion controls by name: the built-in controllers, and controllers that a run adds.

use super::controller::{Controller, Setup};
use super::cubic::{self, Cubic};
use super::reno::Reno;
use super::window::{WindowAlgorithm, WindowController};
use super::*;
use std::fmt;
use std::sync::Arc;

type Build = fn(&Setup) -> Box<dyn Controller>;

fn window_controller<L: WindowAlgorithm + 'static>(setup: &Setup, algorithm: L) -> Box<dyn Controller> {
    Box::new(WindowController::new(setup, algorithm))
}

/// Every algorithm: name, description with source, constructor. The default is the first.
const TABLE: &[(&str, &str, Build)] = &[
    ("reno", "Reno (RFC 5681); ACKs count as in the stack", |setup| {
        window_controller(setup, Reno::named("reno").with_abe(setup.abe))
    }),
    ("newreno", "Reno; the stack performs recovery (RFC 6582, RFC 6675)", |setup| {
        window_controller(setup, Reno::named("newreno").with_abe(setup.abe))
    }),
    ("cubic", "CUBIC as in Linux (RFC 9438; Ha, Rhee and Xu 2008), with HyStart", |setup| {
        window_controller(setup, Cubic::new(cubic::LINUX, setup.tick).with_abe(setup.abe))
    }),
    ("cubic-hystart++", "CUBIC with HyStart++ (RFC 9406)", |setup| {
        window_controller(setup, Cubic::new(cubic::HYSTART_PLUS_PLUS, setup.tick).with_abe(setup.abe))
    }),
    ("cubic-ns3", "CUBIC with the HyStart of ns-3, whose slow start lasts longer", |setup| {
        window_controller(setup, Cubic::new(cubic::NS3, setup.tick).with_abe(setup.abe))
    }),
    ("cubic-slow-start", "CUBIC without HyStart: only a loss ends slow start", |setup| {
        window_controller(setup, Cubic::new(cubic::SLOW_START, setup.tick).with_abe(setup.abe))
    }),
    ("cubic-0.8", "CUBIC as before 2017: a loss reduces the window to 80 %", |setup| {
        window_controller(setup, Cubic::new(cubic::OLDER, setup.tick).with_abe(setup.abe))
    }),
    ("bic", "BIC: a binary search for the window of the last loss (Xu, Harfoush and Rhee 2004)", |setup| {
        window_controller(setup, bic::Bic::new(setup))
    }),
    ("highspeed", "HighSpeed TCP: increase and decrease depend on the window (RFC 3649)", |setup| {
        window_controller(setup, highspeed::HighSpeed::default())
    }),
    ("htcp", "H-TCP: the increase grows with the time since the last loss (Leith and Shorten 2004)", |setup| {
        window_controller(setup, htcp::Htcp::new(setup))
    }),
    (
        "westwood",
        "Westwood+: a loss reduces the window to the bandwidth-delay product (Grieco and Mascolo 2004)",
        |setup| window_controller(setup, westwood::Westwood::new(setup)),
    ),
    ("vegas", "Vegas: keeps two to four segments in the queue (Brakmo and Peterson 1995)", |setup| {
        window_controller(setup, vegas::Vegas::default())
    }),
    ("scalable", "Scalable TCP: grows and shrinks by a fixed share (Kelly 2003)", |setup| {
        window_controller(setup, scalable::Scalable)
    }),
    ("hybla", "Hybla: the growth of a short reference RTT at any RTT (Caini and Firrincieli 2004)", |setup| {
        window_controller(setup, hybla::Hybla::default())
    }),
    ("illinois", "Illinois: the delay sets growth and reduction (Liu, Basar and Srikant 2008)", |setup| {
        window_controller(setup, illinois::Illinois::default())
    }),
    ("veno", "Veno: treats a loss without a queue as random (Fu and Liew 2003)", |setup| {
        window_controller(setup, veno::Veno::default())
    }),
    ("yeah", "YeAH: Scalable while the queue is short, otherwise Reno (Baiocchi and others 2007)", |setup| {
        window_controller(setup, yeah::Yeah::default())
    }),
    ("compound", "Compound TCP: a delay-based window added to Reno's (Tan and others 2006)", |setup| {
        window_controller(setup, compound::Compound::default())
    }),
    ("ledbat", "LEDBAT: yields to other traffic (RFC 6817)", |setup| {
        window_controller(setup, ledbat::Ledbat::default())
    }),
    ("bbr", "BBR version 1: a model of the path sets rate and window (Cardwell and others 2016)", |setup| {
        Box::new(bbr::Bbr::new(setup))
    }),
    ("bbr3", "BBR version 3 (draft-ietf-ccwg-bbr)", |setup| Box::new(bbr3::Bbr3::new(setup))),
    ("dctcp", "DCTCP: reduces the window by the share of marked bytes (RFC 8257)", |setup| {
        window_controller(setup, dctcp::Dctcp::default())
    }),
    ("prague", "TCP Prague, for queues that mark early and often (RFC 9330)", |setup| {
        Box::new(prague::Prague::new(setup))
    }),
    (
        "prague-fallback",
        "TCP Prague that behaves as Reno at classic ECN queues, which it detects by their delay (Briscoe and Ahmed 2019)",
        |setup| Box::new(prague::Prague::new(setup).with_fallback("prague-fallback", classic_queue::References::PAPER)),
    ),
    (
        "prague-fallback-5.15",
        "prague-fallback with the reference values of L4STeam's Linux 5.15, which detects a classic queue everywhere",
        |setup| {
            let references = classic_queue::References::LINUX_5_15;
            Box::new(prague::Prague::new(setup).with_fallback("prague-fallback-5.15", references))
        },
    ),
];

/// The names that [`build`] accepts.
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

/// Returns the description and the source of an algorithm; `None` if no algorithm has this name.
pub fn text(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(known, _, _)| *known == name).map(|(_, text, _)| *text)
}

/// Creates the controller with this name; `None` if no controller has this name.
pub fn build(name: &str, setup: &Setup) -> Option<Box<dyn Controller>> {
    maker(name).map(|build| build(setup))
}

pub(crate) fn maker(name: &str) -> Option<Build> {
    TABLE.iter().find(|(known, _, _)| *known == name).map(|(_, _, build)| *build)
}

/// Creates a controller for a connection. Two calls with equal setups must create equal controllers; otherwise runs
/// are not repeatable.
pub type ControllerFactory = Arc<dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync>;

/// The congestion controls that a run may use: the built-in controllers, and controllers that its caller adds.
///
/// Added controllers belong to the run, not to the process. A factory may therefore own state of the run, and two
/// runs may use different controllers with the same name.
///
/// # Examples
///
/// ```
/// use lopsided_tcp::RunControllers;
/// use lopsided_tcp::cc::{Reno, WindowController};
///
/// let mut controllers = RunControllers::default();
/// controllers.add("my-reno", |setup| Box::new(WindowController::new(setup, Reno::named("my-reno")))).unwrap();
/// assert!(controllers.get("my-reno").is_some() && controllers.get("cubic").is_some());
/// assert!(controllers.add("cubic", |setup| Box::new(WindowController::new(setup, Reno::named("cubic")))).is_err());
/// ```
#[derive(Clone, Default)]
pub struct RunControllers {
    own: Vec<(String, ControllerFactory)>,
}

impl RunControllers {
    /// Adds a controller under a new name.
    ///
    /// # Errors
    ///
    /// Returns [`NameTaken`] if a built-in controller or a controller of this run already has this name.
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

    /// Returns the names of the added controllers, in the order in which they were added.
    pub fn names(&self) -> Vec<&str> {
        self.own.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the factory of a built-in or added controller; `None` if no controller has this name.
    pub fn get(&self, name: &str) -> Option<ControllerFactory> {
        let own = self.own.iter().find(|(own, _)| own == name).map(|(_, make)| Arc::clone(make));
        own.or_else(|| maker(name).map(|make| Arc::new(make) as ControllerFactory))
    }
}

impl fmt::Debug for RunControllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunControllers").field("own", &self.names()).finish()
    }
}

/// Error: a congestion control with this name already exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the congestion control {:?} already exists", self.name)
    }
}

impl std::error::Error for NameTaken {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_algorithm_has_its_own_description() {
        let texts: BTreeSet<&str> = CONTROLLERS.iter().filter_map(|name| text(name)).collect();
        assert_eq!(texts.len(), CONTROLLERS.len());
        assert_eq!(text("none"), None);
    }

    #[test]
    fn a_run_has_the_built_in_controls_and_its_own_under_new_names() {
        let own = |setup: &Setup| window_controller(setup, Reno::named("own"));
        let mut controllers = RunControllers::default();
        assert_eq!(controllers.add("reno", own), Err(NameTaken { name: "reno".to_owned() }));
        assert_eq!(controllers.add("mine", own), Ok(()));
        assert_eq!(controllers.add("yours", |setup| window_controller(setup, Reno::named("other"))), Ok(()));
        let error = controllers.add("mine", own).expect_err("the name is taken");
        assert_eq!(error.to_string(), "the congestion control \"mine\" already exists");
        assert_eq!(controllers.names(), ["mine", "yours"]);
        let setup = crate::cc::harness::setup();
        let built = |name: &str| controllers.get(name).map(|make| make(&setup).name().to_owned());
        assert_eq!(["mine", "yours", "vegas"].map(built), ["own", "other", "vegas"].map(|name| Some(name.to_owned())));
        assert!(controllers.get("none").is_none());
        assert!(format!("{controllers:?}").contains("yours"));
    }
}
