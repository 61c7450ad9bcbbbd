//! Captures of a hand-written connection and of simulated runs. The tests read them back, damage them, check them with
//! tshark, and align them.

mod align;
mod capture;
mod of_a_run;
mod story;
