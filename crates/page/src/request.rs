//! A request of the page: a scenario with settings. Also the errors in a request.

use crate::answer::Answer;
use crate::json::Json;
use lopsided_scenario::{Errors, Problem, Scenario};

/// Longest scenario text that the page accepts, in bytes.
const LONGEST: usize = 256 * 1024;
/// Name of the scenario in error messages.
const FILE: &str = "scenario.toml";

/// A scenario's text, and settings that override it.
///
/// # Examples
///
/// ```
/// use lopsided_page::Request;
///
/// let request = Request::read("[link]\u{1}link.rtt=40 ms".as_bytes());
/// assert_eq!(request.text, "[link]");
/// assert_eq!(request.settings, [("link.rtt".to_owned(), "40 ms".to_owned())]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The scenario in TOML.
    pub text: String,
    /// Dotted keys and values, as for `--set`.
    pub settings: Vec<(String, String)>,
}

impl Request {
    /// Parses a request of the page: the text, then `key=value` settings, separated by U+0001.
    pub fn read(input: &[u8]) -> Request {
        let input = String::from_utf8_lossy(input);
        let mut parts = input.split('\u{1}');
        let text = parts.next().unwrap_or_default().to_owned();
        let setting = |part: &str| part.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Request { text, settings: parts.filter_map(setting).collect() }
    }

    /// Parses the scenario with its settings.
    ///
    /// # Errors
    /// Returns the errors of the text or the settings.
    pub fn scenario(&self) -> Result<Scenario, Problems> {
        if self.text.len() > LONGEST {
            return Err(Problems::of(format!(
                "the scenario is longer than {} KiB, the maximum for the page",
                LONGEST / 1024
            )));
        }
        Ok(Scenario::parse(&self.text, FILE, &self.settings)?)
    }
}

/// The reasons why the page cannot run a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Creates a single problem that concerns the run as a whole.
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

    /// Returns the messages for display.
    pub fn messages(&self) -> Vec<&str> {
        self.0.iter().map(|problem| problem.message.as_str()).collect()
    }

    /// Returns an answer with `problems`: key, line, column, message, help and excerpt. Line 0 means the run as a
    /// whole.
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
