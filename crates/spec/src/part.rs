//! Parts: structs of settings, and the declarations of their keys.

use crate::{Setting, Value, ValueType};
use lopsided_core::BitRate;
use std::any::Any;
use std::fmt::{self, Debug};

/// A struct of settings with scenario keys. The [crate documentation](crate) contains an example.
///
/// # Examples
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_spec::{AnyPart, Key, Part, Value, key};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Delay {
///     delay: Duration,
/// }
///
/// impl Part for Delay {
///     const NAME: &'static str = "delay";
///     const TEXT: &'static str = "Delays every packet.";
///     const KEYS: &'static [Key<Delay>] = &[key("delay", |part: &mut Self| &mut part.delay, "How long a packet waits.")];
/// }
///
/// let mut part = Delay::default();
/// part.set("delay", Value::Time(Duration::from_millis(5)))?;
/// assert_eq!(part, Delay { delay: Duration::from_millis(5) });
/// # Ok::<(), String>(())
/// ```
pub trait Part: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Name of the part. In a family, this name is the value of `kind`.
    const NAME: &'static str;
    /// Describes in one sentence what the part models, for the reference page and for editors.
    const TEXT: &'static str;
    /// The key that a single value sets. Example: `queue = "15 packets"` sets `limit`.
    const SHORTHAND: Option<&'static str> = None;
    /// The keys, in the order of the reference page.
    const KEYS: &'static [Key<Self>];
    /// Named sets of values that a scenario can select; `None` if the part has no presets.
    const PRESETS: Option<Presets<Self>> = None;
    /// Groups of keys that exclude each other. If several tables set keys of a group, the key in the most specific
    /// table applies.
    const EXCLUSIVE: &'static [&'static [&'static str]] = &[];

    /// Computes missing settings that depend on other keys or on the line.
    ///
    /// # Errors
    /// Returns an error if the settings cannot be completed.
    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Checks the settings as a whole. [`Part::check_all`] calls this method.
    ///
    /// # Errors
    /// Returns an error if the settings contradict each other or are impossible.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Checks each value, also of inner parts, and then the settings as a whole. The constructor of the part calls this
    /// method, because a struct in a program may contain values that a scenario cannot: a rate of zero or a number that
    /// is not finite.
    ///
    /// # Errors
    /// Returns an error if a value is outside the range of its type, or an error of [`Part::check`].
    fn check_all(&self) -> Result<(), Fault> {
        // A key can access its field only in a mutable struct.
        let mut copy = self.clone();
        for key in Self::KEYS {
            let field = (key.field)(&mut copy);
            check_value(key.name, key.value_type.unwrap_or_else(|| field.value_type()), &field.get())?;
        }
        self.check()
    }
}

/// Returns an error if the value is outside the range of its type.
fn check_value(key: &'static str, value_type: ValueType, value: &Value) -> Result<(), Fault> {
    match (value, value_type) {
        (Value::Rate(rate), _) if rate.as_bps() == 0 => Err(Fault::new(key, "a rate must be at least 1 bit/s")),
        (Value::Number(number), ValueType::Probability) if !(0.0..=1.0).contains(number) => {
            Err(Fault::new(key, "a probability must be from 0 to 1"))
        }
        (Value::Number(number), _) if !number.is_finite() || *number < 0.0 => {
            Err(Fault::new(key, "a number must be finite and at least 0"))
        }
        (Value::List(values), ValueType::List(inner) | ValueType::OneOrMore(inner)) => {
            values.iter().try_for_each(|value| check_value(key, *inner, value))
        }
        (Value::Part(part), _) => part.check_all(),
        _ => Ok(()),
    }
}

/// Presets of a part, and the key that selects one of them. Other keys override the values of the preset.
#[derive(Debug)]
pub struct Presets<P: 'static> {
    /// The key that selects a preset.
    pub key: &'static str,
    /// Description in one sentence, for the reference page.
    pub text: &'static str,
    /// The word for a preset in error messages, such as `framing` in "unknown framing".
    pub noun: &'static str,
    /// The presets, by name.
    pub named: &'static [(&'static str, P)],
}

