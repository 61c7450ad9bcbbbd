pub use crate::cc::harness::*;
use crate::cc::{Controller, build};

pub fn controller(name: &str) -> Box<dyn Controller> {
    build(name, &setup()).expect("a known name")
}
