//! Tests that every key with which a scenario can change a profile has an effect.

use crate::{DelayedAck, PROFILES, Profile, StackConfig, Switch};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Amount, KeyInfo, Value, ValueType};

/// Returns two values of the key's type, at least one of which changes the profile.
pub(super) fn two_values(key: &KeyInfo) -> [Value; 2] {
    match key.value_type {
        ValueType::Flag => [Value::Flag(true), Value::Flag(false)],
        ValueType::Integer => [Value::Integer(7), Value::Integer(9)],
        ValueType::Probability => [Value::Number(0.1), Value::Number(0.2)],
        ValueType::Time => [7, 9].map(|ms| Value::Time(Duration::from_millis(ms))),
        ValueType::Size => [7_000, 9_000].map(|octets| Value::Size(Bytes::new(octets))),
        ValueType::Window => [Value::Amount(Amount::Segments(7)), Value::Amount(Amount::Bytes(Bytes::new(9_000)))],
        ValueType::Word(words) => [Value::Word(words()[0]), Value::Word(words()[1])],
        ValueType::Part(_) => {
            [Switch::On, Switch::Off].map(|mode| Value::of_part(&DelayedAck { mode, ..DelayedAck::default() }))
        }
        other => panic!("no stack has a key of type {other:?}"),
    }
}

#[test]
fn every_key_changes_some_profile() {
    for key in StackConfig::keys() {
        let changes = |profile: &&str| {
            let base = Profile::named(profile).expect("a name of the table");
            two_values(&key).into_iter().any(|value| {
                let mut stack = StackConfig::new(profile, "reno");
                stack.set(key.name, value);
                stack.to_profile().expect("the same name") != base || stack.dscp() != 0
            })
        };
        assert!(PROFILES.iter().any(changes), "{} changes nothing", key.name);
    }
}

#[test]
fn a_window_in_segments_counts_the_payload_without_options() {
    let of = |timestamps: bool| {
        let mut stack = StackConfig::new("linux-6.1", "reno");
        stack.mss = Some(1000);
        stack.set("timestamps", Value::Flag(timestamps));
        stack.set("max_window", Value::Amount(Amount::Segments(10)));
        stack.to_profile().expect("a known profile").max_window
    };
    assert_eq!((of(true), of(false)), (Some(Bytes::new(9_880)), Some(Bytes::new(10_000))));
}

#[test]
fn a_stack_with_fixed_buffers_can_be_set_to_growing_buffers() {
    let mut stack = StackConfig::new("bsdi-3", "reno");
    stack.set("receive_buffer", Value::None);
    let profile = stack.to_profile().expect("a known profile");
    assert_eq!(
        (profile.receive_buffer.initial(), profile.receive_buffer.max()),
        (Bytes::new(16_384), Bytes::new(3 << 20))
    );
}
