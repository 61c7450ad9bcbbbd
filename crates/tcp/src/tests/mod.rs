//! Tests of whole connections: two connections over a bad network, and scripted exchanges.

mod ack_options;
mod counters;
mod delivery;
mod differences;
mod hostile;
mod listener;
mod pair;
mod prediction;
mod probe;
mod profiles;
mod recorded;
mod scripts;
mod settings;
mod story;
pub(crate) mod witness;
