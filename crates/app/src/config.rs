//! The settings of applications, the applications that are built from them, and custom applications that are registered
//! for a single run.

use crate::{AppPair, Application, Side};
use lopsided_core::Time;
use lopsided_spec::{AnyPart, Chosen, Key, Part, key};
use std::fmt;
use std::sync::Arc;

/// Settings of an application, declared as a [`Part`]. The applications at the two ends of a flow are built from these
/// settings.
///
/// # Examples
///
/// An upload of 1 MB, with the settings of a built-in application:
///
/// ```
/// use lopsided_app::{AppConfig, AppError, AppPair, AppSettings, FlowContext, RunApplications, TransferConfig};
/// use lopsided_core::Bytes;
/// use lopsided_spec::{Key, Part};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Megabyte;
///
/// impl Part for Megabyte {
///     const NAME: &'static str = "megabyte";
///     const TEXT: &'static str = "One transfer of 1 MB.";
///     const KEYS: &'static [Key<Megabyte>] = &[];
/// }
///
/// impl AppSettings for Megabyte {
///     fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
///         TransferConfig { size: Bytes::new(1_000_000), ..TransferConfig::default() }.build(flow, own)
///     }
/// }
///
/// assert!(AppConfig::new(Megabyte).get::<Megabyte>().is_some());
/// ```
pub trait AppSettings: Part {
    /// Builds the two applications of one flow.
    ///
    /// # Errors
    /// Returns an error if the settings name an application that `own` does not have.
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

/// The application of a flow as plain data: settings of any kind, and the function that builds the application.
///
/// # Examples
///
/// ```
/// use lopsided_app::{AppConfig, FtpConfig, Opening, Side, TransferConfig};
/// use lopsided_core::Bytes;
///
/// let app = AppConfig::new(TransferConfig { size: Bytes::new(100_000), ..TransferConfig::default() });
/// assert!(app.get::<TransferConfig>().is_some() && app.get::<FtpConfig>().is_none());
/// // TCP's sender opens the connection, so the receiver listens.
/// assert_eq!(app.listener(Opening::Sender), Side::To);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AppConfig(pub(crate) Chosen<BuildApp>);

impl AppConfig {
    /// Creates an `AppConfig` from settings of any kind.
    pub fn new<A: AppSettings>(config: A) -> AppConfig {
        AppConfig(Chosen::new(config, build_as::<A>))
    }

    /// Returns the settings; `None` if the application is of another kind.
    pub fn get<A: AppSettings>(&self) -> Option<&A> {
        self.0.part.downcast()
    }

    /// Returns the settings as a trait object.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// Builds the two applications of one flow.
    ///
    /// # Errors
    /// Returns an error if the settings name an application that `own` does not have.
    pub fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
        (self.0.build)(&*self.0.part, flow, own)
    }

    /// Returns the side that listens for the connection. For a custom application, returns [`Side::To`].
    pub fn listener(&self, opening: Opening) -> Side {
        // Build the pair only to read its `listener` field. The listener of a built-in application depends only on
        // `opening`.
        let nowhere = FlowContext { name: String::new(), start: Time::ZERO, stop: Time::ZERO, opening };
        self.build(&nowhere, &RunApplications::default()).map_or(Side::To, |pair| pair.listener)
    }
}

impl<A: AppSettings> From<A> for AppConfig {
    fn from(config: A) -> AppConfig {
        AppConfig::new(config)
    }
}

/// Settings of an application that the caller of a run supplies by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomConfig {
    /// The name under which the caller added the application to [`RunApplications`].
    pub name: String,
}

impl Part for CustomConfig {
    const NAME: &'static str = "custom";
    const TEXT: &'static str = "A custom application, supplied by the program that starts the run.";
    const KEYS: &'static [Key<CustomConfig>] =
        &[key("name", |app: &mut Self| &mut app.name, "Name of the application.").required("\"mine\"")];
}

impl AppSettings for CustomConfig {
    fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
        let factory = own.get(&self.name).ok_or_else(|| AppError::Unknown(self.name.clone()))?;
        Ok(factory(flow))
    }
}

/// Properties of a flow that its applications may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowContext {
    /// Name of the flow in the scenario.
    pub name: String,
    /// Time at which the flow starts.
    pub start: Time,
    /// Time at which the flow stops; never later than the end of the run.
    pub stop: Time,
    /// The end of the flow that opens connections.
    pub opening: Opening,
}

/// The end that opens the connection of a one-way transfer. The flow's transport determines this end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// The data sender opens the connection and then sends, as in the simulator's TCP flows.
    #[default]
    Sender,
    /// The data receiver opens the connection and requests the data, as a QUIC client does. Web pages then use the
    /// streams of one connection.
    Receiver,
}

/// The reason why an application cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppError {
    /// No application was added under this name.
    Unknown(String),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppError::Unknown(name) => {
                write!(f, "there is no application {name:?}: the caller of the run did not supply it")
            }
        }
    }
}

impl std::error::Error for AppError {}

/// Combines the applications at the data sender and at the data receiver into a pair.
pub(crate) fn pair(
    from: impl Application + 'static,
    to: impl Application + 'static,
    listener: Side,
    datagrams: bool,
) -> AppPair {
    AppPair { from: Box::new(from), to: Box::new(to), listener, datagrams }
}

/// A function that builds the two applications of a flow.
pub type AppFactory = Arc<dyn Fn(&FlowContext) -> AppPair + Send + Sync>;

/// Applications that the caller of one run supplies, by name. The factories may capture data of that run.
///
/// Use [`crate::register`] for a kind that every scenario of the process may choose.
///
/// # Examples
///
/// ```
/// use lopsided_app::{AppPair, Receiver, RunApplications, Sender, Side, Transfer};
/// use lopsided_core::Duration;
/// use std::sync::Arc;
///
/// let transfer = Transfer::Bulk { wait: Duration::ZERO, wait_jitter: Duration::ZERO };
/// let mut own = RunApplications::default();
/// own.add(
///     "mine",
///     Arc::new(move |_flow| AppPair {
///         from: Box::new(Sender::new(transfer)),
///         to: Box::new(Receiver::new(None)),
///         listener: Side::To,
///         datagrams: false,
///     }),
/// );
/// assert!(own.get("mine").is_some());
/// ```
#[derive(Clone, Default)]
pub struct RunApplications {
    named: Vec<(String, AppFactory)>,
}

impl RunApplications {
    /// Adds an application. Replaces an application with the same name.
    pub fn add(&mut self, name: &str, factory: AppFactory) {
        self.named.retain(|(known, _)| known != name);
        self.named.push((name.to_owned(), factory));
    }

    /// Returns the factory with this name; `None` if no application has this name.
    pub fn get(&self, name: &str) -> Option<&AppFactory> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, factory)| factory)
    }

    /// Returns the names in the order in which the applications were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for RunApplications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
