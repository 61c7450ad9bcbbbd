//! The catalogue of results: the declaration of every table and column.
//!
//! `table!` declares a row, a table of these rows, and a [`TableSpec`]. Result files, reports and the reference page
//! use these declarations.

use std::sync::Arc;

/// A name that many rows share. It is stored once.
pub type Name = Arc<str>;

/// The unit of a column's values. Names of columns end with their unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a word or a name.
    Text,
    /// No unit: an integer that identifies something, such as a flow, a packet, a port or a sequence number.
    Label,
    /// A number of events or objects, such as retransmitted segments.
    Count,
    /// A number of packets in a queue.
    Packet,
    /// A number with decimals and without a unit.
    Number,
    /// A fraction from 0 to 1.
    Share,
    /// Seconds.
    Second,
    /// Milliseconds.
    Millisecond,
    /// Square milliseconds.
    SquareMillisecond,
    /// Bits per second.
    BitPerSecond,
    /// Bytes.
    Byte,
}

impl Unit {
    /// Returns the name of the unit, as other programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Text => "text",
            Unit::Label => "label",
            Unit::Count => "count",
            Unit::Packet => "packets",
            Unit::Number => "number",
            Unit::Share => "share",
            Unit::Second => "s",
            Unit::Millisecond => "ms",
            Unit::SquareMillisecond => "ms2",
            Unit::BitPerSecond => "bps",
            Unit::Byte => "bytes",
        }
    }
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// Text.
    Text,
}

/// The declaration of a column.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSpec {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the values.
    pub kind: Kind,
    /// Unit of the values.
    pub unit: Unit,
    /// Heading of the column in reports.
    pub heading: &'static str,
    /// The meaning of the column, in one sentence.
    pub meaning: &'static str,
}

/// The declaration of a table.
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// Name of the table.
    pub name: &'static str,
    /// The meaning of the table, in one sentence.
    pub meaning: &'static str,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
}

/// The values of one column.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// Integers of 32 bits.
    U32(&'a [u32]),
    /// Integers of 64 bits.
    U64(&'a [u64]),
    /// Integers of 64 bits; `None` for a missing value.
    MaybeU64(&'a [Option<u64>]),
    /// Floats; NaN for a missing value.
    F64(&'a [f64]),
    /// Words from a small set.
    Word(&'a [&'static str]),
    /// Shared names.
    Name(&'a [Name]),
    /// Strings.
    Text(&'a [String]),
}

/// A Rust type that the values of a column can have.
///
/// # Examples
///
/// ```
/// use lopsided_sim::{Cell, Column};
///
/// assert!(matches!(<f64 as Cell>::column(&[1.5]), Column::F64(&[_])));
/// ```
pub trait Cell: Sized {
    /// The type of the values.
    const KIND: Kind;
    /// Borrows the values of a column.
    fn column(values: &[Self]) -> Column<'_>;
}

macro_rules! cells {
    ($($type:ty => $kind:ident $variant:ident,)+) => {
        $(impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            fn column(values: &[Self]) -> Column<'_> {
                Column::$variant(values)
            }
        })+
    };
}

cells! {
    u32 => Integer U32,
    u64 => Integer U64,
    Option<u64> => Integer MaybeU64,
    f64 => Float F64,
    &'static str => Text Word,
    Name => Text Name,
    String => Text Text,
}

/// Declares a row and a table of these rows. A column has a meaning (its doc comment), a name, a type, a unit and a
/// heading.
#[macro_export]
macro_rules! table {
    ($(#[doc = $table_doc:literal])+ $table:ident of $row:ident as $name:literal {
        $($(#[doc = $meaning:literal])+ $column:ident: $type:ty [$unit:ident $heading:literal],)+
    }) => {
        $(#[doc = $table_doc])+
        #[derive(Debug, Clone)]
        pub struct $row { $($(#[doc = $meaning])+ pub $column: $type,)+ }

        $(#[doc = $table_doc])+
        #[derive(Debug, Clone, Default)]
        pub struct $table { $($(#[doc = $meaning])+ pub $column: Vec<$type>,)+ }

        impl $table {
            /// Creates an empty table with space for this number of rows.
            pub fn with_capacity(rows: usize) -> $table {
                $table { $($column: Vec::with_capacity(rows),)+ }
            }

            /// Adds a row.
            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)+
            }

            /// Returns the columns in the order of their declaration.
            pub fn columns(&self) -> Vec<(&'static str, $crate::Column<'_>)> {
                vec![$((stringify!($column), $crate::Cell::column(&self.$column)),)+]
            }

            /// Returns the declaration of the table.
            pub fn spec() -> $crate::TableSpec {
                $crate::TableSpec {
                    name: $name,
                    meaning: concat!($($table_doc),+).trim(),
                    columns: vec![$($crate::ColumnSpec {
                        name: stringify!($column),
                        kind: <$type as $crate::Cell>::KIND,
                        unit: $crate::Unit::$unit,
                        heading: $heading,
                        meaning: concat!($($meaning),+).trim(),
                    },)+],
                }
            }
        }
    };
}
