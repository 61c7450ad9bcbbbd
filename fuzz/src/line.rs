//! A link with any tree of queue disciplines and any chain of stages in both directions, with any valid settings. TCP
//! segments and datagrams cross the link, every operation of every queue is checked, and all packets and bytes are
//! accounted for.
//!
//! The target iterates over the registered disciplines, stages and keys, so it also covers disciplines, stages and keys
//! that are added later.

use crate::Input;
use lopsided_core::{BitRate, Bytes, Dir, Duration};
use lopsided_queue::{QUEUES, QueueConfig};
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunError, RunOptions};
use lopsided_spec::{Amount, AnyPart, Family, Given, Scalar, Value, ValueType};
use lopsided_stage::{STAGES, StageConfig};

const LINE: &str = r#"
[scenario]
duration = "400 ms"
[link]
rtt = "5 ms"
down = { rate = "6 Mbit/s" }
up = { rate = "500 kbit/s" }
[stack]
ecn = true
[[flow]]
direction = "down"
count = 2
[[flow]]
direction = "up"
start = "50 ms"
[[flow]]
direction = "down"
app = { kind = "udp", rate = "500 kbit/s", size = "200 B" }
[[flow]]
direction = "up"
app = { kind = "http", object_size = "5 kB" }
"#;
const RATE: BitRate = BitRate::from_bps(6_000_000);
/// Largest depth of nested disciplines.
const DEEPEST: u32 = 3;
/// Largest number of disciplines or stages at one level.
const MOST: u8 = 3;

/// Runs the link that the input describes.
pub fn run(octets: &[u8]) {
    let mut input = Input::new(octets);
    let mut scenario = Scenario::parse(LINE, "line.toml", &[]).expect("the scenario is valid");
    let link = &mut scenario.graph.links[0];
    for dir in Dir::BOTH {
        let direction = link.dir_mut(dir);
        direction.queue = QueueConfig::from_value(any_of(&QUEUES, 0, &mut input)).expect("it is a queue");
        let stages = input.next::<u8>().unwrap_or(0) % (MOST + 1);
        let mut stage = || StageConfig::from_value(any_of(&STAGES, 0, &mut input)).expect("it is a stage");
        direction.stages = (0..stages).map(|_| stage()).collect();
    }
    let options = RunOptions { audit_queues: true, ..RunOptions::default() };
    match lopsided_sim::run(&scenario, 1, options, &Monitor::default()) {
        Ok(result) => assert!(result.conservation.holds()),
        Err(RunError::Build(_)) => {}
        Err(error) => panic!("{error}\n{}", scenario.to_toml()),
    }
}

/// Returns a part of any kind with any settings, or of the default kind if these settings are rejected.
pub(crate) fn any_of(family: &'static Family, depth: u32, input: &mut Input<'_>) -> Value {
    let mut members = (family.members)();
    let chosen = usize::from(input.next::<u8>().unwrap_or(0)) % members.len();
    let usual = members[0].part.clone();
    let mut part = members.swap_remove(chosen).part;
    let mut given = Vec::new();
    for key in part.info().keys.iter().filter(|key| !key.input_only) {
        let wanted = key.example.is_some() || input.next::<u8>().unwrap_or(0) % 2 == 1;
        let Some(value) = any_value(key.value_type, depth, input).filter(|_| wanted) else { continue };
        if part.set(key.name, value).is_ok() {
            given.push(key.name);
        }
    }
    let accepted = accepts(&mut *part, &given);
    Value::Part(if accepted { part } else { usual })
}

fn accepts(part: &mut dyn AnyPart, given: &[&str]) -> bool {
    let given = Given { keys: given, preset: None, line_rate: Some(RATE), line_peeks: false, folder: "" };
    part.complete(&given).and_then(|()| part.check()).is_ok()
}

/// Returns a value of the type; `None` keeps the default.
fn any_value(value_type: ValueType, depth: u32, input: &mut Input<'_>) -> Option<Value> {
    let mut octet = || input.next::<u8>().unwrap_or(0);
    Some(match value_type {
        ValueType::Flag => Value::Flag(octet() % 2 == 1),
        ValueType::Integer => Value::Integer(u64::from(octet()) % 40),
        ValueType::Number => Value::Number(f64::from(octet()) / 16.0),
        ValueType::Probability => Value::Number(f64::from(octet()) / 255.0),
        ValueType::Rate => Value::Rate(BitRate::from_bps(10_000 << (octet() % 12))),
        ValueType::Time => Value::Time(Duration::from_micros(10 << (octet() % 16))),
        ValueType::Size => Value::Size(Bytes::new(20 << (octet() % 12))),
        ValueType::Packets => Value::Amount(Amount::Packets(u32::from(octet()) % 64)),
        ValueType::Limit | ValueType::Depth => match octet() {
            amount if amount % 2 == 0 => Value::Amount(Amount::Packets(u32::from(amount) / 4 + 1)),
            amount => Value::Amount(Amount::Bytes(Bytes::new(1500 + 100 * u64::from(amount)))),
        },
        ValueType::DepthOrTime => match octet() {
            amount if amount % 2 == 0 => Value::Amount(Amount::Packets(u32::from(amount) / 8)),
            amount => Value::Amount(Amount::Time(Duration::from_micros(100 * u64::from(amount)))),
        },
        ValueType::Word(words) => Value::Word(words()[usize::from(octet()) % words().len()]),
        ValueType::Family(family) if depth < DEEPEST => any_of(family, depth + 1, input),
        ValueType::List(ValueType::Family(family)) if depth < DEEPEST => {
            let count = octet() % MOST + 1;
            Value::List((0..count).map(|_| any_of(family, depth + 1, input)).collect())
        }
        _ => return None,
    })
}
