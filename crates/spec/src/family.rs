//! Families: groups of parts. A scenario selects one part of a family by the key `kind`.

use crate::{AnyPart, Part, PartInfo};

/// A group of parts, such as all queue disciplines. A scenario selects one of them by the key `kind`.
#[derive(Debug)]
pub struct Family {
    /// Name of the table, for error messages and the reference page.
    pub name: &'static str,
    /// Description in one sentence, for lists and the reference page.
    pub text: &'static str,
    /// The key that a single value sets. Example: `queue = "15 packets"` sets `limit`.
    pub shorthand: Option<&'static str>,
    /// Determines the kind if a table has no key `kind`. True: the first kind that has all keys of the table. False:
    /// the default kind.
    pub infer_kind: bool,
    /// Returns the kinds. The first kind is the default.
    pub members: fn() -> Vec<Member>,
}

/// One kind of a family.
#[derive(Clone, Debug)]
pub struct Member {
    /// The part's declaration.
    pub info: PartInfo,
    /// The part with default settings.
    pub part: Box<dyn AnyPart>,
}

impl Member {
    /// Returns the kind whose settings have the type `P`.
    pub fn of<P: Part>() -> Member {
        Member { info: PartInfo::of::<P>(), part: Box::new(P::default()) }
    }
}

impl Family {
    /// Returns the names of the kinds. The first kind is the default.
    pub fn kinds(&self) -> Vec<&'static str> {
        // `members` is a function, because users can register kinds at run time.
        (self.members)().iter().map(|member| member.info.name).collect()
    }
}
