//! Values of keys, and their types.

use crate::part::PartInfo;
use crate::{AnyPart, Family, Part};
use lopsided_core::{BitRate, Bytes, Dir, Duration, Ecn, Time};

/// The type and unit of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// `true` or `false`.
    Flag,
    /// An integer that is 0 or larger.
    Integer,
    /// A number that is 0 or larger. It may have a fraction.
    Number,
    /// A number from 0 to 1, or a percentage.
    Probability,
    /// Bits per second: `"2.4 Mbit/s"`.
    Rate,
    /// A duration: `"20 ms"`.
    Time,
    /// A size in bytes: `"1500 B"`.
    Size,
    /// The limit of a buffer: packets, bytes or bins. A time or a BDP becomes bytes at the link's rate.
    Limit,
    /// A queue length, in packets or bytes. A time or a BDP is converted to bytes at the link's rate.
    Depth,
    /// Like `Depth`, but a time is not converted to bytes. It is compared with the queueing delay of packets.
    DepthOrTime,
    /// A number of packets: `"1000 packets"`.
    Packets,
    /// A window in full segments or in bytes: `"10 segments"` or `"64 KiB"`.
    Window,
    /// One of the listed words. If `on` (or `off`) is listed, `true` (or `false`) is also accepted.
    Word(fn() -> Vec<&'static str>),
    /// The word in `kind` that selects a part of this family, such as `fifo` among the queue disciplines.
    Kind(&'static Family),
    /// Any text.
    Text,
    /// A name of letters, digits, `-` and `_`.
    Name,
    /// Two names.
    Names,
    /// A pair of times; the second must be later.
    Period,
    /// A table with the keys of one part.
    Part(fn() -> PartInfo),
    /// A table with the keys of one part of a family.
    Family(&'static Family),
    /// A table whose keys are names chosen by the user. Each value is a table of the same part.
    Map(fn() -> PartInfo),
    /// A list of values of one type.
    List(&'static ValueType),
    /// A single value, or a list of such values.
    OneOrMore(&'static ValueType),
    /// Any table. The keys are checked by the code that reads the table.
    Free,
}

/// A parsed value, in its base unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The key is not set, or is set to its word for "none".
    None,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// A rate.
    Rate(BitRate),
    /// A time.
    Time(Duration),
    /// A size in bytes.
    Size(Bytes),
    /// An amount of queued data.
    Amount(Amount),
    /// One of several words.
    Word(&'static str),
    /// A text.
    Text(String),
    /// Two points in time, measured from the start of the run.
    Period(Duration, Duration),
    /// A table of keys.
    Part(Box<dyn AnyPart>),
    /// A list of values.
    List(Vec<Value>),
}

/// An amount of data, in one of several units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of packets.
    Packets(u32),
    /// A number of segments.
    Segments(u32),
    /// A number of bytes, including IP headers.
    Bytes(Bytes),
    /// `count` memory cells (bins) of `size` bytes each. A packet occupies a whole number of bins.
    Bins {
        /// Number of memory cells.
        count: u32,
        /// Size of one memory cell.
        size: Bytes,
    },
    /// The amount of data that the link sends in this time.
    Time(Duration),
}

impl Value {
    /// Converts a part to a value. [`part_value!`](crate::part_value) makes the part usable as the type of a key.
    pub fn of_part<P: Part>(part: &P) -> Value {
        Value::Part(Box::new(part.clone()))
    }

    /// Converts the value to a part.
    ///
    /// # Errors
    /// Returns an error if the value is not a part of this type.
    pub fn into_part<P: Part>(self) -> Result<P, String> {
        match &self {
            Value::Part(part) => part.downcast::<P>().cloned().ok_or_else(|| format!("this is not a {}", P::NAME)),
            _ => wrong(self),
        }
    }
}

/// A Rust type that the value of a key can have.
///
/// # Examples
///
/// ```
/// use lopsided_spec::{Scalar, Value, ValueType};
///
/// /// A share, which scenarios write in percent.
/// struct Share(f64);
///
/// impl Scalar for Share {
///     const TYPE: ValueType = ValueType::Probability;
///
///     fn to_value(&self) -> Value {
///         Value::Number(self.0)
///     }
///
///     fn from_value(value: Value) -> Result<Share, String> {
///         match value {
///             Value::Number(share) => Ok(Share(share)),
///             other => Err(format!("{other:?} is not a share")),
///         }
///     }
/// }
///
/// assert!(Share::from_value(Value::Flag(true)).is_err());
/// assert_eq!(Share(0.5).to_value(), Value::Number(0.5));
/// ```
pub trait Scalar: Sized {
    /// The value type of a key whose field has this type.
    const TYPE: ValueType;
    /// True if [`Value::None`] is a valid value.
    const OPTIONAL: bool = false;
    /// Converts the setting to a value.
    fn to_value(&self) -> Value;
    /// Converts a value of the type `TYPE`.
    ///
    /// # Errors
    /// Returns a message for the author of the scenario.
    fn from_value(value: Value) -> Result<Self, String>;
}

/// A field that a key reads and writes, independent of its type.
///
/// # Examples
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_spec::{Setting, Value};
///
/// let mut size = Bytes::new(0);
/// let field: &mut dyn Setting = &mut size;
/// field.set(Value::Size(Bytes::new(1500)))?;
/// assert_eq!(field.get(), Value::Size(Bytes::new(1500)));
/// # Ok::<(), String>(())
/// ```
pub trait Setting {
    /// Returns the type of the value.
    fn value_type(&self) -> ValueType;
    /// True if [`Value::None`] is a valid value.
    fn is_optional(&self) -> bool;
    /// Returns the current value.
    fn get(&self) -> Value;
    /// Sets the value.
    ///
    /// # Errors
    /// Returns a message for the author of the scenario.
    fn set(&mut self, value: Value) -> Result<(), String>;
}

impl<T: Scalar> Setting for T {
    fn value_type(&self) -> ValueType {
        T::TYPE
    }

    fn is_optional(&self) -> bool {
        T::OPTIONAL
    }

    fn get(&self) -> Value {
        self.to_value()
    }

    fn set(&mut self, value: Value) -> Result<(), String> {
        *self = T::from_value(value)?;
        Ok(())
    }
}

/// An enumeration without data. A scenario writes a word for each variant.
///
/// # Examples
///
/// ```
/// use lopsided_core::Dir;
/// use lopsided_spec::{Choice, Scalar, Value};
///
/// assert_eq!(Dir::Down.word(), "down");
/// assert_eq!(Dir::from_value(Value::Word("up")), Ok(Dir::Up));
/// ```
pub trait Choice: Copy + PartialEq + 'static {
    /// All variants and their words.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the word for this variant.
    fn word(self) -> &'static str {
        // `WORDS` is a list instead of a match expression, so that each word is declared next to its variant.
        let found = Self::WORDS.iter().find(|(_, choice)| *choice == self);
        found.expect("every variant has a word").0
    }
}

impl Choice for Ecn {
    const WORDS: &'static [(&'static str, Ecn)] =
        &[("not_ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];
}

impl Choice for Dir {
    const WORDS: &'static [(&'static str, Dir)] = &[("down", Dir::Down), ("up", Dir::Up)];
}

