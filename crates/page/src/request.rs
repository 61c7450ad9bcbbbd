//! A request of the page: a scenario with settings, and its errors.

use crate::answer::Answer;
use crate::json::Json;
use lopsided_scenario::{Errors, Problem, Scenario};

/// The longest text of a scenario that the page reads, in bytes.
const LONGEST: usize = 256 * 1024;
/// The scenario's name in errors.
const FILE: &str = "scenario.toml";

/// A scenario's text, and settings over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// TOML.
    pub text: String,
    /// Dotted keys and values, as `--set` takes them.
    pub settings: Vec<(String, String)>,
}

impl Request {
    /// Reads a request as the page sends it: the text, then each `key=value`, with U+0001 between them.
    pub fn read(input: &[u8]) -> Request {
        let input = String::from_utf8_lossy(input);
        let mut parts = input.split('\u{1}');
        let text = parts.next().unwrap_or_default().to_owned();
        let setting = |part: &str| part.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Request { text, settings: parts.filter_map(setting).collect() }
    }

    /// The scenario.
    ///
    /// # Errors
    /// The errors of the text or the settings.
    pub fn scenario(&self) -> Result<Scenario, Problems> {
        if self.text.len() > LONGEST {
            return Err(Problems::of(format!(
                "the scenario is longer than {} KiB, which the page reads",
                LONGEST / 1024
            )));
        }
        Ok(Scenario::parse(&self.text, FILE, &self.settings)?)
    }
}

/// Why the page shows no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// One problem with the run as a whole.
    pub fn of(message: impl Into<String>) -> Problems {
        Problems(vec![Problem {
            file: String::new(),
            line: 0,
            column: 0,
            key: String::new(),
            message: message.into(),
            help: None,
            excerpt: String::new(),
            underline: (0, 0),
        }])
    }

    /// The messages, for people.
    pub fn messages(&self) -> Vec<&str> {
        self.0.iter().map(|problem| problem.message.as_str()).collect()
    }

    /// A head with `problems`: key, line, column, message, help, excerpt; a line of 0 is the run as a whole.
    pub(crate) fn answer(&self) -> Answer {
        let problem = |problem: &Problem| {
            let is_setting = problem.file != FILE;
            Json::object([
                ("key", Json::text(&problem.key)),
                ("line", Json::whole(if is_setting { 0 } else { problem.line as u64 })),
                ("column", Json::whole(problem.column as u64)),
                ("message", Json::text(&problem.message)),
                ("help", Json::text(problem.help.as_deref().unwrap_or_default())),
                ("excerpt", Json::text(&problem.excerpt)),
            ])
        };
        Answer::of(Json::object([("problems", Json::list(self.0.iter().take(20).map(problem)))]))
    }
}

impl From<Errors> for Problems {
    fn from(errors: Errors) -> Problems {
        Problems(errors.problems)
    }
}
