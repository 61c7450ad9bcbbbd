//! The transports that a flow can select by `kind`: the host's own TCP, QUIC, and transports that users register.

use lopsided_app::{AppConfig, Opening, Transport, TransportEnd, TransportSettings};
use lopsided_core::Bytes;
use lopsided_quic::QuicConfig;
use lopsided_spec::{AnyPart, Chosen, Family, Fault, Key, Kind, NameTaken, Part, Registry, family_value};
use lopsided_tcp::StackConfig;

/// The host's own TCP. The table `stack` configures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpTransport;

impl Part for TcpTransport {
    const NAME: &'static str = "tcp";
    const TEXT: &'static str = "The simulator's TCP. Its settings are the keys of `stack`.";
    const KEYS: &'static [Key<TcpTransport>] = &[];
}

impl TransportSettings for TcpTransport {
    fn build(&self, _end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
        // The host itself provides TCP.
        Ok(None)
    }
}

/// A function that returns the trait object of a transport, given its settings.
type Methods = fn(&dyn AnyPart) -> &dyn Choice;

/// [`TransportSettings`] as a trait object.
trait Choice {
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String>;
    fn opening(&self) -> Opening;
    fn check_flow(&self, app: &AppConfig, cc: &str) -> Result<(), Fault>;
    fn stack_keys(&self) -> Option<&'static [&'static str]>;
    fn largest_packet(&self, stack: &StackConfig) -> Bytes;
    fn opening_packet(&self) -> Option<Bytes>;
    fn shows_acks(&self) -> bool;
}

impl<T: TransportSettings> Choice for T {
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
        TransportSettings::build(self, end)
    }

    fn opening(&self) -> Opening {
        TransportSettings::opening(self)
    }

    fn check_flow(&self, app: &AppConfig, cc: &str) -> Result<(), Fault> {
        TransportSettings::check_flow(self, app, cc)
    }

    fn stack_keys(&self) -> Option<&'static [&'static str]> {
        TransportSettings::stack_keys(self)
    }

    fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        TransportSettings::largest_packet(self, stack)
    }

    fn opening_packet(&self) -> Option<Bytes> {
        TransportSettings::opening_packet(self)
    }

    fn shows_acks(&self) -> bool {
        TransportSettings::shows_acks(self)
    }
}

fn methods_of<T: TransportSettings>(part: &dyn AnyPart) -> &dyn Choice {
    // The function was stored together with these settings, so the type is correct.
    part.downcast::<T>().expect("a transport is asked through its own settings")
}

/// The built-in transports; the default is first. To add a transport, add an entry.
const TRANSPORTS_BUILT_IN: &[fn() -> Kind<Methods>] = &[entry::<TcpTransport>, entry::<QuicConfig>];

static KINDS: Registry<Kind<Methods>> = Registry::new(TRANSPORTS_BUILT_IN);

/// The family of all transports, for reading and writing scenarios.
pub static TRANSPORTS: Family = Family {
    name: "transport",
    text: "The transport protocol of a flow.",
    shorthand: Some("kind"),
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<T: TransportSettings>() -> Kind<Methods> {
    Kind::of::<T>(methods_of::<T>)
}

/// Registers a transport for all scenarios of this process, under the name of its [`Part`]. A transport that was
/// registered earlier under the same name is replaced.
///
/// # Errors
/// Returns [`NameTaken`] if a built-in transport already has this name.
pub fn register_transport<T: TransportSettings>() -> Result<(), NameTaken> {
    KINDS.register(entry::<T>())
}

/// A flow's transport, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportConfig(Chosen<Methods>);

impl TransportConfig {
    /// Creates a transport with these settings.
    pub fn new<T: TransportSettings>(settings: T) -> TransportConfig {
        TransportConfig(Chosen::new(settings, methods_of::<T>))
    }

    /// Returns the name of the kind, such as `tcp` or `quic`.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Returns true if the transport is the host's own TCP.
    pub fn is_tcp(&self) -> bool {
        self.get::<TcpTransport>().is_some()
    }

    /// Returns the settings; `None` if the transport is of another kind.
    pub fn get<T: TransportSettings>(&self) -> Option<&T> {
        self.0.part.downcast()
    }

    /// Returns the settings as a trait object.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    fn choice(&self) -> &dyn Choice {
        (self.0.build)(&*self.0.part)
    }

    /// Builds one end of a flow; `None` for the host's own TCP.
    ///
    /// # Errors
    /// Returns an error if this build does not contain the transport, or if no endpoint can be built with these
    /// settings.
    pub fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
        self.choice().build(end)
    }

    /// Returns the end that opens the connection of a one-way transfer.
    pub fn opening(&self) -> Opening {
        self.choice().opening()
    }

    /// See [`TransportSettings::check_flow`].
    ///
    /// # Errors
    /// Returns an error if the transport cannot carry the flow.
    pub fn check_flow(&self, app: &AppConfig, cc: &str) -> Result<(), Fault> {
        self.choice().check_flow(app, cc)
    }

    /// Returns the keys of `stack` that this transport reads; `None` if the transport reads all keys.
    pub fn stack_keys(&self) -> Option<&'static [&'static str]> {
        self.choice().stack_keys()
    }

    /// Returns the size of the largest IP packet that an end with this stack sends.
    pub fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        self.choice().largest_packet(stack)
    }

    /// See [`TransportSettings::opening_packet`].
    pub fn opening_packet(&self) -> Option<Bytes> {
        self.choice().opening_packet()
    }

    /// Returns true if middleboxes can read the acknowledgements of this transport.
    pub fn shows_acks(&self) -> bool {
        self.choice().shows_acks()
    }
}

impl Default for TransportConfig {
    fn default() -> TransportConfig {
        TransportConfig::new(TcpTransport)
    }
}

impl<T: TransportSettings> From<T> for TransportConfig {
    fn from(settings: T) -> TransportConfig {
        TransportConfig::new(settings)
    }
}

family_value!(TransportConfig, TRANSPORTS, KINDS);
