//! Arbitrary scenarios. Parsing must return a scenario or printable errors, and a parsed scenario must be unchanged
//! after it is written and read back.

use crate::Input;
use arbitrary::Arbitrary;
use lopsided_scenario::Scenario;

/// Scenarios that use most of the keys, as starting points for edits.
const TEXTS: [&str; 4] = [
    include_str!("../../scenarios/adsl.toml"),
    include_str!("../../scenarios/lossy.toml"),
    include_str!("../../scenarios/parking-lot.toml"),
    include_str!("../../scenarios/short-transfers.toml"),
];

/// Values that users write in wrong places.
const PIECES: [&str; 16] = [
    "0",
    "-1",
    "1e400",
    "18446744073709551616",
    "nan",
    "\"\"",
    "\"1 ms\"",
    "\"100 %\"",
    "\"2 packets\"",
    "[]",
    "{}",
    "[[flow]]\n",
    "[link]\n",
    "\n",
    "\u{0}",
    "ü",
];

/// An edit: removes characters at a position, in units of 1 / 65536 of the text's length, and inserts a piece there.
#[derive(Debug, Arbitrary)]
struct Edit {
    at: u16,
    removed: u8,
    put: Put,
}

#[derive(Debug, Arbitrary)]
enum Put {
    Piece(u8),
    Text(String),
    /// A copy of another line of the same text.
    Line(u16),
}

/// Parses an edited scenario.
pub fn run(octets: &[u8]) {
    let mut input = Input::new(octets);
    let Some(number) = input.next::<u8>() else { return };
    let mut text = TEXTS[usize::from(number) % TEXTS.len()].to_owned();
    let edits = input.next::<u8>().unwrap_or(0) % 8;
    input.all().take(usize::from(edits)).for_each(|edit| apply(&edit, &mut text));
    match Scenario::parse(&text, "fuzzed.toml", &[]) {
        Err(errors) => assert!(!errors.to_string().is_empty()),
        Ok(scenario) => {
            let written = scenario.to_toml();
            match Scenario::parse(&written, "written.toml", &[]) {
                Ok(again) => assert_eq!(again.to_toml(), written),
                Err(errors) => panic!("{errors}\n{written}"),
            }
        }
    }
}

fn apply(edit: &Edit, text: &mut String) {
    let at = boundary(text, text.len() * usize::from(edit.at) / 65_536);
    let end = boundary(text, at + usize::from(edit.removed) % 40);
    let put = match &edit.put {
        Put::Piece(number) => PIECES[usize::from(*number) % PIECES.len()].to_owned(),
        Put::Text(text) => text.clone(),
        Put::Line(number) => format!("\n{}\n", text.lines().nth(usize::from(*number) % 60).unwrap_or_default()),
    };
    text.replace_range(at..end, &put);
}

/// Returns the position, or the nearest position before it that is a character boundary.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
