//! Captures of a hand-written connection and of simulated runs: read back, damaged, checked with tshark, and aligned.

mod align;
mod capture;
mod inferred;
mod of_a_run;
mod qlog;
mod story;
