//! The rules by which a segment counts as lost.

mod rack;

pub(crate) use rack::Rack;
