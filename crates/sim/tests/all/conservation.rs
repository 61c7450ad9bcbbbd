//! Every packet is accounted for, on random links and with random flows.

use crate::scenario;
use lopsided_sim::{Monitor, RunOptions};
use proptest::prelude::*;

fn queue() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..40).prop_map(|packets| format!("\"{packets} packets\"")),
        (2u32..60).prop_map(|kilobytes| format!("\"{kilobytes} kB\"")),
        (1u32..40).prop_map(|packets| format!("{{ limit = \"{packets} packets\", drop = \"front\" }}")),
    ]
}

fn direction() -> impl Strategy<Value = String> {
    let shaper = prop_oneof![
        3 => Just(""),
        1 => Just(", shaper = { burst = \"3000 B\" }"),
        1 => Just(", shaper = { refill_interval = \"4 ms\", line_rate = \"100 Mbit/s\" }"),
        1 => Just(", header_compression = \"cslip\""),
        1 => Just(", header_compression = { scheme = \"cslip\", slots = 2, compress_slot = false }"),
    ];
    (100u32..5000, queue(), shaper, prop_oneof![2 => Just(0u32), 1 => 0..20u32]).prop_map(
        |(rate, queue, shaper, loss)| {
            format!("{{ rate = \"{rate} kbit/s\", queue = {queue}, loss = \"{loss} %\"{shaper} }}")
        },
    )
}

fn transfer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"bulk\"".to_owned()),
        (1u32..300).prop_map(|size| format!("\"{size} kB\"")),
        (1u32..30, 0u32..300).prop_map(|(size, pause)| {
            format!("{{ size = \"{size} kB\", repeat = \"forever\", pause = \"{pause} ms\" }}")
        }),
        (50u32..900, 50u32..900).prop_map(|(on, off)| format!("{{ on = \"{on} ms\", off = \"{off} ms\" }}")),
        (10u32..3000, 28u32..1500)
            .prop_map(|(rate, size)| format!("{{ kind = \"udp\", rate = \"{rate} kbit/s\", size = \"{size} B\" }}")),
    ]
}

fn flow() -> impl Strategy<Value = String> {
    let profile = prop_oneof![Just("linux-6.1"), Just("freebsd-7")];
    let sack = prop_oneof![Just("true"), Just("false")];
    (transfer(), any::<bool>(), 0u32..2000, 0u32..3000, profile, sack).prop_map(
        |(transfer, down, start, run, profile, sack)| {
            format!(
                "[[flow]]\ndirection = \"{}\"\nstart = \"{start} ms\"\nstop = \"{} ms\"\napp = {transfer}\n\
             stack = {{ profile = \"{profile}\", sack = {sack} }}\n",
                if down { "down" } else { "up" },
                (start + run + 1).min(4000),
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn every_packet_is_accounted_for(
        down in direction(),
        up in direction(),
        delay in 0u32..200,
        flows in prop::collection::vec(flow(), 1..5),
        lan in any::<bool>(),
    ) {
        let lan = if lan { "[lan]\nrate = \"10 Mbit/s\"\n" } else { "" };
        let text = format!(
            "[scenario]\nduration = \"4 s\"\n[link]\ndelay = \"{delay} ms\"\ndown = {down}\nup = {up}\n{lan}{}",
            flows.concat()
        );
        let scenario = scenario(&text);
        // The run itself returns an error if a packet is unaccounted for.
        let result = lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default());
        let result = result.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(result.conservation.originated.packets > 0);
        let delivered: u64 = result.flows.delivered_bytes.iter().sum();
        prop_assert!(delivered <= result.conservation.delivered.bytes.get());
        for flow in 0..result.flows.flow.len() {
            prop_assert!(result.flows.acked_bytes[flow] <= result.flows.delivered_bytes[flow], "read at once");
            prop_assert!(result.flows.delivered_bytes[flow] <= result.flows.sent_bytes[flow]);
        }
    }
}
