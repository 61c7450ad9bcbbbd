//! The keys of `[[topology.link]]` and `[topology.dumbbell]` that are neither link settings nor ends.

use lopsided_spec::ValueType::Name;
use lopsided_spec::{Fault, Key, Part, key};

/// Maximum number of host pairs. A larger number is assumed to be a typing error.
const MOST_PAIRS: u32 = 50_000;

/// The keys of `[[topology.link]]`, except the ends and the link settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopologyLinkPart {
    pub name: Option<String>,
    pub one_way: bool,
}

impl Part for TopologyLinkPart {
    const NAME: &'static str = "topology link";
    const TEXT: &'static str = "A link between two nodes. Keys next to `down` and `up` apply to both directions, unless a direction \
        sets the same key.";
    const KEYS: &'static [Key<TopologyLinkPart>] = &[
        key("name", |link: &mut Self| &mut link.name, "Default: the names of the two nodes, joined by -.").typed(Name),
        key("one_way", |link| &mut link.one_way, "If true, no route uses the link from the second node to the first."),
    ];
}

/// The keys of `[topology.dumbbell]`, except the link settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DumbbellPart {
    pub pairs: u32,
}

impl Part for DumbbellPart {
    const NAME: &'static str = "dumbbell";
    const TEXT: &'static str = "Hosts leftN and rightN are connected to two routers with one bottleneck link between them. `down` runs from left to right.";
    const KEYS: &'static [Key<DumbbellPart>] =
        &[key("pairs", |dumbbell: &mut Self| &mut dumbbell.pairs, "Number of hosts on each side.").required("20")];

    fn check(&self) -> Result<(), Fault> {
        match self.pairs {
            0 => Err(Fault::new("pairs", "this must be at least 1")),
            pairs if pairs > MOST_PAIRS => {
                let message = format!("{pairs} pairs of hosts are too many: at most {MOST_PAIRS} are allowed");
                Err(Fault::new("pairs", message))
            }
            _ => Ok(()),
        }
    }
}
