//! The JSON Schema (draft 2020-12) of scenario files. Editors use it for completion and checks.
//!
//! The schema accepts more files than the reader: it checks units, but not relations between keys.

use super::{WithKinds, file, table_of};
use crate::write::{Json, default_text};
use lopsided_spec::{Family, KeyInfo, PartInfo, ValueType};
use std::collections::BTreeMap;

pub(crate) fn schema_json() -> String {
    let mut tables = BTreeMap::new();
    let file = file();
    define(&file, &mut tables);
    let root = tables.remove(&def_name(&file)).unwrap_or(Json::Null);
    let mut fields = vec![
        ("$schema".to_owned(), Json::text("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), Json::text("lopsided scenario")),
    ];
    if let Json::Object(own) = root {
        fields.extend(own);
    }
    fields.push(("required".to_owned(), texts(["scenario", "flow"])));
    fields.push(("$defs".to_owned(), Json::Object(tables.into_iter().collect())));
    Json::Object(fields).to_string() + "\n"
}

/// Adds the definitions of a table and of all tables below it.
fn define(shape: &PartInfo, tables: &mut BTreeMap<String, Json>) {
    define_with(shape, tables, &mut |key, tables| describe(&key_text(key), key, tables));
}

/// Adds the definition of a family's table. If several kinds declare a key, the key accepts the values of all these
/// kinds.
fn define_family(family: &'static Family, tables: &mut BTreeMap<String, Json>) {
    define_with(&family.table(), tables, &mut |key, tables| match family.kinds_with(key.name) {
        kinds if kinds.is_empty() => describe(&key_text(key), key, tables),
        kinds => of_kinds(family, kinds, tables),
    });
}

fn define_with(
    shape: &PartInfo,
    tables: &mut BTreeMap<String, Json>,
    property: &mut dyn FnMut(&KeyInfo, &mut BTreeMap<String, Json>) -> Json,
) {
    let name = def_name(shape);
    if tables.contains_key(&name) {
        return;
    }
    // Insert a placeholder first. It ends the recursion if a table contains itself.
    tables.insert(name.clone(), Json::Null);
    let properties = shape.keys.iter().map(|key| (key.name.to_owned(), property(key, tables))).collect();
    let table = Json::object([
        ("description", Json::text(shape.text)),
        ("type", Json::text("object")),
        ("properties", Json::Object(properties)),
        ("additionalProperties", Json::Bool(false)),
    ]);
    tables.insert(name, table);
}

fn of_kinds(family: &Family, kinds: Vec<(&'static str, KeyInfo)>, tables: &mut BTreeMap<String, Json>) -> Json {
    // The kinds are listed only if the key does not apply to all of them.
    let everywhere = kinds.len() == family.kinds().len();
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    let mut schemas: Vec<Json> = Vec::new();
    for (kind, key) in &kinds {
        let text = key_text(key);
        match texts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, kinds)) => kinds.push(kind),
            None => texts.push((text, vec![kind])),
        }
        let schema = Json::Object(value_or_word(key, tables));
        if schemas.iter().all(|other| other.to_string() != schema.to_string()) {
            schemas.push(schema);
        }
    }
    let text = match texts.as_slice() {
        [(text, _)] if everywhere => text.clone(),
        _ => {
            texts.iter().map(|(text, kinds)| format!("For {}: {text}", kinds.join(", "))).collect::<Vec<_>>().join(" ")
        }
    };
    let mut fields = vec![("description".to_owned(), Json::Text(text))];
    match schemas.as_slice() {
        [Json::Object(only)] => fields.extend(only.iter().cloned()),
        _ => fields.push(("anyOf".to_owned(), Json::List(schemas))),
    }
    Json::Object(fields)
}

/// Returns the description of a key, including its default.
fn key_text(key: &KeyInfo) -> String {
    let mut text = key.text.to_owned();
    if let Some(default) = default_text(key) {
        text += &format!(" Default: {default}.");
    }
    if key.example.is_some() {
        text += " Required.";
    }
    text
}

fn describe(text: &str, key: &KeyInfo, tables: &mut BTreeMap<String, Json>) -> Json {
    let mut fields = vec![("description".to_owned(), Json::text(text))];
    fields.extend(value_or_word(key, tables));
    Json::Object(fields)
}

/// Returns the valid values of a key, including the word for "none".
fn value_or_word(key: &KeyInfo, tables: &mut BTreeMap<String, Json>) -> Fields {
    let fields = value(key.value_type, tables);
    let word = match key.none_word {
        None => return fields,
        // `false` is accepted for "off".
        Some("off") => Json::object([("enum", Json::List(vec![Json::Bool(false), Json::text("off")]))]),
        Some(word) => constant(word),
    };
    object_fields([("anyOf", Json::List(vec![Json::Object(fields), word]))])
}

type Fields = Vec<(String, Json)>;

/// Returns the schema of a table or of its shorthand.
fn table_or_shorthand(shape: &PartInfo, tables: &mut BTreeMap<String, Json>) -> Fields {
    match shape.shorthand.and_then(|name| shape.key(name)) {
        None => object_fields([("$ref", Json::Text(pointer(shape)))]),
        Some(key) => {
            let mut either = vec![Json::Object(value_or_word(key, tables))];
            either.extend(
                shape
                    .key("kind")
                    .filter(|kind| kind.name != key.name)
                    .map(|kind| Json::Object(value(kind.value_type, tables))),
            );
            // The table itself.
            either.push(reference(shape));
            object_fields([("anyOf", Json::List(either))])
        }
    }
}

