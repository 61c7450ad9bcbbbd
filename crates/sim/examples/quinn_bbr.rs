//! Prints the loss rates of quinn's BBR, which is not paced, and of NewReno and CUBIC. With the feature `noq`, prints
//! the loss rates of lopsided's BBR and BBRv3.
//!
//!     cargo run --release -p lopsided-sim --example quinn_bbr
//!     cargo run --release -p lopsided-sim --example quinn_bbr --features noq

use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunOptions};
use std::sync::Arc;

fn main() {
    let (source, controls): (_, &[_]) = if cfg!(feature = "noq") {
        ("lopsided", &["cubic", "bbr", "bbr3"])
    } else {
        ("quinn", &["reno", "cubic", "bbr"])
    };
    println!("| control of {source} | uplink (kbit/s) | goodput (Mbit/s) | packets sent | of these lost |");
    println!("|---|---|---|---|---|");
    for &cc in controls {
        for up in [100, 200, 400, 10_000] {
            let text = format!(
                r#"
                [scenario]
                duration = "60 s"
                [link]
                rtt = "20 ms"
                queue = "50 packets"
                down.rate = "10 Mbit/s"
                up.rate = "{up} kbit/s"
                [[flow]]
                direction = "down"
                app = "10 MB"
                transport = {{ kind = "quic", cc_source = "{source}" }}
                "#
            );
            let mut scenario = Scenario::parse(&text, "quinn", &[]).expect("a valid scenario");
            Arc::make_mut(&mut scenario.flows[0].from_stack).cc = cc.to_owned();
            let run = lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default()).expect("it runs");
            let (sent, lost) = (run.flows.data_segments_out[0], run.links.dropped_packets[0]);
            let (goodput, share) = (run.flows.goodput_bps[0] / 1e6, 100.0 * lost as f64 / sent as f64);
            println!("| {cc} | {up} | {goodput:.2} | {sent} | {share:.1} % |");
        }
    }
}
