pub(crate) fn schema_json() -> String { String::new() }