/// One key of a part. Create it with [`key`].
pub struct Key<P> {
    /// Name of the key in a scenario.
    pub name: &'static str,
    field: fn(&mut P) -> &mut dyn Setting,
    /// Description in one sentence, for the reference page.
    pub text: &'static str,
    default_text: Option<&'static str>,
    example: Option<&'static str>,
    none_word: Option<&'static str>,
    value_type: Option<ValueType>,
    input_only: bool,
}

/// Declares a key: its name, the field that it sets, and its meaning in one sentence.
pub const fn key<P>(name: &'static str, field: fn(&mut P) -> &mut dyn Setting, text: &'static str) -> Key<P> {
    Key { name, field, text, default_text: None, example: None, none_word: None, value_type: None, input_only: false }
}

impl<P> Key<P> {
    /// Describes the default in words. Required if the default depends on other keys.
    #[must_use]
    pub const fn default_text(mut self, text: &'static str) -> Key<P> {
        self.default_text = Some(text);
        self
    }

    /// Makes the key mandatory. `example` is a valid value in TOML, for error messages.
    #[must_use]
    pub const fn required(mut self, example: &'static str) -> Key<P> {
        self.example = Some(example);
        self
    }

    /// Sets the word that means `None` in a scenario, such as `"unlimited"`.
    #[must_use]
    pub const fn none_word(mut self, word: &'static str) -> Key<P> {
        self.none_word = Some(word);
        self
    }

    /// Marks a key that is read but never written, because other keys express its effect.
    #[must_use]
    pub const fn input_only(mut self) -> Key<P> {
        self.input_only = true;
        self
    }

    /// Sets the value type, which otherwise follows from the field. Examples: [`ValueType::Packets`] for a `u32`,
    /// [`ValueType::Number`] for an `f64`.
    #[must_use]
    pub const fn typed(mut self, value_type: ValueType) -> Key<P> {
        self.value_type = Some(value_type);
        self
    }
}

impl<P> Debug for Key<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The declaration of a key, independent of the type of its part.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// The key's name.
    pub name: &'static str,
    /// Type of the key's value.
    pub value_type: ValueType,
    /// Description in one sentence, for the reference page.
    pub text: &'static str,
    /// The value if the scenario does not set the key.
    pub default: Value,
    /// Description of the default in words, if the default depends on other keys.
    pub default_text: Option<&'static str>,
    /// A valid value in TOML, if the key is mandatory; `None` if the key is optional.
    pub example: Option<&'static str>,
    /// The word that means [`Value::None`] in a scenario.
    pub none_word: Option<&'static str>,
    /// True if the key is read but never written, because other keys express its effect.
    pub input_only: bool,
    /// The word for the key's value in error messages, if it differs from the key's name.
    pub noun: Option<&'static str>,
    /// True if [`Value::None`] is a valid value.
    pub optional: bool,
}

impl KeyInfo {
    /// Creates a key without a field: its value is a table, or special code reads the value.
    pub fn new(name: &'static str, value_type: ValueType, text: &'static str) -> KeyInfo {
        KeyInfo {
            name,
            value_type,
            text,
            default: Value::None,
            default_text: None,
            example: None,
            none_word: None,
            input_only: false,
            noun: None,
            optional: true,
        }
    }

    /// Describes the default in words.
    #[must_use]
    pub fn default_text(self, text: &'static str) -> KeyInfo {
        KeyInfo { default_text: Some(text), ..self }
    }

    /// Sets the word that means [`Value::None`] in a scenario.
    #[must_use]
    pub fn none_word(self, word: &'static str) -> KeyInfo {
        KeyInfo { none_word: Some(word), ..self }
    }
}

