//! Congestion controls that the caller passes to the parser in addition to the scenario file.

use super::BASE;
use lopsided_scenario::Scenario;

/// `cc` can be set in a flow, at either of its ends, for one host, and for all hosts.
#[test]
fn supplied_congestion_controls_are_accepted_wherever_cc_can_be_set() {
    let text = format!(
        "{BASE}cc = \"mine\"\n[stack]\ncc = \"other\"\n[host.server.stack]\ncc = \"other\"\n\
         [[flow]]\ndirection = \"up\"\nsender_stack.cc = \"mine\"\nreceiver_stack.cc = \"cubic\"\n"
    );
    let scenario = Scenario::parse_with(&text, "test.toml", &[], &["mine", "other"]).unwrap();
    let names: Vec<_> = scenario.flows.iter().map(|flow| [&flow.from_stack.cc, &flow.to_stack.cc]).collect();
    assert_eq!(names, [["mine", "mine"], ["mine", "cubic"]]);
    let again = Scenario::parse_with(&scenario.to_toml(), "test.toml", &[], &["mine"]).unwrap();
    assert_eq!(again, scenario);
}

#[test]
fn an_error_for_an_unknown_controller_explains_how_to_supply_it() {
    let text = format!("{BASE}cc = \"mine\"\n");
    let errors = Scenario::parse_with(&text, "test.toml", &[], &["other"]).unwrap_err();
    let problem = &errors.problems[0];
    assert_eq!((problem.line, problem.message.as_str()), (9, "unknown congestion control `mine`"));
    let help = problem.help.as_deref().unwrap();
    assert!(help.starts_with("known: `other`, `reno`") && help.contains("--controller FILE.py:CLASS"), "{help}");
}

#[test]
fn a_typo_in_a_supplied_name_is_recognised() {
    let text = format!("{BASE}cc = \"mien\"\n");
    let errors = Scenario::parse_with(&text, "test.toml", &[], &["mine"]).unwrap_err();
    assert!(errors.problems[0].help.as_deref().unwrap().starts_with("did you mean `mine`?"), "{errors}");
}