impl<T: Choice> Scalar for T {
    const TYPE: ValueType = ValueType::Word(|| T::WORDS.iter().map(|(word, _)| *word).collect());

    fn to_value(&self) -> Value {
        Value::Word(self.word())
    }

    fn from_value(value: Value) -> Result<T, String> {
        let Value::Word(word) = value else { return wrong(value) };
        let found = T::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, choice)| *choice).ok_or_else(|| format!("unknown word `{word}`"))
    }
}

/// Returns the error for a value of the wrong type. Only a bug can cause it, because the scenario reader checks types.
fn wrong<T>(value: Value) -> Result<T, String> {
    Err(format!("the value has the wrong type: {value:?}"))
}

macro_rules! scalar {
    ($($type:ty, $kind:ident, $variant:ident;)*) => {$(
        impl Scalar for $type {
            const TYPE: ValueType = ValueType::$kind;

            fn to_value(&self) -> Value {
                Value::$variant(self.clone())
            }

            fn from_value(value: Value) -> Result<$type, String> {
                match value {
                    Value::$variant(value) => Ok(value),
                    other => wrong(other),
                }
            }
        }
    )*};
}

scalar! {
    bool, Flag, Flag;
    u64, Integer, Integer;
    f64, Probability, Number;
    BitRate, Rate, Rate;
    Duration, Time, Time;
    Bytes, Size, Size;
    String, Text, Text;
}

impl Scalar for u32 {
    const TYPE: ValueType = ValueType::Integer;

    fn to_value(&self) -> Value {
        Value::Integer(u64::from(*self))
    }

    fn from_value(value: Value) -> Result<u32, String> {
        match value {
            Value::Integer(number) => u32::try_from(number).map_err(|_| format!("{number} is too large")),
            // The field of a key of the type `ValueType::Packets` is a plain integer.
            Value::Amount(Amount::Packets(packets)) => Ok(packets),
            other => wrong(other),
        }
    }
}

/// The half-open interval between two points in time.
impl Scalar for (Time, Time) {
    const TYPE: ValueType = ValueType::Period;

    fn to_value(&self) -> Value {
        // In a scenario, points in time are written as times since the start of the run.
        Value::Period(self.0 - Time::ZERO, self.1 - Time::ZERO)
    }

    fn from_value(value: Value) -> Result<(Time, Time), String> {
        match value {
            Value::Period(from, to) => Ok((Time::ZERO + from, Time::ZERO + to)),
            other => wrong(other),
        }
    }
}

/// An optional key.
impl<T: Scalar> Scalar for Option<T> {
    const TYPE: ValueType = T::TYPE;
    const OPTIONAL: bool = true;

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::to_value)
    }

    fn from_value(value: Value) -> Result<Option<T>, String> {
        match value {
            Value::None => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: Scalar> Scalar for Vec<T> {
    const TYPE: ValueType = ValueType::List(&T::TYPE);

    fn to_value(&self) -> Value {
        Value::List(self.iter().map(T::to_value).collect())
    }

    fn from_value(value: Value) -> Result<Vec<T>, String> {
        match value {
            // A list that the scenario does not set is empty.
            Value::None => Ok(Vec::new()),
            Value::List(values) => values.into_iter().map(T::from_value).collect(),
            other => wrong(other),
        }
    }
}
