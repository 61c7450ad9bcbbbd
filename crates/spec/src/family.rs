//! Families: several parts, one of which a scenario selects by `kind`.

use crate::{AnyPart, Part, PartInfo};

/// Several parts, one of which a scenario selects by `kind`. For example, the queue disciplines form a family.
#[derive(Debug)]
pub struct Family {
    /// Name of the table, for error messages and the reference page.
    pub name: &'static str,
    /// Description in one sentence, for lists and the reference page.
    pub text: &'static str,
    /// The key that is set if a scenario has a single value instead of a table: `queue = "15 packets"` sets `limit`.
    pub shorthand: Option<&'static str>,
    /// True if a scenario may omit `kind` when the other keys identify it.
    pub infer_kind: bool,
    /// Returns the kinds; the default is first.
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
    /// Returns the names of the kinds; the default is first.
    pub fn kinds(&self) -> Vec<&'static str> {
        // `members` is a function, because users can register kinds at run time.
        (self.members)().iter().map(|member| member.info.name).collect()
    }
}