/// The declaration of a part, independent of its type: a table of keys.
#[derive(Clone, Debug)]
pub struct PartInfo {
    /// The part's name.
    pub name: &'static str,
    /// Description in one sentence, for the reference page.
    pub text: &'static str,
    /// The key that a single value sets. Example: `queue = "15 packets"` sets `limit`.
    pub shorthand: Option<&'static str>,
    /// The keys, in the order of the reference page.
    pub keys: Vec<KeyInfo>,
    /// Groups of keys. A table may set at most one key of each group.
    pub exclusive: &'static [&'static [&'static str]],
    /// Creates the part with default settings; `None` if special code reads the table.
    pub make: Option<fn() -> Box<dyn AnyPart>>,
}

impl PartInfo {
    /// Returns the declaration of the part `P`.
    pub fn of<P: Part>() -> PartInfo {
        let keys = keys_of::<P>();
        let make: fn() -> Box<dyn AnyPart> = || Box::new(P::default());
        PartInfo {
            name: P::NAME,
            text: P::TEXT,
            shorthand: P::SHORTHAND,
            keys,
            exclusive: P::EXCLUSIVE,
            make: Some(make),
        }
    }

    /// Returns the declaration of a key; `None` if the part has no such key.
    pub fn key(&self, name: &str) -> Option<&KeyInfo> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns the names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.keys.iter().map(|key| key.name)
    }
}

fn keys_of<P: Part>() -> Vec<KeyInfo> {
    // A key can access its field only in a struct, so read the default from a struct with default settings.
    let mut usual = P::default();
    let describe = |key: &Key<P>| {
        let field = (key.field)(&mut usual);
        KeyInfo {
            name: key.name,
            value_type: key.value_type.unwrap_or_else(|| field.value_type()),
            text: key.text,
            default: field.get(),
            default_text: key.default_text,
            example: key.example,
            none_word: key.none_word,
            input_only: key.input_only,
            noun: None,
            optional: field.is_optional(),
        }
    };
    // A resolved scenario contains the values of the preset instead of the key that selects the preset.
    let preset = P::PRESETS.map(|presets| KeyInfo {
        input_only: true,
        noun: Some(presets.noun),
        ..KeyInfo::new(presets.key, ValueType::Word(preset_names::<P>), presets.text)
    });
    preset.into_iter().chain(P::KEYS.iter().map(describe)).collect()
}

fn preset_names<P: Part>() -> Vec<&'static str> {
    P::PRESETS.iter().flat_map(|presets| presets.named).map(|(name, _)| *name).collect()
}

/// Returns the preset that the value selects; `None` if `key` is not the key that selects presets.
fn preset<P: Part>(key: &str, value: &Value) -> Option<P> {
    let presets = P::PRESETS.filter(|presets| presets.key == key)?;
    let Value::Word(name) = value else { return None };
    presets.named.iter().find(|(known, _)| known == name).map(|(_, settings)| settings.clone())
}

/// A part of any type, as a trait object. Every [`Part`] implements this trait.
///
/// # Examples
///
/// The settings of a discipline, set and read without naming their type:
///
/// ```
/// use lopsided_spec::{AnyPart, Key, Part, Value, key};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Fifo {
///     limit: u32,
/// }
///
/// impl Part for Fifo {
///     const NAME: &'static str = "fifo";
///     const TEXT: &'static str = "First in, first out.";
///     const KEYS: &'static [Key<Fifo>] = &[key("limit", |part: &mut Self| &mut part.limit, "Packets that may wait.")];
/// }
///
/// let mut part: Box<dyn AnyPart> = Box::new(Fifo::default());
/// part.set("limit", Value::Integer(15))?;
/// assert_eq!(part.info().name, "fifo");
/// assert_eq!(part.downcast::<Fifo>(), Some(&Fifo { limit: 15 }));
/// assert!(part.set("limt", Value::Integer(15)).is_err());
/// # Ok::<(), String>(())
/// ```
pub trait AnyPart: Any + Debug + Send + Sync {
    /// Returns the part's declaration.
    fn info(&self) -> PartInfo;
    /// Returns the value of a key; [`Value::None`] if the part has no such key.
    fn get(&self, key: &str) -> Value;
    /// Sets a key.
    ///
    /// # Errors
    /// Returns a message for the author of the scenario if the key does not exist or the value does not fit.
    fn set(&mut self, key: &str, value: Value) -> Result<(), String>;
    /// See [`Part::complete`].
    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault>;
    /// See [`Part::check`].
    fn check(&self) -> Result<(), Fault>;
    /// See [`Part::check_all`].
    ///
    /// # Errors
    /// Returns the errors of [`AnyPart::check`], and for a [`Part`] also an error if a value is impossible.
    fn check_all(&self) -> Result<(), Fault> {
        self.check()
    }
    /// Returns a boxed copy.
    fn boxed_clone(&self) -> Box<dyn AnyPart>;
    /// True if the other part has the same type and value.
    fn equals(&self, other: &dyn AnyPart) -> bool;
    /// Returns the part as `Any`, for downcasting.
    fn as_any(&self) -> &dyn Any;
}

