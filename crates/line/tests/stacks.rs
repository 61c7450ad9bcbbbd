//! Runs the examples, which connect two independent stacks over a line and check the goodput.

#[path = "../examples/quinn.rs"]
mod quinn;
#[path = "../examples/smoltcp.rs"]
mod smoltcp;

#[test]
fn quinn_fills_most_of_the_line() {
    quinn::main();
}

#[test]
fn smoltcp_fills_most_of_the_line() {
    smoltcp::main();
}
