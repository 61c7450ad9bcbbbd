//! The JSON Schema accepts all files that the reader accepts, and rejects misspelled keys.

use super::examples::files;
use super::good;
use lopsided_scenario::schema_json;
use regex_lite::Regex;
use toml::de::{DeTable, DeValue};

#[test]
fn examples_and_resolved_files_match_the_schema() {
    let schema = Json::parse(&schema_json());
    for (path, text) in files() {
        assert_eq!(misfits(&schema, &text), Vec::<String>::new(), "{}", path.display());
        if !text.contains("[topology.dumbbell]") {
            assert_eq!(misfits(&schema, &good(&text).to_toml()), Vec::<String>::new(), "{} resolved", path.display());
        }
    }
}

#[test]
fn typos_do_not_match_the_schema() {
    let schema = Json::parse(&schema_json());
    let base = super::BASE;
    assert_eq!(misfits(&schema, base), Vec::<String>::new());
    for (right, wrong) in [
        ("rtt", "rrt"),
        ("20 ms", "20"),
        ("20 ms", "20 m"),
        ("2.4 Mbit/s", "2.4"),
        ("2.4 Mbit/s", "300 kB/s"),
        ("direction = \"down\"", "direction = \"dwn\""),
        ("direction = \"down\"", "count = \"3\""),
        ("direction = \"down\"", "stack.profile = \"linux\""),
        ("[scenario]", "[scenaro]"),
    ] {
        assert!(!misfits(&schema, &base.replace(right, wrong)).is_empty(), "{wrong} fits");
    }
}

#[test]
fn files_generated_from_the_keys_are_up_to_date() {
    for (file, made) in [
        ("docs/scenario.md", lopsided_scenario::reference_page()),
        ("python/lopsided/data/scenario_types.pyi", lopsided_scenario::python_types()),
    ] {
        let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::read_to_string(path).expect(file) == made, "{file} is out of date: run tools/keys");
    }
}

#[test]
fn every_key_has_a_description() {
    fn walk(json: &Json, path: &str) {
        if let Json::Object(fields) = json {
            if let Some(Json::Object(properties)) = json.get("properties") {
                for (key, value) in properties {
                    let described = value.get("description").is_some() || path.ends_with("sweep");
                    assert!(described, "{path}.{key} has no description");
                }
            }
            fields.iter().for_each(|(key, value)| walk(value, &format!("{path}.{key}")));
        }
    }
    walk(&Json::parse(&schema_json()), "");
}

/// Returns the paths of all values in the text that do not match the schema.
fn misfits(schema: &Json, text: &str) -> Vec<String> {
    let table = DeTable::parse(text).expect("TOML").into_inner();
    let mut found = Vec::new();
    check(schema, schema, &DeValue::Table(table), "", &mut found);
    found
}