impl<P: Part> AnyPart for P {
    fn info(&self) -> PartInfo {
        PartInfo::of::<P>()
    }

    fn get(&self, name: &str) -> Value {
        let found = P::KEYS.iter().find(|key| key.name == name);
        // `field` needs a mutable reference to the part, so call it on a copy.
        found.map_or(Value::None, |key| (key.field)(&mut self.clone()).get())
    }

    fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        // A preset replaces all settings. The key that selects the preset is the first key of the part, so later keys
        // override the values of the preset.
        if let Some(settings) = preset::<P>(name, &value) {
            *self = settings;
            return Ok(());
        }
        let found = P::KEYS.iter().find(|key| key.name == name);
        let key = found.ok_or_else(|| format!("there is no key `{name}`"))?;
        (key.field)(self).set(value)
    }

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        Part::complete(self, given)
    }

    fn check(&self) -> Result<(), Fault> {
        Part::check(self)
    }

    fn check_all(&self) -> Result<(), Fault> {
        Part::check_all(self)
    }

    fn boxed_clone(&self) -> Box<dyn AnyPart> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnyPart) -> bool {
        // Parts of different types are never equal.
        other.downcast() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl dyn AnyPart {
    /// Returns the settings; `None` if the part has another type.
    pub fn downcast<P: Part>(&self) -> Option<&P> {
        self.as_any().downcast_ref()
    }
}

impl Clone for Box<dyn AnyPart> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

impl PartialEq for dyn AnyPart {
    fn eq(&self, other: &dyn AnyPart) -> bool {
        self.equals(other)
    }
}

/// The keys that a scenario sets, and the context of the part, for [`Part::complete`].
#[derive(Clone, Copy, Debug)]
pub struct Given<'g> {
    /// Names of the keys that the scenario sets.
    pub keys: &'g [&'g str],
    /// Name of the selected preset; `None` if the scenario selects no preset.
    pub preset: Option<&'g str>,
    /// Rate of the part's link. `None` if the part has no link or if the rate is unlimited.
    pub line_rate: Option<BitRate>,
    /// True if the link has a token bucket, which peeks at the head packet before it dequeues the packet.
    pub line_peeks: bool,
    /// The folder of the scenario file. Relative paths in the scenario start from this folder.
    pub folder: &'g str,
}

impl Given<'_> {
    /// True if the scenario sets this key.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }
}

/// An error in the settings of a part.
///
/// # Examples
///
/// ```
/// use lopsided_spec::Fault;
///
/// let fault = Fault::new("limit", "the limit is smaller than one packet").help("write at least 1500 B");
/// assert_eq!(fault.to_string(), "the limit is smaller than one packet; write at least 1500 B");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key that contains the error.
    pub key: &'static str,
    /// Description of the error in one sentence, without a full stop.
    pub message: String,
    /// Advice on how to correct the error, if there is any.
    pub help: Option<String>,
}

impl Fault {
    /// Creates an error at a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Fault {
        Fault { key, message: message.into(), help: None }
    }

    #[must_use]
    /// Adds advice on how to correct the error.
    pub fn help(self, help: impl Into<String>) -> Fault {
        Fault { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.help {
            Some(help) => write!(f, "{}; {help}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Fault {}
