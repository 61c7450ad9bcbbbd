//! Prints the size of a capture, and the main limit of each direction with data (at most 20 directions).
//!
//! `cargo run --release -p lopsided-capture --example limits -- CAPTURE`

use lopsided_capture::{Analysis, Report};
use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: limits CAPTURE")?;
    let found = Analysis::read_ahead(File::open(path)?, false, |_packets, _so_far| true)?;
    println!("{} segments of {} connections", found.segments, found.connections.len());
    let carried = found.connections.iter().flat_map(|connection| [(connection, 0), (connection, 1)]);
    for (connection, sender) in carried.filter(|(of, sender)| of.directions[*sender].data_segments > 0).take(20) {
        let report = Report::of(connection, sender, &found.loads);
        println!("{} {:?}: {}", connection.numbers.0, connection.ends[sender].address, report.limit.name());
    }
    Ok(())
}
