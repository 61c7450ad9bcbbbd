//! Checks of settings that several disciplines share.

use lopsided_core::Bytes;
use lopsided_spec::Fault;

/// Maximum number of queues to which a discipline can hash flows, as in Linux.
pub(crate) const MOST_QUEUES: u32 = 65_536;

/// Checks a limit in packets or bytes.
pub(crate) fn limit(name: &'static str, most: u64) -> Result<(), Fault> {
    if most == 0 {
        let fault = Fault::new(name, "the limit is zero: no packet would ever pass");
        return Err(fault.help("the limit must have room for at least one packet"));
    }
    Ok(())
}

/// Checks the number of queues over which a hash distributes flows.
pub(crate) fn flows(count: u32) -> Result<(), Fault> {
    if !(1..=MOST_QUEUES).contains(&count) {
        return Err(Fault::new("flows", format!("there must be from 1 to {MOST_QUEUES} queues")));
    }
    Ok(())
}

/// Checks the quantum of a queue.
pub(crate) fn quantum(size: Bytes) -> Result<(), Fault> {
    if size == Bytes::ZERO {
        return Err(Fault::new("quantum", "with a quantum of zero, no packet would ever be sent"));
    }
    Ok(())
}