fn check(root: &Json, schema: &Json, value: &DeValue<'_>, path: &str, found: &mut Vec<String>) {
    let Json::Object(rules) = schema else { panic!("a schema is an object") };
    for (rule, wanted) in rules {
        let fits = match (rule.as_str(), wanted) {
            ("$ref", Json::Text(pointer)) => {
                let name = pointer.strip_prefix("#/$defs/").expect("a local reference");
                let target = root.get("$defs").and_then(|defs| defs.get(name)).expect("a definition");
                check(root, target, value, path, found);
                true
            }
            ("anyOf", Json::List(options)) => options.iter().any(|option| {
                let mut misfits = Vec::new();
                check(root, option, value, path, &mut misfits);
                misfits.is_empty()
            }),
            ("type", Json::Text(kind)) => match kind.as_str() {
                "number" => value.is_integer() || value.is_float(),
                "object" => value.is_table(),
                other => value.type_str() == other,
            },
            ("enum", Json::List(options)) => options.iter().any(|option| option.equals(value)),
            ("const", option) => option.equals(value),
            ("pattern", Json::Text(pattern)) => {
                value.as_str().is_none_or(|text| Regex::new(pattern).expect("a pattern").is_match(text))
            }
            ("minimum", Json::Number(least)) => number(value).is_none_or(|number| number >= *least),
            ("maximum", Json::Number(most)) => number(value).is_none_or(|number| number <= *most),
            ("minItems", Json::Number(least)) => value.as_array().is_none_or(|list| list.len() as f64 >= *least),
            ("maxItems", Json::Number(most)) => value.as_array().is_none_or(|list| list.len() as f64 <= *most),
            ("items", items) => {
                for (index, item) in value.as_array().into_iter().flat_map(|list| list.iter()).enumerate() {
                    check(root, items, item.get_ref(), &format!("{path}.{index}"), found);
                }
                true
            }
            ("properties", properties) => {
                for (key, item) in value.as_table().into_iter().flat_map(|table| table.iter()) {
                    if let Some(property) = properties.get(key.get_ref()) {
                        check(root, property, item.get_ref(), &format!("{path}.{}", key.get_ref()), found);
                    }
                }
                true
            }
            ("additionalProperties", Json::Bool(false)) => {
                let known = schema.get("properties").expect("properties");
                value.as_table().is_none_or(|table| table.keys().all(|key| known.get(key.get_ref()).is_some()))
            }
            ("additionalProperties", each) => {
                for (key, item) in value.as_table().into_iter().flat_map(|table| table.iter()) {
                    check(root, each, item.get_ref(), &format!("{path}.{}", key.get_ref()), found);
                }
                true
            }
            ("required", Json::List(keys)) => keys.iter().all(|key| match key {
                Json::Text(key) => value.as_table().is_some_and(|table| table.keys().any(|have| have.get_ref() == key)),
                _ => false,
            }),
            ("$schema" | "title" | "description" | "enumDescriptions" | "examples" | "$defs", _) => true,
            (other, _) => panic!("this checker does not know {other}"),
        };
        if !fits {
            found.push(format!("{path}: {rule}"));
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

/// A JSON value. Only the types that occur in a schema are supported.
#[derive(Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses JSON.
    ///
    /// # Panics
    /// Panics if the text is not JSON.
    pub fn parse(text: &str) -> Json {
        let mut rest = text;
        let json = Json::parse_value(&mut rest);
        assert!(rest.trim().is_empty(), "something follows the JSON");
        json
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    fn equals(&self, value: &DeValue<'_>) -> bool {
        match self {
            Json::Text(text) => value.as_str() == Some(text),
            Json::Bool(flag) => value.as_bool() == Some(*flag),
            _ => false,
        }
    }

    fn parse_value(rest: &mut &str) -> Json {
        *rest = rest.trim_start();
        match rest.chars().next().expect("a value") {
            '"' => Json::Text(parse_text(rest)),
            '[' => Json::List(parse_items(rest, ']', Json::parse_value)),
            '{' => Json::Object(parse_items(rest, '}', |rest| {
                *rest = rest.trim_start();
                let key = parse_text(rest);
                *rest = rest.trim_start().strip_prefix(':').expect("a colon follows the key");
                (key, Json::parse_value(rest))
            })),
            _ => {
                let end = rest.find([',', ']', '}', '\n']).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                *rest = after;
                match word.trim() {
                    "null" => Json::Null,
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    number => Json::Number(number.parse().expect("a number")),
                }
            }
        }
    }
}

fn parse_items<T>(rest: &mut &str, close: char, mut item: impl FnMut(&mut &str) -> T) -> Vec<T> {
    *rest = &rest[1..];
    let mut items = Vec::new();
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return items;
        }
        items.push(item(rest));
        *rest = rest.trim_start();
        *rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn parse_text(rest: &mut &str) -> String {
    let mut out = String::new();
    let mut characters = rest.char_indices().skip(1);
    loop {
        match characters.next().expect("the text ends") {
            (at, '"') => {
                *rest = &rest[at + 1..];
                return out;
            }
            (_, '\\') => match characters.next().expect("an escape").1 {
                'n' => out.push('\n'),
                'u' => {
                    let code: String = characters.by_ref().take(4).map(|(_, digit)| digit).collect();
                    out.push(char::from_u32(u32::from_str_radix(&code, 16).expect("hex")).expect("a character"));
                }
                other => out.push(other),
            },
            (_, other) => out.push(other),
        }
    }
}
