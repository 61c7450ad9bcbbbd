//! What several disciplines refuse of their settings.

use lopsided_core::Bytes;
use lopsided_spec::Fault;

/// The most queues that a discipline can spread its flows over (Linux' bound).
pub(crate) const MOST_QUEUES: u32 = 65_536;

/// A limit, in packets or octets.
pub(crate) fn limit(name: &'static str, most: u64) -> Result<(), Fault> {
    if most == 0 {
        let fault = Fault::new(name, "the limit is zero: no packet would ever pass");
        return Err(fault.help("give it room for at least one"));
    }
    Ok(())
}

/// How many queues flows are spread over.
pub(crate) fn flows(count: u32) -> Result<(), Fault> {
    if !(1..=MOST_QUEUES).contains(&count) {
        return Err(Fault::new("flows", format!("there are from 1 to {MOST_QUEUES} queues")));
    }
    Ok(())
}

/// What a queue may send in its turn.
pub(crate) fn quantum(size: Bytes) -> Result<(), Fault> {
    if size == Bytes::ZERO {
        return Err(Fault::new("quantum", "a quantum of zero would never let a packet go"));
    }
    Ok(())
}
