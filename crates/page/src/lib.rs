//! The simulator behind the page. It executes one run at a time, in slices, and returns pictures of limited size.
//!
//! A picture is an [`Answer`]: a JSON head and columns of numbers. As WebAssembly, this crate exports plain functions
//! ([`exports`]). As a library, it computes the first picture of a page.
//!
//! Before a run starts, [`limits`] rejects runs that would need too much memory. Left out: users' Python code, and runs
//! on several cores.

#![deny(missing_docs)]

mod answer;
mod catalogue;
mod describe;
pub mod exports;
mod json;
pub mod limits;
mod packets;
mod picture;
mod request;
mod series;
mod session;
mod view;

pub use answer::Answer;
pub use catalogue::catalogue;
pub use describe::describe;
pub use request::{Problems, Request};
pub use session::{Session, capture};
pub use view::View;
