//! The registry of applications that a scenario can select by kind. It contains the applications of this crate, and
//! applications that users register.
//!
//! All code of an application is in its own file or folder.

use crate::config::{BuildApp, build_as};
use crate::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

/// The applications of this crate; the default is first. Add a new application here.
const APPLICATIONS: &[fn() -> Kind<BuildApp>] = &[
    entry::<BulkConfig>,
    entry::<TransferConfig>,
    entry::<OnOffConfig>,
    entry::<DatagramConfig>,
    entry::<FtpConfig>,
    entry::<HttpConfig>,
    entry::<RdraConfig>,
    entry::<RepairConfig>,
    entry::<CustomConfig>,
];

static KINDS: Registry<Kind<BuildApp>> = Registry::new(APPLICATIONS);

/// The family of all applications, for code that reads and writes scenarios.
pub static APPS: Family = Family {
    name: "app",
    text: "The application of a flow, at the sender and the receiver.",
    shorthand: Some("size"),
    infer_kind: true,
    members: || KINDS.members(),
};

fn entry<A: AppSettings>() -> Kind<BuildApp> {
    Kind::of::<A>(build_as::<A>)
}

/// Registers an application for all scenarios of this process, under the name of its [`Part`](lopsided_spec::Part). An
/// application that was registered earlier under the same name is replaced.
///
/// # Errors
/// Returns [`NameTaken`] if a built-in application already has this name.
pub fn register<A: AppSettings>() -> Result<(), NameTaken> {
    KINDS.register(entry::<A>())
}

impl Default for AppConfig {
    fn default() -> AppConfig {
        AppConfig::new(BulkConfig::default())
    }
}

family_value!(AppConfig, APPS, KINDS);
