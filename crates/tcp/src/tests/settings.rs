//! Tests that every key with which a scenario can change a profile has an effect.

use crate::{
    AckSettings, ByteCounting, CwndReduction, DelayedAck, LossDetection, PROFILES, Profile, StackConfig, Switch,
};
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

#[test]
fn values_outside_of_a_keys_range_are_refused() {
    let segments = |number| Value::Amount(Amount::Segments(number));
    let octets = |number| Value::Amount(Amount::Bytes(Bytes::new(number)));
    for (key, refused, accepted) in [
        ("initial_window", segments(0), segments(1)),
        ("max_window", octets(0), octets(1)),
        ("dscp", Value::Integer(64), Value::Integer(63)),
        ("placeholders", Value::Number(1.0), Value::Number(0.99)),
        ("dup_threshold", Value::Integer(0), Value::Integer(1)),
        ("reassembly_limit", Value::Integer(0), Value::Integer(1)),
        ("hz", Value::Integer(0), Value::Integer(1)),
        ("hz", Value::Integer(1_000_001), Value::Integer(1_000_000)),
    ] {
        assert!(StackConfig::check(key, &refused).is_err(), "{key}: {refused:?}");
        assert_eq!(StackConfig::check(key, &accepted), Ok(()), "{key}: {accepted:?}");
    }
    // These keys have no limit of their own.
    assert_eq!(StackConfig::check("abc", &Value::Integer(0)), Ok(()));
    assert_eq!(StackConfig::check("max_delack", &Value::Integer(2_000_000)), Ok(()));
}

#[test]
fn the_dscp_belongs_to_the_host_and_not_to_the_profile() {
    let mut stack = StackConfig::new("linux-6.1", "reno");
    assert_eq!(stack.dscp(), 0);
    stack.set("dscp", Value::Integer(46));
    assert_eq!(stack.dscp(), 46);
    assert_eq!(stack.to_profile(), Some(Profile::linux_6_1()));
}

/// Returns the profile `base` with one changed key.
fn with(base: &str, key: &str, value: Value) -> Profile {
    let mut stack = StackConfig::new(base, "reno");
    stack.set(key, value);
    stack.to_profile().expect("a known profile")
}

#[test]
fn an_algorithm_that_is_switched_off_is_replaced_by_the_one_of_the_rfc() {
    let detection = |base, key, on| with(base, key, Value::Flag(on)).loss_detection;
    for base in ["linux-6.1", "freebsd-7"] {
        assert_eq!(detection(base, "rack", true), LossDetection::Rack);
        assert_eq!(detection(base, "fack", true), LossDetection::Fack);
    }
    assert_eq!(detection("linux-6.1", "rack", false), LossDetection::Rfc6675);
    assert_eq!(detection("linux-2.6", "fack", false), LossDetection::Rfc6675);
    assert_eq!(detection("freebsd-7", "fack", false), LossDetection::Rfc6675);
    // Switching off what a stack does not use changes nothing.
    assert_eq!(detection("linux-6.1", "fack", false), LossDetection::Rack);
    assert_eq!(detection("freebsd-7", "rack", false), LossDetection::FreeBsd);

    let reduction = |base, key, on| with(base, key, Value::Flag(on)).cwnd_reduction;
    for base in ["linux-6.1", "linux-2.6", "freebsd-7"] {
        assert_eq!(reduction(base, "prr", true), CwndReduction::Prr);
        assert_eq!(reduction(base, "rate_halving", true), CwndReduction::RateHalving);
    }
    assert_eq!(reduction("linux-6.1", "prr", false), CwndReduction::Immediate);
    assert_eq!(reduction("linux-2.6", "rate_halving", false), CwndReduction::Immediate);
    assert_eq!(reduction("linux-6.1", "rate_halving", false), CwndReduction::Prr);
    assert_eq!(reduction("linux-2.6", "prr", false), CwndReduction::RateHalving);
}

#[test]
fn byte_counting_and_the_initial_window_have_two_forms() {
    // RFC 3465 section 2.1: the limit L. 0 means no byte counting.
    assert_eq!(with("linux-6.1", "abc", Value::Integer(0)).byte_counting, ByteCounting::Acks);
    assert_eq!(with("linux-6.1", "abc", Value::Integer(2)).byte_counting, ByteCounting::Limited { segments: 2 });
    assert_eq!(with("freebsd-7", "abc_half", Value::Flag(true)).byte_counting, ByteCounting::Half);
    let freebsd = Profile::freebsd_7();
    assert_eq!(with("freebsd-7", "abc_half", Value::Flag(false)).byte_counting, freebsd.byte_counting);

    let first = |value| with("freebsd-7", "initial_window", value).initial_window(Bytes::new(1000));
    assert_eq!(first(Value::Amount(Amount::Segments(6))), Bytes::new(6000), "the cap of RFC 3390 does not apply");
    assert_eq!(first(Value::Amount(Amount::Bytes(Bytes::new(2500)))), Bytes::new(2500));
}

/// RFC 5681 section 4.2 and RFC 1122 section 4.2.3.2: two segments per ACK, and at most 500 ms.
#[test]
fn a_table_of_delayed_acks_changes_only_what_it_names() {
    let ms = Duration::from_millis;
    let acks = |base: &str, mode, segments, timeout: Option<u64>| {
        let delayed = DelayedAck { mode, segments, timeout: timeout.map(ms) };
        with(base, "delayed_ack", Value::of_part(&delayed)).ack
    };
    let linux = Profile::linux_6_1().ack;
    assert_eq!(acks("linux-6.1", Switch::On, None, None), linux);
    // A timeout alone keeps Linux's policy with this delay.
    let expected = AckSettings { min_delay: ms(70), max_delay: ms(70), ..linux };
    assert_eq!(acks("linux-6.1", Switch::On, None, Some(70)), expected);
    // A number of segments selects simple delayed ACKs.
    let expected = AckSettings { policy: "delayed", segments: 3, max_delay: linux.min_delay, ..linux };
    assert_eq!(acks("linux-6.1", Switch::On, Some(3), None), expected);
    assert_eq!(acks("linux-6.1", Switch::On, Some(3), Some(70)), AckSettings { max_delay: ms(70), ..expected });

    let freebsd = Profile::freebsd_7().ack;
    assert_eq!(acks("freebsd-7", Switch::On, None, None), freebsd);
    assert_eq!(acks("freebsd-7", Switch::On, Some(4), None), AckSettings { segments: 4, ..freebsd });
    assert_eq!(acks("freebsd-7", Switch::On, None, Some(70)), AckSettings { max_delay: ms(70), ..freebsd });

    let immediate = AckSettings { policy: "immediate", ..freebsd };
    assert_eq!(acks("freebsd-7", Switch::Off, Some(4), Some(70)), immediate);
    let ns2 = Profile::ns2_reno().ack;
    assert_eq!(ns2.policy, "immediate");
    let usual = AckSettings { policy: "delayed", segments: 2, max_delay: ms(100), ..ns2 };
    assert_eq!(acks("ns2-reno", Switch::On, None, None), usual);
    assert_eq!(
        acks("ns2-reno", Switch::On, Some(5), Some(70)),
        AckSettings { segments: 5, max_delay: ms(70), ..usual }
    );
}

#[test]
fn hz_sets_the_tick_of_timers_and_acks() {
    let profile = with("linux-6.1", "hz", Value::Integer(100));
    let tick = Duration::from_millis(10);
    assert_eq!((profile.grain.tick(), profile.ack.grain.tick()), (tick, tick));
}
