//! A user's own stage, medium, application and ACK policy, each chosen by name. A registration affects the whole
//! process, so these tests run in a separate process.

use lopsided_app::{AppError, AppPair, AppSettings, BulkConfig, FlowContext, RunApplications};
use lopsided_core::{Rng, Time};
use lopsided_link::{Medium, MediumKind, MediumSettings, PolledConfig};
use lopsided_scenario::{Scenario, schema_json};
use lopsided_sim::{Monitor, RunOptions};
use lopsided_spec::{Fault, Key, Part, key};
use lopsided_stage::{AckThinningConfig, Stage, StageKind, StageRole, StageSide};
use lopsided_tcp::ack_policy::{AckDecision, AckPolicy, AckView, ArrivedData};
use std::sync::Once;

#[derive(Clone, Debug, Default, PartialEq)]
struct OwnStage(AckThinningConfig);

impl Part for OwnStage {
    const NAME: &'static str = "own_stage";
    const TEXT: &'static str = "Thins ACKs.";
    const KEYS: &'static [Key<OwnStage>] =
        &[key("keep", |own: &mut Self| &mut own.0.keep, "One in this number of ACKs passes.")];
}

impl StageKind for OwnStage {
    fn side(&self) -> StageSide {
        self.0.side
    }

    fn build(&self, role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.0.build(role)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct OwnMedium(PolledConfig);

impl Part for OwnMedium {
    const NAME: &'static str = "own_medium";
    const TEXT: &'static str = "Polls its stations.";
    const KEYS: &'static [Key<OwnMedium>] = &[
        key("name", |own: &mut Self| &mut own.0.settings.name, "Links join stations to it by this name.")
            .required("\"m\""),
        key("loss", |own: &mut Self| &mut own.0.loss, "The probability to lose a frame."),
    ];
}

impl MediumKind for OwnMedium {
    fn settings(&self) -> &MediumSettings {
        &self.0.settings
    }

    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
        self.0.build(stations, rng)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct OwnApp;

impl Part for OwnApp {
    const NAME: &'static str = "own_app";
    const TEXT: &'static str = "Always more to send.";
    const KEYS: &'static [Key<OwnApp>] = &[];
}

impl AppSettings for OwnApp {
    fn build(&self, flow: &FlowContext, own: &RunApplications) -> Result<AppPair, AppError> {
        BulkConfig::default().build(flow, own)
    }
}

#[derive(Debug)]
struct EverySegment;

impl AckPolicy for EverySegment {
    fn name(&self) -> &str {
        "own_policy"
    }

    fn on_data(&mut self, _now: Time, _data: &ArrivedData, _view: &AckView) -> AckDecision {
        AckDecision::Now(lopsided_core::tcp_event::AckReason::EverySegment)
    }
}

const LINE: &str = r#"
[scenario]
duration = "5 s"
[link]
rtt = "20 ms"
down.rate = "8 Mbit/s"
up = { rate = "200 kbit/s", stages = [{ kind = "ack_thinning", keep = 3 }] }
[stack]
ack_policy = "immediate"
[[flow]]
direction = "down"
app = "bulk"
"#;

const RADIO: &str = r#"
[scenario]
duration = "5 s"
[topology]
hosts = ["a", "b"]
medium = [{ kind = "polled", name = "radio", loss = 0.05 }]
link = [{ between = ["a", "radio"], rate = "unlimited" }, { between = ["b", "radio"], rate = "unlimited" }]
[[flow]]
from = "a"
to = "b"
"#;

fn digest(text: &str) -> u64 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        lopsided_stage::register::<OwnStage>().expect("the name is free");
        lopsided_link::register_medium::<OwnMedium>().expect("the name is free");
        lopsided_app::register::<OwnApp>().expect("the name is free");
        lopsided_tcp::register_ack_policy("own_policy", |_| Box::new(EverySegment)).expect("the name is free");
    });
    let scenario = Scenario::parse(text, "own.toml", &[]).expect("the scenario is valid");
    lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default()).expect("it runs").digest
}

#[test]
fn custom_parts_give_the_digests_of_the_built_in_parts() {
    for (text, built_in, own) in [
        (LINE, "ack_thinning", "own_stage"),
        (LINE, "immediate", "own_policy"),
        (LINE, "\"bulk\"", "{ kind = \"own_app\" }"),
        (RADIO, "polled", "own_medium"),
    ] {
        let text_with_own = text.replace(built_in, own);
        assert_ne!(text_with_own, text);
        assert_eq!(digest(&text_with_own), digest(text), "{own}");
        let written = Scenario::parse(&text_with_own, "own.toml", &[]).expect("the scenario is valid").to_toml();
        assert_eq!(digest(&written), digest(text), "{own}, from the written scenario");
    }
    assert!(["own_stage", "own_policy", "own_app", "own_medium"].iter().all(|name| schema_json().contains(name)));
}

#[test]
fn a_built_in_name_cannot_be_registered() {
    let taken = lopsided_tcp::register_ack_policy("linux", |_| Box::new(EverySegment)).unwrap_err();
    assert_eq!(taken.to_string(), "\"linux\" is built in: choose another name");
}
