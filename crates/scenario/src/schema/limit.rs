//! What a queue may hold, where it is written as a table.

use lopsided_spec::ValueType::{DepthOrTime, Integer, Size};
use lopsided_spec::{KeyInfo, PartInfo};

/// A limit as a table; its value is one [`lopsided_spec::Amount`].
pub(crate) fn limit() -> PartInfo {
    PartInfo {
        name: "queue limit",
        text: "How much a queue may hold.",
        shorthand: Some("amount"),
        exclusive: &[&["amount", "bins"]],
        make: None,
        keys: vec![
            KeyInfo::new(
                "amount",
                DepthOrTime,
                "Packets, a size (IP octets), a time at the line's rate such as \"200 ms\", or \"1 BDP\" (with [link]).",
            )
            .default_text("50 packets"),
            KeyInfo::new(
                "bins",
                Integer,
                "In place of an amount: so many memory cells; a packet takes as many whole ones as it needs.",
            ),
            KeyInfo::new("size", Size, "The size of a bin, such as \"512 B\"."),
        ],
    }
}
