//! The rules that decide when a segment counts as lost, one per file.

mod detect;
mod dupack;
mod fack;
mod freebsd_sack;
mod mark;
pub(super) mod rack;
mod rfc6675;

pub(super) use detect::spares_recent;
pub(super) use mark::mark_lost;
