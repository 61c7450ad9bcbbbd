//! Tests of the capture reader and of what it says about connections.

mod between;
mod files;
mod hostile;
mod limits;
mod story;
