//! Each field of a profile, and each key that sets a field, changes the segments of at least one test connection.
//!
//! `DERIVED` lists the fields in which a profile differs from the profile that it is derived from. A profile that loses
//! one of these fields takes the value of its base, so the list has to be written out here.

use super::probe::PROBES;
use crate::{AckSettings, DelayedAck, EcnRule, PROFILES, Profile, StackConfig, Switch};
use lopsided_core::Duration;
use lopsided_spec::Value;
use std::collections::BTreeSet;

type Field = (&'static str, fn(&mut Profile, &Profile));

macro_rules! fields {
    ($($field:ident)* ; $($ack:ident)*) => {
        /// Every field of a profile, with a function that copies it from another profile.
        const FIELDS: &[Field] = &[
            $((stringify!($field), |to, from| to.$field = from.$field.clone()),)*
            $((concat!("ack.", stringify!($ack)), |to, from| to.ack.$ack = from.ack.$ack),)*
        ];

        /// The compiler rejects this function if the list of fields is incomplete.
        #[allow(dead_code)]
        fn list_is_complete(profile: Profile) {
            let Profile { $($field: _,)* name: _, ack } = profile;
            let AckSettings { $($ack: _,)* } = ack;
        }
    };
}

fields! {
    initial_window_segments initial_window_cap remembered_threshold remembered_rtt metrics_save max_window byte_counting
    sack dsack sack_fin timestamps window_scaling ecn ecn_fallback ecn_option ecn_expects_thinning abe window_update
    reassembly_limit placeholders placeholder_margin rto handshake_sample grain loss_detection dup_threshold
    fast_recovery max_burst burst_tick marked_retransmit duplicates limited_transmit cwnd_reduction
    threshold_heeds_peer tlp undo timeout_forgets_sack idle_restart nagle push fin_beyond_cwnd fin_uses_window
    syn_linear_timeouts measures_held growth_excludes_unread wide_first_window cwnd_validation fast_path
    answers_unsent_ack ack_repeats_fin send_buffer send_buffer_accounting receive_buffer receive_window ;
    policy segments min_delay max_delay max_timeout below_min_rto quick_acks compress compress_slack grain heeds_push
    acks_per_rtt max_delack min_acks_per_window mark_duplicates before_read
}

/// A derived profile, its base, and the fields that differ.
const DERIVED: &[(&str, &str, &str)] = &[
    (
        "bsdi-3",
        "freebsd-7",
        "initial_window_segments initial_window_cap byte_counting sack window_update reassembly_limit rto grain \
         loss_detection fast_recovery burst_tick duplicates limited_transmit cwnd_reduction undo send_buffer \
         send_buffer_accounting receive_buffer receive_window ack.min_delay ack.max_delay ack.before_read",
    ),
    (
        "ns2-reno",
        "bsdi-3",
        "byte_counting timestamps rto handshake_sample grain fast_recovery burst_tick idle_restart fast_path \
         send_buffer receive_buffer ack.policy ack.min_delay ack.max_delay",
    ),
    (
        "linux-6.12",
        "linux-6.1",
        "fin_beyond_cwnd syn_linear_timeouts measures_held growth_excludes_unread wide_first_window \
         send_buffer_accounting receive_window ack.max_timeout ack.below_min_rto",
    ),
    (
        "linux-2.6",
        "linux-6.1",
        "initial_window_segments metrics_save byte_counting rto grain loss_detection cwnd_reduction tlp undo \
         send_buffer_accounting receive_buffer ack.compress ack.compress_slack ack.grain ack.heeds_push",
    ),
];

/// A profile, the delay of [`AckSettings::delayed`] from which its ACK settings are derived, in milliseconds, and the
/// fields that differ.
const DERIVED_ACKS: &[(&str, u64, &str)] = &[
    ("linux-6.1", 200, "policy min_delay quick_acks compress compress_slack grain heeds_push"),
    ("linux-2.6", 200, "policy min_delay quick_acks grain"),
    ("freebsd-7", 100, "before_read"),
    ("bsdi-3", 200, ""),
    ("ns2-reno", 100, "policy"),
    ("windows", 200, ""),
];

/// Fields of a profile that change no segment, because of the profile's other values.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("bsdi-3.initial_window_cap", "one segment never exceeds it"),
    ("bsdi-3.reassembly_limit", "the receive buffer is smaller"),
    ("bsdi-3.burst_tick", "it needs max_burst"),
    ("ns2-reno.burst_tick", "it needs max_burst"),
    ("ns2-reno.fast_path", "neither the flight nor the threshold uses the part of the window above the peer's window"),
    ("bsdi-3.ack.min_delay", "only the policy linux reads it"),
    ("ns2-reno.ack.min_delay", "only the policy linux reads it"),
    ("ns2-reno.ack.max_delay", "the policy delays no ACK"),
    ("linux-2.6.metrics_save", "it acts on the next connection"),
    ("linux-2.6.receive_buffer", "window scaling rounds the difference of one byte away"),
    ("linux-2.6.ack.compress_slack", "no ACK is compressed"),
    ("linux-6.12.wide_first_window", "it needs a larger receive buffer"),
    ("linux-6.12.ack.max_timeout", "the maximum delay of an ACK is as long"),
    ("linux-6.12.ack.below_min_rto", "it needs a smaller min_rto"),
];

