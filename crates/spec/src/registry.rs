//! Registries: the names that a scenario can choose from, built in or registered by users.

use crate::{AnyPart, Member, Part, Value};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// An object that scenarios choose by its name.
///
/// # Examples
///
/// ```
/// use lopsided_spec::{Named, Registry};
///
/// #[derive(Clone)]
/// struct Colour(&'static str);
///
/// impl Named for Colour {
///     fn name(&self) -> &'static str {
///         self.0
///     }
/// }
///
/// static COLOURS: Registry<Colour> = Registry::new(&[|| Colour("red"), || Colour("blue")]);
///
/// COLOURS.register(Colour("green")).expect("the name is free");
/// assert_eq!(COLOURS.names(), ["red", "blue", "green"]);
/// assert!(COLOURS.register(Colour("red")).is_err(), "a built-in name cannot be replaced");
/// ```
pub trait Named: Clone {
    /// The name under which the entry is chosen.
    fn name(&self) -> &'static str;
}

/// All objects that a key of a scenario can name. A registered object is available to all scenarios of the process.
///
/// Objects for a single run, which have no settings, belong to the run's `RunControllers` (crate `tcp`) or
/// `RunApplications` (crate `app`).
#[derive(Debug)]
pub struct Registry<T: 'static> {
    /// The built-in objects, the default first.
    built_in: &'static [fn() -> T],
    registered: RwLock<Vec<T>>,
}

impl<T: Named> Registry<T> {
    /// A registry with these built-in entries.
    pub const fn new(built_in: &'static [fn() -> T]) -> Registry<T> {
        Registry { built_in, registered: RwLock::new(Vec::new()) }
    }

    /// All objects, the default first.
    pub fn all(&self) -> Vec<T> {
        // A panic in another thread leaves the list valid, so a poisoned lock is used as it is.
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

    /// Adds an object, or replaces a registered object of the same name.
    ///
    /// # Errors
    /// If a built-in object has the name.
    pub fn register(&self, own: T) -> Result<(), NameTaken> {
        let name = own.name();
        // Replacing a built-in would change all scenarios that use it.
        if self.built_in.iter().any(|make| make().name() == name) {
            return Err(NameTaken(name));
        }
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        // A notebook that defines its class again replaces the old one.
        registered.retain(|known| known.name() != name);
        registered.push(own);
        Ok(())
    }
}

/// A built-in object already has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is built in: choose another name", self.0)
    }
}

impl std::error::Error for NameTaken {}

/// One kind of a family, with the constructor `B` of the crate that owns the family.
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

    /// The settings as the value of a key.
    pub fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    /// Converts the value of a key whose type is the family of these kinds.
    ///
    /// # Errors
    /// If the value is no table, or the kind is not registered.
    pub fn from_value(value: Value, kinds: &Registry<Kind<B>>) -> Result<Chosen<B>, String> {
        // The scenario reader passes parts for keys of a family.
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
