//! Writes JSON. Numbers that are not finite become null.

use std::fmt::Write as _;

/// A JSON value as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Json(String);

impl Json {
    pub fn text(text: &str) -> Json {
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                // Escape `<` too, because a page may insert the text into a script element.
                '<' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                    let _ = write!(out, "\\u{:04x}", u32::from(character));
                }
                _ => out.push(character),
            }
        }
        out.push('"');
        Json(out)
    }

    pub fn null() -> Json {
        Json("null".to_owned())
    }

    pub fn number(value: f64) -> Json {
        if value.is_finite() { Json(format!("{value}")) } else { Json::null() }
    }

    pub fn whole(value: u64) -> Json {
        Json(value.to_string())
    }

    pub fn flag(value: bool) -> Json {
        Json(value.to_string())
    }

    pub fn list(values: impl IntoIterator<Item = Json>) -> Json {
        let values: Vec<String> = values.into_iter().map(|value| value.0).collect();
        Json(format!("[{}]", values.join(",")))
    }

    pub fn texts<'t>(values: impl IntoIterator<Item = &'t str>) -> Json {
        Json::list(values.into_iter().map(Json::text))
    }

    pub fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Json)>) -> Json {
        let entries: Vec<String> =
            entries.into_iter().map(|(key, value)| format!("{}:{}", Json::text(key).0, value.0)).collect();
        Json(format!("{{{}}}", entries.join(",")))
    }

    pub fn into_string(self) -> String {
        self.0
    }
}
