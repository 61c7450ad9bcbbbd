//! What `[topology]` says of a link itself and of a dumbbell: their lines and ends are tables and names beside these
//! keys.

use lopsided_spec::ValueType::Name;
use lopsided_spec::{Fault, Key, Part, key};

/// More pairs of hosts than this are a slip of the finger.
const MOST_PAIRS: u32 = 50_000;

/// What `[[topology.link]]` has beside its ends and the keys of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopologyLinkPart {
    pub name: Option<String>,
    pub one_way: bool,
}

impl Part for TopologyLinkPart {
    const NAME: &'static str = "topology link";
    const TEXT: &'static str = "A link between two nodes. Keys beside `down` and `up` hold for both directions unless a direction \
        says otherwise.";
    const KEYS: &'static [Key<TopologyLinkPart>] = &[
        key("name", |link: &mut Self| &mut link.name, "Default: the two nodes' names joined by -.").typed(Name),
        key("one_way", |link| &mut link.one_way, "No route leads over it from the second node to the first."),
    ];
}

/// What `[topology.dumbbell]` has beside its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DumbbellPart {
    pub pairs: u32,
}

impl Part for DumbbellPart {
    const NAME: &'static str = "dumbbell";
    const TEXT: &'static str =
        "Hosts leftN and rightN at two routers with one bottleneck; down runs from left to right.";
    const KEYS: &'static [Key<DumbbellPart>] =
        &[key("pairs", |dumbbell: &mut Self| &mut dumbbell.pairs, "How many hosts on each side.").required("20")];

    fn check(&self) -> Result<(), Fault> {
        match self.pairs {
            0 => Err(Fault::new("pairs", "this must be at least 1")),
            pairs if pairs > MOST_PAIRS => {
                let message = format!("{pairs} pairs of hosts are more than the {MOST_PAIRS} that are allowed");
                Err(Fault::new("pairs", message))
            }
            _ => Ok(()),
        }
    }
}
