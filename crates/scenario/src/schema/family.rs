//! The table of a family: `kind` and the keys of all its kinds.

use super::limit::limit;
use lopsided_spec::{Family, KeyInfo, PartInfo, ValueType};

/// The table that a key of this type holds, itself or in a list.
pub(crate) fn table_of(value_type: ValueType) -> Option<PartInfo> {
    match value_type {
        ValueType::Part(table) | ValueType::Map(table) => Some(table()),
        ValueType::Family(family) => Some(family.table()),
        ValueType::Limit => Some(limit()),
        ValueType::List(below) => table_of(*below),
        _ => None,
    }
}

pub(crate) trait WithKinds {
    /// `kind`, and every key of any kind once.
    fn table(&'static self) -> PartInfo;
    /// The same, a key that several kinds have as this kind has it.
    fn table_of_kind(&'static self, kind: &str) -> PartInfo;
    /// The kinds that have a key, with what it means there.
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
