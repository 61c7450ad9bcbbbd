//! Families: several parts of which a scenario chooses one by `kind`.

use crate::{AnyPart, Part, PartInfo};

/// Several parts of which a scenario chooses one by `kind`, for example the queue disciplines.
#[derive(Debug)]
pub struct Family {
    /// Name of the table, in error messages and in the reference.
    pub name: &'static str,
    /// One sentence for lists and the reference.
    pub text: &'static str,
    /// The key that a bare value sets if it stands where a table is expected: `queue = "15 packets"` sets `limit`.
    pub shorthand: Option<&'static str>,
    /// True if `kind` may be omitted when the other keys identify the kind.
    pub infer_kind: bool,
    /// The kinds, the default first.
    pub members: fn() -> Vec<Member>,
}

/// One kind of a family.
#[derive(Clone, Debug)]
pub struct Member {
    /// The part's declaration.
    pub info: PartInfo,
    /// The part with its defaults.
    pub part: Box<dyn AnyPart>,
}

impl Member {
    /// The kind whose settings are `P`.
    pub fn of<P: Part>() -> Member {
        Member { info: PartInfo::of::<P>(), part: Box::new(P::default()) }
    }
}

impl Family {
    /// The names of the kinds, the default first.
    pub fn kinds(&self) -> Vec<&'static str> {
        // A function, because users register kinds at run time.
        (self.members)().iter().map(|member| member.info.name).collect()
    }
}
