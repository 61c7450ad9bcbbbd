//! The table `[scenario]`: the name of the experiment, its duration and its seed.

use lopsided_core::Duration;
use lopsided_spec::ValueType::Name;
use lopsided_spec::{Fault, Key, Part, key};

/// 10 years: longer than any useful run, and short enough that sums of times cannot overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub name: Option<String>,
    pub title: Option<String>,
    pub duration: Duration,
    pub seed: u64,
}

impl Default for Head {
    fn default() -> Head {
        Head { name: None, title: None, duration: Duration::ZERO, seed: 1 }
    }
}

impl Part for Head {
    const NAME: &'static str = "scenario";
    const TEXT: &'static str = "Name, duration and seed of the experiment.";
    const KEYS: &'static [Key<Head>] = &[
        key("name", |head: &mut Self| &mut head.name, "A short name of letters, digits, - and _.")
            .typed(Name)
            .default_text("the file's name without .toml"),
        key("title", |head| &mut head.title, "A title in one line."),
        key("duration", |head: &mut Self| &mut head.duration, "Duration of the run, such as \"240 s\" or \"4 min\".")
            .required("\"60 s\""),
        key("seed", |head| &mut head.seed, "Seed of all random numbers. Repetition k (from 0) runs with seed + k."),
    ];

    fn check(&self) -> Result<(), Fault> {
        match self.duration {
            Duration::ZERO => Err(Fault::new("duration", "the duration must be longer than 0 s")),
            span if span > LONGEST => Err(Fault::new("duration", "the duration must be at most 10 years")),
            _ => Ok(()),
        }
    }
}
