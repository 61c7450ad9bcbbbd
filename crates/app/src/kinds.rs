//! The applications that scenarios choose by kind: this crate's, and those that users register.
//!
//! Nothing of this crate stands on this file: an application's own file has all that it is.

use crate::config::{BuildApp, build_as};
use crate::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

/// The applications, the default first. A new one is a line here.
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

/// All applications, for whatever reads and writes scenarios.
pub static APPS: Family = Family {
    name: "app",
    text: "What a flow's two ends do.",
    shorthand: Some("size"),
    infer_kind: true,
    members: || KINDS.members(),
};

fn entry<A: AppSettings>() -> Kind<BuildApp> {
    Kind::of::<A>(build_as::<A>)
}

/// Makes an application of one's own known to all scenarios of this process, by the name of its [`Part`].
///
/// # Errors
/// If an application of this crate has the name. One that was registered before under the name is replaced.
pub fn register<A: AppSettings>() -> Result<(), NameTaken> {
    KINDS.register(entry::<A>())
}

impl Default for AppConfig {
    fn default() -> AppConfig {
        AppConfig::new(BulkConfig::default())
    }
}

family_value!(AppConfig, APPS, KINDS);
