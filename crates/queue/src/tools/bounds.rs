//! Checks of settings that several disciplines share.

use lopsided_core::Bytes;
use lopsided_spec::Fault;

/// Maximum number of queues to which a discipline can hash flows, as in Linux.
pub(crate) const MOST_QUEUES: u32 = 65_536;

/// Checks a limit in packets or bytes.
pub(crate) fn limit(name: &'static str, most: u64) -> Result<(), Fault> {
    if most == 0 {
        let fault = Fault::new(name, "the limit is zero: no packet would ever pass");
        return Err(fault.help("give it room for at least one"));
    }
    Ok(())
}

/// Checks the number of queues over which a hash distributes flows.
pub(crate) fn flows(count: u32) -> Result<(), Fault> {
    if !(1..=MOST_QUEUES).contains(&count) {
        return Err(Fault::new("flows", format!("there are from 1 to {MOST_QUEUES} queues")));
    }
    Ok(())
}

/// Checks the quantum of a queue.
pub(crate) fn quantum(size: Bytes) -> Result<(), Fault> {
    if size == Bytes::ZERO {
        return Err(Fault::new("quantum", "a quantum of zero would never let a packet go"));
    }
    Ok(())
}
