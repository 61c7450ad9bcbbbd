//! How a part of the laboratory declares its scenario keys, each of them once.
//!
//! A part is a plain struct of settings: a queue discipline's, a token bucket's, a TCP's. It implements [`Part`] with
//! one line for each key: name, field, text. The key's type and unit follow from the field's type, its default from the
//! struct's [`Default`]. From these lines the scenario crate reads and writes files, fills defaults, reports errors,
//! and makes the JSON Schema and the reference page.
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
//!             return Err(Fault::new("delay", "a delay of zero delays nothing"));
//!         }
//!         Ok(())
//!     }
//! }
//! ```
//!
//! Parts of which a scenario chooses one by `kind` form a [`Family`]: all queue disciplines are one. A key may itself
//! hold a part, or a list of parts of a family, so that a discipline has children.
//!
//! Left out: texts and trees of files, places of mistakes, units as people write them. They are the scenario crate's.

#![warn(missing_docs)]

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