fn value(value_type: ValueType, tables: &mut BTreeMap<String, Json>) -> Fields {
    // Uses the syntax of `units::Decimal`.
    const NUMBER: &str = r"^\s*\+?([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*";
    let quantity = |units: &str, examples: &[&str]| {
        object_fields([
            ("type", Json::text("string")),
            ("pattern", Json::Text(format!("{NUMBER}({units})\\s*$"))),
            ("examples", texts(examples.iter().copied())),
        ])
    };
    const SIZE: &str = "B|bytes?|octets|[kMG]B|[KMG]iB";
    const TIME: &str = "ns|us|\u{b5}s|\u{3bc}s|ms|s|sec|seconds?|min|minutes?|h|hours?";
    match value_type {
        ValueType::Flag => object_fields([("type", Json::text("boolean"))]),
        ValueType::Integer => object_fields([("type", Json::text("integer")), ("minimum", number(0))]),
        ValueType::Number => object_fields([("type", Json::text("number")), ("minimum", number(0))]),
        ValueType::Probability => {
            let number =
                object_fields([("type", Json::text("number")), ("minimum", number(0)), ("maximum", number(1))]);
            let text = object_fields([
                ("type", Json::text("string")),
                ("pattern", Json::Text(format!("{NUMBER}%?\\s*$"))),
                ("examples", texts(["1 %"])),
            ]);
            object_fields([("anyOf", Json::List(vec![Json::Object(number), Json::Object(text)]))])
        }
        ValueType::Rate => {
            // Units of rates are case-insensitive, but an upper-case `B` is rejected, because it means bytes.
            let unit = "([kKmMgG]?([bB][iI][tT]([sS]?/[sS])?|[bB][pP][sS]|b/[sS])|[kKmMgG])";
            quantity(unit, &["2.4 Mbit/s", "196 kbit/s"])
        }
        ValueType::Time => quantity(TIME, &["20 ms", "1.5 s", "4 min"]),
        ValueType::Size => quantity(SIZE, &["1500 B", "75 kB", "64 KiB"]),
        ValueType::Depth | ValueType::DepthOrTime => {
            let units = format!("packets?|pkts?|p|[bB][dD][pP]|{SIZE}|{TIME}");
            quantity(&units, &["50 packets", "75 kB", "200 ms", "1 BDP"])
        }
        ValueType::Packets => quantity("packets?|pkts?|p", &["1000 packets"]),
        ValueType::Window => quantity(&format!("segments?|seg|mss|MSS|{SIZE}"), &["10 segments", "64 KiB"]),
        ValueType::Word(words) => words_of(&words()),
        ValueType::Kind(family) => {
            let mut fields = words_of(&family.kinds());
            // `enumDescriptions` is not part of JSON Schema. VS Code and other editors show these texts next to the
            // values.
            let texts = (family.members)().iter().map(|member| Json::text(member.info.text)).collect();
            fields.push(("enumDescriptions".to_owned(), Json::List(texts)));
            fields
        }
        ValueType::Text => object_fields([("type", Json::text("string"))]),
        ValueType::Name => object_fields([
            ("type", Json::text("string")),
            ("pattern", Json::text("^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?$")),
        ]),
        ValueType::Names => pair_of(ValueType::Name, tables),
        ValueType::Period => pair_of(ValueType::Time, tables),
        ValueType::Limit => {
            let limit = table_of(value_type).expect("a limit is a table");
            define(&limit, tables);
            table_or_shorthand(&limit, tables)
        }
        ValueType::Part(shape) => {
            define(&shape(), tables);
            table_or_shorthand(&shape(), tables)
        }
        ValueType::Family(family) => {
            define_family(family, tables);
            table_or_shorthand(&family.table(), tables)
        }
        ValueType::Map(shape) => {
            define(&shape(), tables);
            object_fields([("type", Json::text("object")), ("additionalProperties", reference(&shape()))])
        }
        ValueType::List(item) => array_of(*item, tables),
        ValueType::OneOrMore(item) => {
            let either = [Json::Object(value(*item, tables)), Json::Object(array_of(*item, tables))];
            object_fields([("anyOf", Json::List(either.into()))])
        }
        ValueType::Free => {
            let repeat = Json::Object(value(ValueType::Integer, tables));
            object_fields([("type", Json::text("object")), ("properties", Json::object([("repeat", repeat)]))])
        }
    }
}

/// Returns a schema that accepts these words, and also `true` for `on` and `false` for `off`.
fn words_of(words: &[&str]) -> Fields {
    let switches = [("on", true), ("off", false)].into_iter().filter(|(word, _)| words.contains(word));
    let flags = switches.map(|(_, flag)| Json::Bool(flag));
    object_fields([("enum", Json::List(flags.chain(words.iter().map(|word| Json::text(word))).collect()))])
}

fn array_of(item: ValueType, tables: &mut BTreeMap<String, Json>) -> Fields {
    object_fields([("type", Json::text("array")), ("items", Json::Object(value(item, tables)))])
}

fn pair_of(item: ValueType, tables: &mut BTreeMap<String, Json>) -> Fields {
    let mut fields = array_of(item, tables);
    fields.extend(object_fields([("minItems", number(2)), ("maxItems", number(2))]));
    fields
}

fn object_fields<const N: usize>(fields: [(&str, Json); N]) -> Fields {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn texts<'t>(items: impl IntoIterator<Item = &'t str>) -> Json {
    Json::List(items.into_iter().map(Json::text).collect())
}

fn constant(word: &str) -> Json {
    Json::object([("const", Json::text(word))])
}

fn number(value: u32) -> Json {
    Json::Number(value.to_string())
}

fn reference(shape: &PartInfo) -> Json {
    Json::object([("$ref", Json::Text(pointer(shape)))])
}

fn pointer(shape: &PartInfo) -> String {
    format!("#/$defs/{}", def_name(shape))
}

fn def_name(shape: &PartInfo) -> String {
    shape.name.replace(' ', "_")
}
