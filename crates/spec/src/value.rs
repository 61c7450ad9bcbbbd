//! What may stand after a key: its type, and its value once read.

use crate::part::PartInfo;
use crate::{AnyPart, Family, Part};
use lopsided_core::{BitRate, Bytes, Dir, Duration, Ecn, Time};

/// The type and unit of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 up.
    Integer,
    /// A number from 0 up, with or without a fraction.
    Number,
    /// A number from 0 to 1, or a percentage.
    Probability,
    /// Bits per second: `"2.4 Mbit/s"`.
    Rate,
    /// `"20 ms"`.
    Time,
    /// Octets: `"1500 B"`.
    Size,
    /// What a buffer holds: packets, octets, bins; a time or BDP becomes octets at the line's rate.
    Limit,
    /// A depth of a queue: packets or octets; a time or BDP becomes octets at the line's rate.
    Depth,
    /// As `Depth`, but a time stays a time: how long a packet waits.
    DepthOrTime,
    /// `"1000 packets"`.
    Packets,
    /// Full segments or octets: `"10 segments"`, `"64 KiB"`.
    Window,
    /// One of these words. Where `on` and `off` are among them, `true` and `false` stand for them.
    Word(fn() -> Vec<&'static str>),
    /// The kind of a family's part.
    Kind(&'static Family),
    /// Any text.
    Text,
    /// Letters, digits, `-` and `_`.
    Name,
    /// Two names.
    Names,
    /// Two instants, the second later.
    Period,
    /// One part with its keys.
    Part(fn() -> PartInfo),
    /// One part of several kinds.
    Family(&'static Family),
    /// Parts of one type under names of the user's choice.
    Map(fn() -> PartInfo),
    /// A list of values of one type.
    List(&'static ValueType),
    /// One value, or a list of them.
    OneOrMore(&'static ValueType),
    /// Any table: its reader knows.
    Free,
}

/// A value as read, in the unit of account.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not given, or the word that says "none".
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
    /// Any text.
    Text(String),
    /// Two times: a period and a part of it.
    Period(Duration, Duration),
    /// A table of keys.
    Part(Box<dyn AnyPart>),
    /// A list of values.
    List(Vec<Value>),
}

/// An amount that may be counted in several units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of packets.
    Packets(u32),
    /// A number of segments.
    Segments(u32),
    /// IP octets.
    Bytes(Bytes),
    /// `count` cells of memory of `size` octets.
    Bins {
        /// Number of bins.
        count: u32,
        /// Size of a bin.
        size: Bytes,
    },
    /// The data that the rate sends in this time.
    Time(Duration),
}

impl Value {
    /// A part as a value; [`part_value!`](crate::part_value) makes it one of a key.
    pub fn of_part<P: Part>(part: &P) -> Value {
        Value::Part(Box::new(part.clone()))
    }

    /// The part, if it is of this type.
    pub fn into_part<P: Part>(self) -> Result<P, String> {
        match &self {
            Value::Part(part) => part.downcast::<P>().cloned().ok_or_else(|| format!("this is no {}", P::NAME)),
            _ => wrong(self),
        }
    }
}

/// A Rust type that a key's value may have.
///
/// `from_value` gets a value of `TYPE`. An error is a message for whoever wrote the file.
pub trait Scalar: Sized {
    /// The type of value that a key of this type takes.
    const TYPE: ValueType;
    /// Whether [`Value::None`] is one of its values.
    const OPTIONAL: bool = false;
    /// The value of a setting.
    fn to_value(&self) -> Value;
    /// The setting of a value. The error says what is wrong.
    fn from_value(value: Value) -> Result<Self, String>;
}

/// A field that a key reads and writes, whatever its type.
pub trait Setting {
    /// The type of value.
    fn value_type(&self) -> ValueType;
    /// True if the setting may be absent.
    fn is_optional(&self) -> bool;
    /// The current value.
    fn get(&self) -> Value;
    /// Changes the value. The error says what is wrong.
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

/// An enumeration without data, whose variants have words in a scenario.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words and their values.
    const WORDS: &'static [(&'static str, Self)];

    /// The word of this variant.
    fn word(self) -> &'static str {
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
        found.map(|(_, choice)| *choice).ok_or_else(|| format!("`{word}` is not known here"))
    }
}

/// The reader gives values of the declared type only.
fn wrong<T>(value: Value) -> Result<T, String> {
    Err(format!("this is no value of the key's type: {value:?}"))
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
            Value::Integer(number) => u32::try_from(number).map_err(|_| format!("{number} is larger than can be held")),
            Value::Amount(Amount::Packets(packets)) => Ok(packets),
            other => wrong(other),
        }
    }
}

/// The first instant, and the one just after the last.
impl Scalar for (Time, Time) {
    const TYPE: ValueType = ValueType::Period;

    fn to_value(&self) -> Value {
        Value::Period(self.0 - Time::ZERO, self.1 - Time::ZERO)
    }

    fn from_value(value: Value) -> Result<(Time, Time), String> {
        match value {
            Value::Period(from, to) => Ok((Time::ZERO + from, Time::ZERO + to)),
            other => wrong(other),
        }
    }
}

/// A key that need not be given.
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
            Value::None => Ok(Vec::new()),
            Value::List(values) => values.into_iter().map(T::from_value).collect(),
            other => wrong(other),
        }
    }
}
