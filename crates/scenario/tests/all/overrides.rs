//! Overrides can set every key of a scenario.

use super::{BASE, good, with};
use lopsided_app::{AppConfig, TransferConfig};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_queue::{DropFrom, FifoConfig, Limit, QueueConfig};
use lopsided_scenario::{FairnessSpec, Scenario};
use lopsided_spec::{Amount, Value};

#[track_caller]
fn changed(key: &str, value: &str) -> Scenario {
    with(&[(key, value)]).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn overrides_set_existing_and_new_keys() {
    assert_eq!(changed("link.up.rate", "1 Mbit/s").graph.links[0].up.rate, Some(BitRate::from_bps(1_000_000)));
    assert_eq!(changed("link.up.queue.limit", "15 packets").graph.links[0].up.queue.limit(), Some(Limit::Packets(15)));
    // A queue limit without a unit is a number of packets, but only in an override.
    assert_eq!(changed("link.up.queue.limit", "15").graph.links[0].up.queue.limit(), Some(Limit::Packets(15)));
    assert_eq!(changed("link.up.queue", "15 packets").graph.links[0].up.queue.limit(), Some(Limit::Packets(15)));
    assert_eq!(changed("scenario.seed", "7").seed, 7);
    assert_eq!(changed("scenario.title", "42").title.as_deref(), Some("42"));
    assert_eq!(changed("stack.sack", "false").flows[0].from_stack.get("sack"), Some(&Value::Flag(false)));
    assert_eq!(changed("record.interval", "false").record.interval, None);
    assert_eq!(changed("record.events", "true").fairness, None);
    assert_eq!(changed("fairness", "{}").fairness, Some(FairnessSpec::default()));
    assert_eq!(changed("fairness.warmup", "8 s").fairness.and_then(|asked| asked.warmup), Some(Duration::from_secs(8)));
    assert_eq!(changed("link.down.loss.random", "1 %").graph.links[0].down.loss.random, 0.01);
    assert_eq!(changed("link.down.loss.packets", "[3, 1, 3]").graph.links[0].down.loss.packets, [1, 3]);
}

#[test]
fn overrides_address_flows_and_hosts_by_name_or_number() {
    let size = TransferConfig { size: Bytes::new(10_000_000), repeat: Some(1), pause: Duration::ZERO };
    for key in ["flow.flow1.app", "flow.1.app", "flow.*.app", "flow.1.app.size", "flow.\"flow1\".app"] {
        assert_eq!(changed(key, "10 MB").flows[0].app, AppConfig::new(size), "{key}");
    }
    let scenario = changed("host.server.stack.initial_window", "3 segments");
    assert_eq!(scenario.flows[0].from_stack.get("initial_window"), Some(&Value::Amount(Amount::Segments(3))));
    assert_eq!(scenario.flows[0].to_stack.get("initial_window"), None);
}

#[test]
fn an_override_expands_a_short_form_and_keeps_its_value() {
    let text = BASE.replace("up.rate", "up.queue = \"15 packets\"\nup.rate");
    let overrides = [("link.up.queue.drop".to_owned(), "front".to_owned())];
    let scenario = Scenario::parse(&text, "test.toml", &overrides).expect("it is valid");
    assert_eq!(
        scenario.graph.links[0].up.queue,
        QueueConfig::new(FifoConfig { drop: DropFrom::Front, ..FifoConfig::new(Limit::Packets(15)) })
    );
}

#[test]
fn the_value_default_removes_a_key() {
    let text = BASE.replace("[link]", "[link]\npreset = \"docsis30-100-10\"");
    let limit = |text: &str, overrides: &[(&str, &str)]| {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Scenario::parse(text, "test.toml", &overrides).expect("it is valid").graph.links[0].up.queue.limit()
    };
    let preset = limit(&text, &[]);
    assert_ne!(preset, Some(Limit::Packets(15)));
    let written = text.replace("up.rate", "up.queue = \"15 packets\"\nup.rate");
    assert_eq!(limit(&written, &[]), Some(Limit::Packets(15)));
    assert_eq!(limit(&written, &[("link.up.queue.limit", "default")]), preset);
    assert_eq!(limit(&written, &[("link.up.queue", "default")]), preset);
    // If the key is absent, `default` changes nothing.
    assert_eq!(limit(&text, &[("link.up.queue.limit", "default")]), preset);
}

#[test]
fn later_overrides_take_precedence() {
    let scenario = with(&[("scenario.seed", "2"), ("scenario.seed", "3")]).expect("it is valid");
    assert_eq!(scenario.seed, 3);
}

#[test]
fn a_resolved_file_accepts_overrides_of_the_short_form() {
    let resolved = good(BASE).to_toml();
    let overrides = [("link.up.queue.limit".to_owned(), "15".to_owned())];
    let scenario = Scenario::parse(&resolved, "resolved.toml", &overrides).expect("it is valid");
    assert_eq!(scenario.graph.links[0].up.queue.limit(), Some(Limit::Packets(15)));
}

#[test]
fn overrides_of_nonexistent_keys_are_rejected() {
    let cases = [
        ("", "the key `` has an empty part"),
        ("link..up", "the key `link..up` has an empty part"),
        ("link.\"up", "the key `link.\"up` has an unclosed quote"),
        ("link.up.rate.x", "`link.up.rate` is a single value and has no key `x`"),
        ("flow.download.cc", "there is no flow `download`"),
        ("flow.2.cc", "there is no flow `2`"),
        ("flow.1", "`flow.1` is a table: add the name of one of its keys"),
        ("host.server", "`host.server` is a table: add the name of one of its keys"),
        ("topology.link.a.rate", "there is no link `a`"),
        ("sweep.x", "[sweep] cannot be overridden"),
        ("lnk.up.rate", "unknown key `lnk` in a scenario file"),
    ];
    for (key, message) in cases {
        let errors = with(&[(key, "1")]).expect_err(key);
        assert_eq!(errors.problems[0].message, message, "{errors}");
        assert_eq!(errors.problems[0].file, "override");
    }
}

#[test]
fn a_value_cannot_inject_further_keys() {
    let errors = with(&[("scenario.seed", "1\nlink.rtt = \"5 ms\"")]).expect_err("the value is not a number");
    assert_eq!(errors.problems.len(), 1, "{errors}");
}

#[test]
fn control_characters_in_texts_are_rejected() {
    for title in ["\u{1b}[2J", "two\nlines", "\u{7}"] {
        let errors = with(&[("scenario.title", title)]).expect_err("a control character");
        assert_eq!(errors.problems.len(), 1, "{errors}");
        assert!(errors.problems[0].message.contains("control character U+"), "{errors}");
    }
    assert!(with(&[("scenario.title", "Größe 5 → 9")]).is_ok());
}
