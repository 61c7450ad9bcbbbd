//! A family: parts of which a scenario chooses one by `kind`.

use crate::{AnyPart, Part, PartInfo};

/// Parts of which a scenario chooses one by `kind`, such as the queue disciplines.
#[derive(Debug)]
pub struct Family {
    /// Names the table in messages and in the reference.
    pub name: &'static str,
    /// One sentence for lists and the reference.
    pub text: &'static str,
    /// The key that a single value in place of the table stands for.
    pub shorthand: Option<&'static str>,
    /// Whether the keys that are given tell the kind where it is not named.
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
        (self.members)().iter().map(|member| member.info.name).collect()
    }
}
