//! The table form of a queue limit.

use lopsided_spec::ValueType::{DepthOrTime, Integer, Size};
use lopsided_spec::{KeyInfo, PartInfo};

/// Returns the declaration of the table that can specify a queue limit. The table is parsed into one
/// [`lopsided_spec::Amount`].
pub(crate) fn limit() -> PartInfo {
    PartInfo {
        name: "queue limit",
        text: "The capacity of a queue.",
        shorthand: Some("amount"),
        exclusive: &[&["amount", "bins"]],
        make: None,
        keys: vec![
            KeyInfo::new(
                "amount",
                DepthOrTime,
                "A number of packets, a size in IP bytes, a time at the line's rate such as \"200 ms\", or \"1 BDP\" (with [link]).",
            )
            .default_text("50 packets"),
            KeyInfo::new(
                "bins",
                Integer,
                "Instead of `amount`: a number of memory bins. A packet occupies whole bins.",
            ),
            KeyInfo::new("size", Size, "Size of a bin, such as \"512 B\"."),
        ],
    }
}
