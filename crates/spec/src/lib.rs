//! Declares the scenario keys of a part, each key once.
//!
//! A part is a plain struct of settings, for example of a queue discipline. It implements [`Part`] with one line per
//! key: name, field, text. The key's type and unit follow from the type of the field, and its default from the struct's
//! [`Default`]. The crate `lopsided-scenario` uses these lines to read and write files and to generate the reference
//! page.
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
//! The parts that a scenario chooses by `kind` form a [`Family`], such as all queue disciplines. A key may itself hold
//! a part, or a list of parts of a family.
//!
//! Left out: the text and structure of files, positions of errors, and units as people write them.
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
//! | [`Registry`], [`Kind`] | all kinds that are built in or registered, and one kind with its constructor |
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
