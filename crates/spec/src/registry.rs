//! What a name in a scenario can mean: what is built in, and what users registered beside it.

use crate::{AnyPart, Member, Part, Value};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Something that scenarios choose by a name.
pub trait Named: Clone {
    /// The name under which the entry is chosen.
    fn name(&self) -> &'static str;
}

/// All that one key of a scenario may name. What is registered is known to every scenario of the process.
///
/// What is brought to one run alone, code without settings, is in that run's `RunControllers` (crate `tcp`) or
/// `RunApplications` (crate `app`).
#[derive(Debug)]
pub struct Registry<T: 'static> {
    /// The default first.
    built_in: &'static [fn() -> T],
    registered: RwLock<Vec<T>>,
}

impl<T: Named> Registry<T> {
    /// A registry with these built-in entries.
    pub const fn new(built_in: &'static [fn() -> T]) -> Registry<T> {
        Registry { built_in, registered: RwLock::new(Vec::new()) }
    }

    /// All of them, the default first.
    pub fn all(&self) -> Vec<T> {
        let registered = self.registered.read().unwrap_or_else(PoisonError::into_inner);
        self.built_in.iter().map(|make| make()).chain(registered.iter().cloned()).collect()
    }

    /// All names: the built-in ones, then the registered ones.
    pub fn names(&self) -> Vec<&'static str> {
        self.all().iter().map(T::name).collect()
    }

    /// The entry with a name; `None` if there is none.
    pub fn find(&self, name: &str) -> Option<T> {
        self.all().into_iter().find(|known| known.name() == name)
    }

    /// Adds one of a user's own.
    ///
    /// # Errors
    /// If the name is that of a built-in one. One that was registered before under the name is replaced.
    pub fn register(&self, own: T) -> Result<(), NameTaken> {
        let name = own.name();
        if self.built_in.iter().any(|make| make().name() == name) {
            return Err(NameTaken(name));
        }
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|known| known.name() != name);
        registered.push(own);
        Ok(())
    }
}

/// The name of something built in, wanted for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is built in: choose another name", self.0)
    }
}

impl std::error::Error for NameTaken {}

/// One kind of a family, and `B`, which its crate does with the settings of that kind.
#[derive(Clone, Debug)]
pub struct Kind<B> {
    /// Name and text of the kind.
    pub member: Member,
    /// Builds the object from its settings.
    pub build: B,
}

impl<B: Clone> Named for Kind<B> {
    fn name(&self) -> &'static str {
        self.member.info.name
    }
}

impl<B> Kind<B> {
    /// The kind whose settings are `P`.
    pub fn of<P: Part>(build: B) -> Kind<B> {
        Kind { member: Member::of::<P>(), build }
    }
}

impl<B: Clone> Registry<Kind<B>> {
    /// The kinds, for a [`crate::Family`].
    pub fn members(&self) -> Vec<Member> {
        self.all().into_iter().map(|kind| kind.member).collect()
    }
}

/// The settings of one kind of a family, as plain data.
#[derive(Clone)]
pub struct Chosen<B> {
    /// The settings.
    pub part: Box<dyn AnyPart>,
    /// Builds the object from its settings.
    pub build: B,
}

impl<B: Clone> Chosen<B> {
    /// Settings with the function that builds from them.
    pub fn new<P: Part>(settings: P, build: B) -> Chosen<B> {
        Chosen { part: Box::new(settings), build }
    }

    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        self.part.info().name
    }

    /// As the value of a key.
    pub fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    /// The value of a key whose type is the family of the registry's kinds.
    pub fn from_value(value: Value, kinds: &Registry<Kind<B>>) -> Result<Chosen<B>, String> {
        let Value::Part(part) = value else { return Err("this must be a table".to_owned()) };
        let kind = part.info().name;
        let found = kinds.find(kind).ok_or_else(|| format!("there is no kind `{kind}`"))?;
        Ok(Chosen { part, build: found.build })
    }
}

impl<B> fmt::Debug for Chosen<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl<B> PartialEq for Chosen<B> {
    fn eq(&self, other: &Chosen<B>) -> bool {
        *self.part == *other.part
    }
}
