//! Tests of the capture reader and of the results for connections.

mod between;
mod control;
mod files;
mod hostile;
mod limits;
mod story;
mod upstream;
