//! The simulator behind the page: one run at a time, advanced in slices, seen as pictures of bounded size.
//!
//! As WebAssembly this crate exports plain functions ([`exports`]) and imports nothing. As a library it bakes the first
//! picture into a page. A picture is an [`Answer`]: a head of JSON and columns of numbers, in one block of memory.
//!
//! The page asks for less than the command line may: [`limits`] refuses a run that would need too much memory before
//! it starts. Left out: code of users (congestion controls and queues in Python), and runs on several cores.

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
