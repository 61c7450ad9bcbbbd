//! Prints python/lopsided/data/scenario_types.pyi.

fn main() {
    print!("{}", lopsided_scenario::python_types());
}
