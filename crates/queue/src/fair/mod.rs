//! Disciplines that share a line among flows or hosts.

mod cake;
pub(crate) mod flow_hash;
mod flow_queues;
mod flow_rounds;
mod fq;
mod fq_codel;
mod fq_pie;
mod sfq;

pub use cake::{Cake, CakeConfig, Isolation, TinMode};
pub use fq::{Fq, FqConfig};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use sfq::{Sfq, SfqConfig};
