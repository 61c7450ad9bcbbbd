//! Shapers, which decide when the next packet leaves the queue and when its last bit is sent.

mod any;
mod config;
mod contract;
mod serializer;
mod token_bucket;

pub use any::AnyShaper;
pub(crate) use config::MOST_RATE;
pub use config::ShaperConfig;
pub use contract::Shaper;
pub use serializer::Serializer;
pub(crate) use serializer::{Passed, scaled_bits};
pub use token_bucket::TokenBucket;
