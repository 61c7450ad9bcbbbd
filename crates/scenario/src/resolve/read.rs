//! Reads keys from several tables. The most specific table that sets a key determines its value.

use crate::error::{Place, Report};
use crate::schema::join;
use crate::tree::{Node, Table};
use crate::units::UnitError;

/// Tables that may set the same keys, ordered from the most to the least specific.
#[derive(Clone, Debug)]
pub(super) struct Layers<'t> {
    tables: Vec<(&'t Table, String)>,
    /// The position for errors about a missing key.
    pub place: Place,
}

impl<'t> Layers<'t> {
    pub(super) fn one(table: &'t Table, path: &str, place: Place) -> Layers<'t> {
        Layers { tables: vec![(table, path.to_owned())], place }
    }

    /// Returns an empty list of tables. Every key then has its default.
    pub(super) fn none(place: Place) -> Layers<'t> {
        Layers { tables: Vec::new(), place }
    }

    /// Appends the less specific tables `others`.
    pub(super) fn over(mut self, others: &Layers<'t>) -> Layers<'t> {
        self.tables.extend(others.tables.iter().cloned());
        self
    }

    /// Returns the value of a key, with its full dotted path.
    pub(super) fn get(&self, key: &str) -> Option<(&'t Node, String)> {
        self.tables.iter().find_map(|(table, path)| Some((table.get(key)?, join(path, key))))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.tables.iter().any(|(table, _)| table.get(key).is_some())
    }

    /// Returns the tables under a key, in the same order.
    pub(super) fn below(&self, key: &str) -> Layers<'t> {
        let found = self.tables.iter().filter_map(|(table, path)| {
            let entry = table.entry(key)?;
            Some((entry.node.table()?, join(path, key), entry.key_place))
        });
        let found: Vec<_> = found.collect();
        // If no table has this key, errors point at the parent table.
        let place = found.first().map_or(self.place, |(_, _, place)| *place);
        Layers { tables: found.into_iter().map(|(table, path, _)| (table, path)).collect(), place }
    }

    /// Returns the most specific table that sets one of the keys. Used for keys that exclude each other.
    pub(super) fn deciding(&self, keys: &[&str]) -> Layers<'t> {
        let found = self.tables.iter().find(|(table, _)| keys.iter().any(|key| table.get(key).is_some()));
        Layers { tables: found.cloned().into_iter().collect(), place: self.place }
    }

    /// Returns the tables from the most specific one down to the first that sets the key. The remaining tables may
    /// assume another value of the key.
    pub(super) fn down_to(&self, key: &str) -> Layers<'t> {
        let last = self.tables.iter().position(|(table, _)| table.get(key).is_some());
        let tables = &self.tables[..last.map_or(self.tables.len(), |last| last + 1)];
        Layers { tables: tables.to_vec(), place: self.place }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the path of the most specific table.
    pub(super) fn path(&self) -> &str {
        self.tables.first().map_or("", |(_, path)| path)
    }

    /// Returns the position of a key, or the position of the table if the key is missing.
    pub(super) fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |(node, _)| node.place)
    }
}

/// Reads a key. Returns `None` if the key is missing. If the value is invalid, reports an error and returns `None`.
pub(super) fn read<T>(
    layers: &Layers<'_>,
    key: &str,
    parse: impl Fn(&Node) -> Result<T, UnitError>,
    report: &mut Report<'_>,
) -> Option<T> {
    let (node, path) = layers.get(key)?;
    parse(node).map_err(|error| report.problem(node.place, &path, error.message, error.help)).ok()
}

/// Reports an error if a mandatory key is missing. `read` reports invalid values.
pub(super) fn require(layers: &Layers<'_>, key: &str, example: &str, report: &mut Report<'_>) {
    if !layers.has(key) {
        let home = layers.path();
        let message = format!("`{key}` is missing in [{home}]");
        report.problem(layers.place, &join(home, key), message, Some(format!("add {key} = {example}")));
    }
}
