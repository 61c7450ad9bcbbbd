//! The JSON Schema of a scenario file, for completion and checking in editors (draft 2020-12).
//!
//! It is a little more lenient than the reader: units are checked, what keys mean together is not.

use super::{FILE, Key, Kind, Shape, TableShape};
use crate::write::Json;
use std::collections::BTreeMap;

pub(crate) fn schema_json() -> String {
    let mut tables = BTreeMap::new();
    define(&FILE, &mut tables);
    let root = tables.remove(&def_name(&FILE)).unwrap_or(Json::Null);
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

/// Adds the table and those below it.
fn define(shape: &'static TableShape, tables: &mut BTreeMap<String, Json>) {
    let name = def_name(shape);
    if tables.contains_key(&name) {
        return;
    }
    // Holds the place while the tables below are visited.
    tables.insert(name.clone(), Json::Null);
    let properties = shape.keys.iter().map(|key| (key.name.to_owned(), describe(key, tables))).collect();
    let table = Json::object([
        ("description", Json::text(shape.doc)),
        ("type", Json::text("object")),
        ("properties", Json::Object(properties)),
        ("additionalProperties", Json::Bool(false)),
    ]);
    tables.insert(name, table);
}

fn describe(key: &'static Key, tables: &mut BTreeMap<String, Json>) -> Json {
    let mut doc = key.doc.to_owned();
    if !key.default.is_empty() {
        doc += &format!(" Default: {}.", key.default);
    }
    let mut fields = vec![("description".to_owned(), Json::Text(doc))];
    fields.extend(match key.shape {
        Shape::Table(shape) => table_or_shorthand(shape, tables),
        Shape::Map(shape) => {
            define(shape, tables);
            object_fields([("type", Json::text("object")), ("additionalProperties", reference(shape))])
        }
        Shape::Tables(shape) => {
            define(shape, tables);
            object_fields([("type", Json::text("array")), ("items", reference(shape))])
        }
        Shape::Value(kind) => value(kind),
        Shape::List(kind) => array_of(kind),
        Shape::OneOrList(kind) => {
            object_fields([("anyOf", Json::List(vec![Json::Object(value(kind)), Json::Object(array_of(kind))]))])
        }
        Shape::Sweep => object_fields([
            ("type", Json::text("object")),
            ("properties", Json::object([("repeat", Json::Object(value(Kind::Count)))])),
        ]),
    });
    Json::Object(fields)
}

type Fields = Vec<(String, Json)>;

/// A table, or the single value that stands for it.
fn table_or_shorthand(shape: &'static TableShape, tables: &mut BTreeMap<String, Json>) -> Fields {
    define(shape, tables);
    let Some(key) = shape.shorthand.and_then(|name| shape.key(name)) else {
        return object_fields([("$ref", Json::Text(pointer(shape)))]);
    };
    let single = match key.shape {
        Shape::Table(below) => Json::Object(table_or_shorthand(below, tables)),
        Shape::Value(kind) => Json::Object(value(kind)),
        _ => Json::object([]),
    };
    object_fields([("anyOf", Json::List(vec![single, reference(shape)]))])
}

fn value(kind: Kind) -> Fields {
    const NUMBER: &str = r"^\s*\+?([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*";
    let quantity = |units: &str, examples: &[&str]| {
        object_fields([
            ("type", Json::text("string")),
            ("pattern", Json::Text(format!("{NUMBER}({units})\\s*$"))),
            ("examples", texts(examples.iter().copied())),
        ])
    };
    let any = |one: Fields, other: Json| object_fields([("anyOf", Json::List(vec![Json::Object(one), other]))]);
    const SIZE: &str = "B|bytes?|octets|[kMG]B|[KMG]iB";
    const SPAN: &str = "ns|us|\u{b5}s|\u{3bc}s|ms|s|sec|seconds?|min|minutes?|h|hours?";
    match kind {
        Kind::Rate => {
            let unit = "([kKmMgG]?([bB][iI][tT]([sS]?/[sS])?|[bB][pP][sS]|b/[sS])|[kKmMgG])";
            any(quantity(unit, &["2.4 Mbit/s", "196 kbit/s"]), constant("unlimited"))
        }
        Kind::Duration => quantity(SPAN, &["20 ms", "1.5 s", "4 min"]),
        Kind::SpanOrOff => any(
            quantity(SPAN, &["100 ms"]),
            Json::object([("enum", Json::List(vec![Json::Bool(false), Json::text("off")]))]),
        ),
        Kind::Size => quantity(SIZE, &["1500 B", "75 kB", "64 KiB"]),
        Kind::Limit => {
            let units = format!("packets?|pkts?|p|[bB][dD][pP]|{SIZE}|{SPAN}");
            quantity(&units, &["50 packets", "75 kB", "200 ms", "1 BDP"])
        }
        Kind::Window => quantity(&format!("segments?|seg|mss|MSS|{SIZE}"), &["10 segments", "64 KiB"]),
        Kind::Buffer => any(quantity(SIZE, &["64 KiB"]), constant("auto")),
        Kind::Amount => any(quantity(SIZE, &["10 MB"]), constant("bulk")),
        Kind::Probability => any(
            object_fields([("type", Json::text("number")), ("minimum", number(0)), ("maximum", number(1))]),
            Json::Object(object_fields([
                ("type", Json::text("string")),
                ("pattern", Json::Text(format!("{NUMBER}%?\\s*$"))),
                ("examples", texts(["1 %"])),
            ])),
        ),
        Kind::Count => object_fields([("type", Json::text("integer")), ("minimum", number(0))]),
        Kind::Repeat => {
            any(object_fields([("type", Json::text("integer")), ("minimum", number(1))]), constant("forever"))
        }
        Kind::Switch => object_fields([(
            "enum",
            Json::List(vec![Json::Bool(true), Json::Bool(false), Json::text("on"), Json::text("off")]),
        )]),
        Kind::Ecn => object_fields([(
            "enum",
            Json::List(
                [Json::Bool(true), Json::Bool(false)]
                    .into_iter()
                    .chain(["on", "off", "accept", "accurate"].map(Json::text))
                    .collect(),
            ),
        )]),
        Kind::Flag => object_fields([("type", Json::text("boolean"))]),
        Kind::Text => object_fields([("type", Json::text("string"))]),
        Kind::Name => object_fields([
            ("type", Json::text("string")),
            ("pattern", Json::text("^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?$")),
        ]),
        Kind::Choice(names) => object_fields([("enum", texts(names.iter().copied()))]),
        Kind::Pair => pair_of(Kind::Name),
        Kind::Outage => pair_of(Kind::Duration),
    }
}

fn array_of(kind: Kind) -> Fields {
    object_fields([("type", Json::text("array")), ("items", Json::Object(value(kind)))])
}

fn pair_of(kind: Kind) -> Fields {
    let mut fields = array_of(kind);
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

fn reference(shape: &TableShape) -> Json {
    Json::object([("$ref", Json::Text(pointer(shape)))])
}

fn pointer(shape: &TableShape) -> String {
    format!("#/$defs/{}", def_name(shape))
}

fn def_name(shape: &TableShape) -> String {
    shape.name.replace(' ', "_")
}
