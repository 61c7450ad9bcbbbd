//! Names here must be those of the crates that implement them.

use lopsided_core::Bytes;
use lopsided_link::{Carrying, Framing};
use lopsided_scenario::{CONGESTION_CONTROLS, Cells, FramingSpec, PROFILES};

#[test]
fn profiles_and_congestion_controls_are_the_stacks() {
    assert_eq!(PROFILES, lopsided_tcp::PROFILES);
    assert_eq!(CONGESTION_CONTROLS, lopsided_tcp::CONTROLLERS);
}

#[test]
fn framings_are_the_links() {
    let known: Vec<&str> = Framing::NAMED.iter().map(|(name, _)| *name).collect();
    assert_eq!(FramingSpec::KINDS, known);
    for (name, framing) in Framing::NAMED {
        let cells = match framing.carrying {
            Carrying::Plain => Cells::None,
            Carrying::AtmCells => Cells::Atm,
            Carrying::Ptm => Cells::Ptm,
        };
        let (overhead, minimum) = (Bytes::new(framing.overhead.into()), Bytes::new(framing.minimum.into()));
        assert_eq!(FramingSpec::named(name), Some(FramingSpec { overhead, minimum, cells }), "{name}");
    }
}
