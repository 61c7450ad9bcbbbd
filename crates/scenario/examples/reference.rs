//! Prints docs/scenario.md.

fn main() {
    print!("{}", lopsided_scenario::reference_page());
}
