//! What an application is to scenarios: settings with keys of their own, and the two ends that are built from them; and
//! those that one run brings.

use crate::{AppPair, Application, Side};
use lopsided_core::Time;
use lopsided_spec::{AnyPart, Chosen, Key, Part, key};
use std::fmt;
use std::sync::Arc;

/// What a flow's two ends do: settings, declared as a [`Part`], and the two applications that are built from them.
pub trait AppSettings: Part {
    fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError>;
}

pub(crate) type BuildApp = fn(&dyn AnyPart, &FlowContext, &RunApplications) -> Result<AppPair, AppError>;

pub(crate) fn build_as<A: AppSettings>(
    part: &dyn AnyPart,
    flow: &FlowContext,
    own: &RunApplications,
) -> Result<AppPair, AppError> {
    part.downcast::<A>().expect("an application is built by its own settings").build(flow, own)
}

/// What a flow's two ends do, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct AppConfig(pub(crate) Chosen<BuildApp>);

impl AppConfig {
    pub fn new<A: AppSettings>(config: A) -> AppConfig {
        AppConfig(Chosen::new(config, build_as::<A>))
    }

    /// The settings, if the application is of this kind.
    pub fn get<A: AppSettings>(&self) -> Option<&A> {
        self.0.part.downcast()
    }

    /// The settings, of whatever kind.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// The two applications of one flow.
    ///
    /// # Errors
    /// If the application cannot be made of its settings, or is one of the user's own that `own` lacks.
    pub fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
        (self.0.build)(&*self.0.part, flow, own)
    }

    /// Which end waits for the other to begin; the receiver of data where a user's own application decides.
    pub fn listener(&self, opening: Opening) -> Side {
        let nowhere = FlowContext { name: String::new(), start: Time::ZERO, stop: Time::ZERO, opening };
        self.build(&nowhere, &RunApplications::default()).map_or(Side::To, |pair| pair.listener)
    }
}

impl<A: AppSettings> From<A> for AppConfig {
    fn from(config: A) -> AppConfig {
        AppConfig::new(config)
    }
}

/// An application of the run's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomConfig {
    pub name: String,
}

impl Part for CustomConfig {
    const NAME: &'static str = "custom";
    const TEXT: &'static str = "An application that is given to the run.";
    const KEYS: &'static [Key<CustomConfig>] =
        &[key("name", |app: &mut Self| &mut app.name, "The name under which it is given.").required("\"mine\"")];
}

impl AppSettings for CustomConfig {
    fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
        let factory = own.get(&self.name).ok_or_else(|| AppError::Unknown(self.name.clone()))?;
        Ok(factory(flow))
    }
}

/// What an application is told of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowContext {
    pub name: String,
    pub start: Time,
    /// When the flow ends; at the latest the end of the run.
    pub stop: Time,
    /// What the flow's transport expects of the two ends.
    pub opening: Opening,
}

/// What a transport expects of the two ends of a one-way transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// The sender of data opens the connection and sends (the simulator's TCP flows).
    #[default]
    Sender,
    /// The receiver of data opens the connection and asks for the data with a short request, as QUIC clients do. Web pages
    /// are loaded over streams of one connection.
    Receiver,
}

/// Why there is no application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppError {
    /// No application has this name.
    Unknown(String),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppError::Unknown(name) => write!(f, "there is no application {name:?}: none was given under this name"),
        }
    }
}

impl std::error::Error for AppError {}

/// The applications at the sender and the receiver of data, and which of them listens.
pub(crate) fn pair(
    from: impl Application + 'static,
    to: impl Application + 'static,
    listener: Side,
    datagrams: bool,
) -> AppPair {
    AppPair { from: Box::new(from), to: Box::new(to), listener, datagrams }
}

/// Makes the two applications of a flow.
pub type AppFactory = Arc<dyn Fn(&FlowContext) -> AppPair + Send + Sync>;

/// Applications that a run's caller brings, by name: closures that may hold what is that run's own. A kind that every
/// scenario of the process knows is [`crate::register`]ed.
#[derive(Clone, Default)]
pub struct RunApplications {
    named: Vec<(String, AppFactory)>,
}

impl RunApplications {
    /// Adds one, or replaces that of the same name.
    pub fn add(&mut self, name: &str, factory: AppFactory) {
        self.named.retain(|(known, _)| known != name);
        self.named.push((name.to_owned(), factory));
    }

    pub fn get(&self, name: &str) -> Option<&AppFactory> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, factory)| factory)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for RunApplications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
