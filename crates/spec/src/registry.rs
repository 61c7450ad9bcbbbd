//! Registries of objects that a scenario can select by name: built-in objects and objects of users.

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
    /// Returns the name by which a scenario selects the object.
    fn name(&self) -> &'static str;
}

/// All objects that one key of a scenario can select. A registered object is available to all scenarios of the process.
///
/// Objects of a single run belong to its `RunControllers` (crate `tcp`) or `RunApplications` (crate `app`).
#[derive(Debug)]
pub struct Registry<T: 'static> {
    /// Functions that create the built-in objects. The first function creates the default object.
    built_in: &'static [fn() -> T],
    registered: RwLock<Vec<T>>,
}

impl<T: Named> Registry<T> {
    /// Creates a registry with these built-in objects.
    pub const fn new(built_in: &'static [fn() -> T]) -> Registry<T> {
        Registry { built_in, registered: RwLock::new(Vec::new()) }
    }

    /// Returns all objects. The first object is the default.
    pub fn all(&self) -> Vec<T> {
        // The list is valid even if a thread panicked while it held the lock, so ignore the poisoning.
        let registered = self.registered.read().unwrap_or_else(PoisonError::into_inner);
        self.built_in.iter().map(|make| make()).chain(registered.iter().cloned()).collect()
    }

    /// Returns all names: the names of the built-in objects, followed by the names of the registered objects.
    pub fn names(&self) -> Vec<&'static str> {
        self.all().iter().map(T::name).collect()
    }

    /// Returns the object with this name; `None` if there is no such object.
    pub fn find(&self, name: &str) -> Option<T> {
        self.all().into_iter().find(|known| known.name() == name)
    }

    /// Adds an object, or replaces a registered object of the same name.
    ///
    /// # Errors
    /// Returns [`NameTaken`] if a built-in object already has this name.
    pub fn register(&self, own: T) -> Result<(), NameTaken> {
        let name = own.name();
        // Replacing a built-in object would change every scenario that uses it.
        if self.built_in.iter().any(|make| make().name() == name) {
            return Err(NameTaken(name));
        }
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        // If a notebook defines a class a second time, the new class replaces the old one.
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

/// One kind of a family, with its constructor. The crate that owns the family defines the constructor's type `B`.
#[derive(Clone, Debug)]
pub struct Kind<B> {
    /// The name and the description of the kind.
    pub member: Member,
    /// The constructor, which builds the object from its settings.
    pub build: B,
}

impl<B: Clone> Named for Kind<B> {
    fn name(&self) -> &'static str {
        self.member.info.name
    }
}

impl<B> Kind<B> {
    /// Creates the kind whose settings have the type `P`.
    pub fn of<P: Part>(build: B) -> Kind<B> {
        Kind { member: Member::of::<P>(), build }
    }
}

impl<B: Clone> Registry<Kind<B>> {
    /// Returns the kinds in the form that a [`crate::Family`] needs.
    pub fn members(&self) -> Vec<Member> {
        self.all().into_iter().map(|kind| kind.member).collect()
    }
}

/// The settings of the selected kind of a family, together with the constructor of that kind.
#[derive(Clone)]
pub struct Chosen<B> {
    /// The settings.
    pub part: Box<dyn AnyPart>,
    /// The constructor, which builds the object from its settings.
    pub build: B,
}

impl<B: Clone> Chosen<B> {
    /// Combines settings with their constructor.
    pub fn new<P: Part>(settings: P, build: B) -> Chosen<B> {
        Chosen { part: Box::new(settings), build }
    }

    /// Returns the kind's name.
    pub fn kind(&self) -> &'static str {
        self.part.info().name
    }

    /// Returns the settings as the value of a key.
    pub fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    /// Converts the value of a key whose type is the family of these kinds.
    ///
    /// # Errors
    /// Returns an error if the value is not a table, or the kind is not registered.
    pub fn from_value(value: Value, kinds: &Registry<Kind<B>>) -> Result<Chosen<B>, String> {
        // The scenario reader always passes a part for a key of a family.
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
