//! Captures: made of a story told by hand and of simulated runs, damaged, read back and shown to tshark.

mod capture;
mod of_a_run;
mod story;
