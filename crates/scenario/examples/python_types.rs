//! Prints python/lopsided/data/scenario_types.py.

fn main() {
    print!("{}", lopsided_scenario::python_types());
}
