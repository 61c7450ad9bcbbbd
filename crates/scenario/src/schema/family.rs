//! The table of a family, such as all queue disciplines: the key `kind`, and the keys of all kinds.

use super::limit::limit;
use lopsided_spec::{Family, KeyInfo, PartInfo, ValueType};

/// Returns the declaration of the table that a value of this type contains. For a list, this is the table of its items.
/// `None` if the type has no table.
pub(crate) fn table_of(value_type: ValueType) -> Option<PartInfo> {
    match value_type {
        ValueType::Part(table) | ValueType::Map(table) => Some(table()),
        ValueType::Family(family) => Some(family.table()),
        ValueType::Limit => Some(limit()),
        ValueType::List(below) => table_of(*below),
        _ => None,
    }
}

/// Declarations of the tables of a family.
pub(crate) trait WithKinds {
    /// Returns a table with `kind` and the keys of all kinds. Each key appears once.
    fn table(&'static self) -> PartInfo;
    /// Like [`WithKinds::table`], but a key that several kinds share is declared as `kind` declares it.
    fn table_of_kind(&'static self, kind: &str) -> PartInfo;
    /// Returns the kinds that support a key, each with its declaration of the key.
    fn kinds_with(&self, key: &str) -> Vec<(&'static str, KeyInfo)>;
}

impl WithKinds for Family {
    fn table(&'static self) -> PartInfo {
        let kinds = self.kinds();
        let mut kind = KeyInfo::new("kind", ValueType::Kind(self), self.text);
        kind.default_text = kinds.first().copied();
        let mut keys = vec![kind];
        for key in (self.members)().into_iter().flat_map(|member| member.info.keys) {
            if keys.iter().all(|other| other.name != key.name) {
                keys.push(key);
            }
        }
        PartInfo { name: self.name, text: self.text, shorthand: self.shorthand, keys, exclusive: &[], make: None }
    }

    fn table_of_kind(&'static self, kind: &str) -> PartInfo {
        let mut table = self.table();
        let member = (self.members)().into_iter().find(|member| member.info.name == kind);
        for own in member.into_iter().flat_map(|member| member.info.keys) {
            if let Some(key) = table.keys.iter_mut().find(|key| key.name == own.name) {
                *key = own;
            }
        }
        table
    }

    fn kinds_with(&self, key: &str) -> Vec<(&'static str, KeyInfo)> {
        let of_member = |info: PartInfo| Some((info.name, info.key(key)?.clone()));
        (self.members)().into_iter().filter_map(|member| of_member(member.info)).collect()
    }
}
