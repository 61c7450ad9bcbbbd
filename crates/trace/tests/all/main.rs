//! Captures of a hand-written connection and of simulated runs. The tests damage them, read them back, check them with
//! tshark, and align them.

mod align;
mod capture;
mod of_a_run;
mod story;
