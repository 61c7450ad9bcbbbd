//! Tests of the public interface of the queue disciplines.

mod ack_filter;
mod any;
mod aqm;
mod audit;
mod cake;
mod common;
mod courses;
mod defaults;
mod fifo;
mod hostile;
mod laws;
mod marking;
mod policer;
mod scheduling;
mod script;
mod sensing;
mod settings;
mod stats;
