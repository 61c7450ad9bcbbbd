//! The keys of `[[flow]]` for the flow itself: name, start, stop and application.

use crate::transport::TransportConfig;
use lopsided_app::AppConfig;
use lopsided_core::{Dir, Duration};
use lopsided_spec::ValueType::Name;
use lopsided_spec::{Fault, Key, Part, key};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowPart {
    pub name: Option<String>,
    pub group: Option<String>,
    pub direction: Option<Dir>,
    pub start: Duration,
    pub start_jitter: Duration,
    pub start_spacing: Duration,
    pub stop: Option<Duration>,
    pub count: u32,
    pub app: AppConfig,
    pub transport: TransportConfig,
}

impl Default for FlowPart {
    fn default() -> FlowPart {
        FlowPart {
            name: None,
            group: None,
            direction: None,
            start: Duration::ZERO,
            start_jitter: Duration::ZERO,
            start_spacing: Duration::ZERO,
            stop: None,
            count: 1,
            app: AppConfig::default(),
            transport: TransportConfig::default(),
        }
    }
}

impl Part for FlowPart {
    const NAME: &'static str = "flow";
    const TEXT: &'static str = "A flow of data from one host to another, or `count` flows with the same settings.";
    const KEYS: &'static [Key<FlowPart>] = &[
        key(
            "name",
            |flow: &mut Self| &mut flow.name,
            "A unique name. Default: flow1, flow2, ... in the order of the file. Copies made by `count` are called name.1, name.2, ...",
        )
        .typed(Name),
        key("group", |flow: &mut Self| &mut flow.group, "Name of a group of flows. Default: the name of the flow.").typed(Name),
        key(
            "direction",
            |flow| &mut flow.direction,
            "With [link], down is from server to client. With a dumbbell, down is from left to right, and each flow uses the next pair of hosts. Use either `direction`, or `from` and `to`.",
        ),
        key("start", |flow| &mut flow.start, "Start time of the flow."),
        key("start_jitter", |flow| &mut flow.start_jitter, "A random time from 0 to this value is added to the start time."),
        key(
            "start_spacing",
            |flow| &mut flow.start_spacing,
            "With `count`: time between the starts of two successive copies.",
        ),
        key("stop", |flow| &mut flow.stop, "Time at which the application stops. Default: the end of the run."),
        key("count", |flow| &mut flow.count, "Number of flows with these settings."),
        key(
            "app",
            |flow: &mut Self| &mut flow.app,
            "The application: a kind such as \"bulk\", a size such as \"10 MB\" to send once, or a table.",
        )
        .default_text("bulk"),
        key(
            "transport",
            |flow: &mut Self| &mut flow.transport,
            "The transport protocol: \"tcp\", \"quic\", or a table with `kind` and settings.",
        )
        .default_text("tcp"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.count == 0 { Err(Fault::new("count", "this must be at least 1")) } else { Ok(()) }
    }
}

impl FlowPart {
    /// Returns the time at which the last copy of the flow starts, without jitter.
    pub fn last_start(&self) -> Duration {
        self.start + self.start_spacing * u64::from(self.count).saturating_sub(1)
    }
}
