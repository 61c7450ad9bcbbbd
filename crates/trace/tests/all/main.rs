//! Captures: made of a story told by hand and of simulated runs, damaged, read back, shown to tshark, and aligned.

mod align;
mod capture;
mod of_a_run;
mod story;
