//! Result tables: one vector a column, with the unit in the column's name.

/// One column, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
    F64(&'a [f64]),
    /// One of a few words.
    Word(&'a [&'static str]),
    Text(&'a [String]),
}

impl<'a> From<&'a [u32]> for Column<'a> {
    fn from(values: &'a [u32]) -> Column<'a> {
        Column::U32(values)
    }
}

impl<'a> From<&'a [u64]> for Column<'a> {
    fn from(values: &'a [u64]) -> Column<'a> {
        Column::U64(values)
    }
}

impl<'a> From<&'a [f64]> for Column<'a> {
    fn from(values: &'a [f64]) -> Column<'a> {
        Column::F64(values)
    }
}

impl<'a> From<&'a [&'static str]> for Column<'a> {
    fn from(values: &'a [&'static str]) -> Column<'a> {
        Column::Word(values)
    }
}

impl<'a> From<&'a [String]> for Column<'a> {
    fn from(values: &'a [String]) -> Column<'a> {
        Column::Text(values)
    }
}

/// Declares a row and the table of such rows, the names of the columns being those of the fields.
macro_rules! table {
    ($(#[$table_doc:meta])* $table:ident of $(#[$row_doc:meta])* $row:ident { $($(#[$doc:meta])* $column:ident: $type:ty,)+ }) => {
        $(#[$row_doc])*
        #[derive(Debug, Clone)]
        pub struct $row { $($(#[$doc])* pub $column: $type,)+ }

        $(#[$table_doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $table { $($(#[$doc])* pub $column: Vec<$type>,)+ }

        impl $table {
            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)+
            }

            /// The columns by name, in order.
            pub fn columns(&self) -> Vec<(&'static str, crate::table::Column<'_>)> {
                vec![$((stringify!($column), self.$column.as_slice().into()),)+]
            }
        }
    };
}

pub(crate) use table;