fn named(name: &str) -> Profile {
    Profile::named(name).expect("a known name")
}

/// Returns the profile with one field copied from another profile.
fn with_field(profile: &Profile, (_, copy): Field, other: &Profile) -> Profile {
    let mut changed = profile.clone();
    copy(&mut changed, other);
    changed
}

/// Returns the fields in which two profiles differ.
fn differing(one: &Profile, other: &Profile) -> Vec<Field> {
    FIELDS.iter().copied().filter(|field| with_field(one, *field, other) != *one).collect()
}

#[test]
fn a_derived_profile_differs_from_its_base_in_the_listed_fields() {
    let check = |what: &str, one: &Profile, other: &Profile, listed: BTreeSet<&str>| {
        let found: BTreeSet<&str> = differing(one, other).iter().map(|(name, _)| *name).collect();
        assert_eq!(found, listed, "{what}");
    };
    for (profile, base, listed) in DERIVED {
        check(profile, &named(profile), &named(base), listed.split_whitespace().collect());
    }
    for (profile, delay, listed) in DERIVED_ACKS {
        let profile = named(profile);
        let base = Profile { ack: AckSettings::delayed(Duration::from_millis(*delay)), ..profile.clone() };
        let listed: Vec<String> = listed.split_whitespace().map(|field| format!("ack.{field}")).collect();
        check(profile.name, &profile, &base, listed.iter().map(String::as_str).collect());
    }
}

/// True if a probe exchanges different segments with the two profiles. The profile is used at both ends, or at one end
/// with Linux at the other end.
fn visible(one: &Profile, other: &Profile) -> bool {
    let linux = Profile { ecn: EcnRule::On, ..Profile::linux_6_1() };
    PROBES.iter().any(|probe| {
        probe.run(one, one) != probe.run(other, other)
            || probe.run(one, &linux) != probe.run(other, &linux)
            || probe.run(&linux, one) != probe.run(&linux, other)
    })
}

#[test]
fn every_field_of_a_derived_profile_changes_segments_or_has_a_reason() {
    let mut unseen = BTreeSet::new();
    for (name, base, _) in DERIVED {
        let (profile, base) = (named(name), named(base));
        for field in differing(&profile, &base) {
            if !visible(&profile, &with_field(&profile, field, &base)) {
                unseen.insert(format!("{name}.{}", field.0));
            }
        }
    }
    assert_eq!(unseen, WITHOUT_EFFECT.iter().map(|(field, _)| (*field).to_owned()).collect());
}

/// Fields that change segments only in a situation that no probe creates. Scripts test these fields.
const RARE: [&str; 8] = [
    "metrics_save",
    "burst_tick",
    "fin_uses_window",
    "wide_first_window",
    "answers_unsent_ack",
    "ack.max_timeout",
    "ack.compress_slack",
    "ack.below_min_rto",
];

#[test]
fn every_field_in_which_profiles_differ_changes_segments() {
    let profiles: Vec<Profile> = PROFILES.iter().map(|name| named(name)).collect();
    for field in FIELDS.iter().filter(|(name, _)| !RARE.contains(name)) {
        let pairs = profiles.iter().flat_map(|one| profiles.iter().map(move |other| (one, other)));
        let mut changed = pairs
            .map(|(one, other)| (one, with_field(one, *field, other)))
            .filter(|(one, other)| *one != other)
            .peekable();
        assert!(changed.peek().is_none() || changed.any(|(one, other)| visible(one, &other)), "{}", field.0);
    }
}

/// Returns the settings that a key needs to have an effect.
fn context(key: &str) -> Vec<(&'static str, Value)> {
    let policy = |name| ("ack_policy", Value::Word(name));
    let ecn = |word| ("ecn", Value::Word(word));
    match key {
        "mark_duplicates" => vec![policy("acc")],
        "min_acks_per_window" => vec![policy("ace")],
        "max_delack" => vec![policy("growing")],
        "acks_per_rtt" => vec![policy("tack")],
        "marked_retransmit" => vec![policy("acc"), ("mark_duplicates", Value::Integer(1))],
        "placeholder_margin" => vec![("placeholders", Value::Number(0.02))],
        "burst_tick" => vec![("max_burst", Value::Integer(2))],
        "abe" | "ecn_fallback" => vec![ecn("on")],
        "ecn_option" => vec![ecn("accurate")],
        "ecn_expects_thinning" => {
            let delayed = DelayedAck { mode: Switch::On, segments: Some(16), timeout: None };
            vec![ecn("accurate"), ("ecn_option", Value::Flag(false)), ("delayed_ack", Value::of_part(&delayed))]
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_key_changes_segments() {
    let unseen: Vec<&str> = StackConfig::keys()
        .iter()
        .filter(|key| {
            !PROFILES.iter().any(|profile| {
                let mut stack = StackConfig::new(profile, "reno");
                for (other, value) in context(key.name) {
                    stack.set(other, value);
                }
                let base = stack.to_profile().expect("the same name");
                super::settings::two_values(key).into_iter().any(|value| {
                    stack.set(key.name, value);
                    let changed = stack.to_profile().expect("the same name");
                    changed != base && visible(&base, &changed)
                })
            })
        })
        .map(|key| key.name)
        .collect();
    // `metrics_save` acts on the next connection to the host, and `dscp` sets a field of the IP header.
    assert_eq!(unseen, ["metrics_save", "dscp"]);
}
