//! Macros for keys whose value is a part, or one of several parts.

/// Makes a part usable as the type of a scenario key. The key's value is then a table with the keys of the part.
/// Example: `part_value!(GilbertConfig);`
#[macro_export]
macro_rules! part_value {
    ($part:ty) => {
        impl $crate::Scalar for $part {
            const TYPE: $crate::ValueType = $crate::ValueType::Part($crate::PartInfo::of::<$part>);

            fn to_value(&self) -> $crate::Value {
                $crate::Value::of_part(self)
            }

            fn from_value(value: $crate::Value) -> Result<Self, String> {
                value.into_part()
            }
        }
    };
}

/// Makes a wrapper around a [`Chosen`](crate::Chosen) usable as the type of a scenario key. The key's value is then a
/// table with the entry `kind`. Example: `family_value!(QueueConfig, QUEUES, KINDS);` with a [`Family`](crate::Family)
/// and the registry of its kinds.
#[macro_export]
macro_rules! family_value {
    ($config:ident, $family:ident, $kinds:ident) => {
        impl $crate::Scalar for $config {
            const TYPE: $crate::ValueType = $crate::ValueType::Family(&$family);

            fn to_value(&self) -> $crate::Value {
                self.0.to_value()
            }

            fn from_value(value: $crate::Value) -> Result<Self, String> {
                $crate::Chosen::from_value(value, &$kinds).map($config)
            }
        }
    };
}
