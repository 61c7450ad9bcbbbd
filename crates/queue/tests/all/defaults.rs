//! Checks defaults that affect results although users rarely set these keys. The defaults must be the defaults of
//! Linux's disciplines.

use lopsided_queue::{CodelConfig, FqCodelConfig, QUEUES};
use lopsided_spec::Value;

/// The disciplines with a key `ecn` that mark by default. All other disciplines with this key drop by default.
const MARKS: [&str; 3] = ["fq_codel", "asqm", "bdp"];

#[test]
fn disciplines_mark_by_default_if_linux_marks_by_default() {
    assert!(FqCodelConfig::default().codel.ecn, "sch_fq_codel.c: q->cparams.ecn = true");
    assert!(!CodelConfig::default().ecn, "sch_codel.c: codel_params_init leaves ecn off");
    let mut seen = 0;
    for member in (QUEUES.members)() {
        let name = member.info.name;
        let has_key = member.info.key("ecn").is_some();
        if let (true, Value::Flag(ecn)) = (has_key, member.part.get("ecn")) {
            assert_eq!(ecn, MARKS.contains(&name), "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} disciplines have the key");
}
