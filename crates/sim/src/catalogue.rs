//! The catalogue of results: every table and column is declared once, with what people must know of it.
//!
//! [`table!`] declares a row, the table of such rows (one vector a column), and a [`TableSpec`]: each column's unit,
//! heading and meaning. Files, printed tables, reports and the reference of the documents are made from that.

use std::sync::Arc;

/// A name that many rows share.
pub type Name = Arc<str>;

/// What a column's values are, which decides how they are written for people. The names of columns end in the unit they
/// have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A word or a name.
    Text,
    /// A number that names something.
    Label,
    Count,
    /// Packets that wait.
    Packet,
    /// A plain number with decimals.
    Number,
    /// Of the whole, 0 to 1.
    Share,
    Second,
    Millisecond,
    SquareMillisecond,
    BitPerSecond,
    Byte,
}

impl Unit {
    /// The name of the unit where it is told to other programs.
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

/// How a column's values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Float,
    Text,
}

/// A column as it was declared.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSpec {
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// What stands above it for people.
    pub heading: &'static str,
    pub meaning: &'static str,
}

/// A table as it was declared.
#[derive(Debug, Clone)]
pub struct TableSpec {
    pub name: &'static str,
    pub meaning: &'static str,
    pub columns: Vec<ColumnSpec>,
}

/// One column, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
    /// A count that does not exist everywhere.
    MaybeU64(&'a [Option<u64>]),
    /// What does not exist is NaN.
    F64(&'a [f64]),
    /// One of a few words.
    Word(&'a [&'static str]),
    Name(&'a [Name]),
    Text(&'a [String]),
}

/// What a column may hold.
pub trait Cell: Sized {
    const KIND: Kind;
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

/// Declares a row and the table of such rows: of each column its meaning, name, type, unit and heading.
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
            /// Room for so many rows and no more.
            pub fn with_capacity(rows: usize) -> $table {
                $table { $($column: Vec::with_capacity(rows),)+ }
            }

            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)+
            }

            /// The columns, in the order of the declaration.
            pub fn columns(&self) -> Vec<(&'static str, $crate::Column<'_>)> {
                vec![$((stringify!($column), $crate::Cell::column(&self.$column)),)+]
            }

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
