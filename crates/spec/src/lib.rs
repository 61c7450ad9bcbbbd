//! Declares the scenario keys of a part, each key once.
//!
//! A part is a plain struct of settings, for example those of a queue discipline. It implements [`Part`] with one line
//! per key: name, field, description. The type of the field determines the type and unit of the key, and the struct's
//! [`Default`] determines the key's default. The crate `lopsided-scenario` uses these lines to read and write files and
//! to generate the reference page.
//!
//! ```
//! use lopsided_core::{Bytes, Duration};
//! use lopsided_spec::{Fault, Key, Part, key};
//!
//! /// Delays every packet.
//! #[derive(Clone, Debug, PartialEq)]
//! pub struct DelayConfig {
//!     pub delay: Duration,
//!     pub smallest: Option<Bytes>,
//! }
//!
//! impl Default for DelayConfig {
//!     fn default() -> DelayConfig {
//!         DelayConfig { delay: Duration::from_millis(1), smallest: None }
//!     }
//! }
//!
//! impl Part for DelayConfig {
//!     const NAME: &'static str = "delay";
//!     const TEXT: &'static str = "Delays every packet.";
//!     const KEYS: &'static [Key<DelayConfig>] = &[
//!         key("delay", |part: &mut Self| &mut part.delay, "How long each packet waits."),
//!         key("smallest", |part: &mut Self| &mut part.smallest, "Smaller packets pass at once.").default_text("none"),
//!     ];
//!
//!     fn check(&self) -> Result<(), Fault> {
//!         if self.delay.is_zero() {
//!             return Err(Fault::new("delay", "a delay of zero has no effect").help("leave the part out"));
//!         }
//!         Ok(())
//!     }
//! }
//! ```
//!
//! The parts among which a scenario chooses with the key `kind` form a [`Family`], such as all queue disciplines. The
//! value of a key may also be a part, or a list of parts of a family.
//!
//! The crate `lopsided-scenario` contains the rest: the syntax of files, the positions of errors, and the notation of
//! units.
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | [`Part`] | a struct of settings with keys |
//! | [`Key`], [`KeyInfo`] | one key of a part, with and without the part's type |
//! | [`Setting`], [`Scalar`] | a field that a key can set, and a type that such a field can have |
//! | [`Value`], [`ValueType`] | the value of a key after parsing, and its type |
//! | [`Family`], [`Member`] | several parts of which `kind` chooses one, and one of these parts |
//! | [`Registry`], [`Kind`] | all built-in and registered kinds, and one kind with its constructor |
//! | [`Chosen`] | the settings of the chosen kind, with its constructor |

#![deny(missing_docs)]

mod family;
mod macros;
mod part;
mod registry;
mod value;

pub use family::{Family, Member};
pub use part::{AnyPart, Fault, Given, Key, KeyInfo, Part, PartInfo, Presets, key};
pub use registry::{Chosen, Kind, NameTaken, Named, Registry};
pub use value::{Amount, Choice, Scalar, Setting, Value, ValueType};

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
