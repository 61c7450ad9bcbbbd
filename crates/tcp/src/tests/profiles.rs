//! Tests that any two profiles can transfer data to each other, even with loss and reordering.

use super::pair::{Faults, Pair};
use crate::{PROFILES, Profile};
use lopsided_core::{Duration, Time};

fn named(name: &str) -> Profile {
    Profile::named(name).expect("a known name")
}

#[test]
fn every_profile_is_found_by_its_name_and_reports_it() {
    for name in PROFILES {
        assert_eq!(named(name).name, *name);
    }
    assert_eq!(Profile::named("plan-9"), None);
}

#[test]
fn any_two_profiles_interoperate() {
    let faults = Faults { loss: 0.03, duplicate: 0.01, reorder: 0.02, jitter: Duration::from_millis(15) };
    let up: Vec<u8> = (0..60_000u32).map(|n| (n % 251) as u8).collect();
    let down: Vec<u8> = (0..150_000u32).map(|n| (n % 241) as u8).collect();
    for (seed, client) in PROFILES.iter().enumerate() {
        for server in PROFILES {
            let mut pair = Pair::new(named(client), named(server), faults, seed as u64);
            let limit = Time::ZERO + Duration::from_secs(600);
            assert!(pair.transfer(&up, &down, limit), "{client} and {server} did not finish");
            assert_eq!(pair.received_by_server, up, "{client} to {server}");
            assert_eq!(pair.received_by_client, down, "{server} to {client}");
        }
    }
}
