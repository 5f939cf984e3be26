//! Scenarios. Each mistake produces one line with place, problem and allowed values. Valid scenarios resolve as
//! expected.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

mod accepted;
mod files;
mod mistakes;

use levelflow_scenario::{Resolved, Scenario};
use serde_json::{Value, json};

fn good() -> Value {
    json!({
        "name": "good",
        "duration": "10 s",
        "link": [
            { "from": "A", "to": "B", "capacity": "10 Mb/s", "delay": "10 ms", "duplex": true },
            { "from": "B", "to": "C", "capacity": "10 Mb/s", "delay": "10 ms", "duplex": true },
        ],
        "flow": [{ "name": "x", "law": "jetmax", "from": "A", "to": "C" }],
    })
}

fn check(scenario: &Value) -> Result<(), String> {
    let resolved = Scenario::from_value(scenario).and_then(|s| s.resolve());
    resolved.map(drop).map_err(|e| e.to_string())
}

/// Returns the valid scenario with changed values. A change consists of a JSON pointer and a value.
fn changed(changes: &[(&str, Value)]) -> Value {
    let mut scenario = good();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match scenario.pointer_mut(parent).expect(pointer) {
            Value::Array(list) if key.parse() == Ok(list.len()) => list.push(value.clone()),
            place => match key.parse::<usize>() {
                Ok(index) => place[index] = value.clone(),
                Err(_) => place[key] = value.clone(),
            },
        }
    }
    scenario
}

fn resolve(changes: &[(&str, Value)]) -> Resolved {
    Scenario::from_value(&changed(changes))
        .and_then(|s| s.resolve())
        .unwrap()
}

/// Asserts that the error has one line and that the line contains each of these texts.
fn assert_line(line: &str, texts: &[&str]) {
    assert!(
        !line.contains(['\n', '\r']) && line.len() < 700,
        "not one line: {line:?}"
    );
    for text in texts {
        assert!(line.contains(text), "{text:?} is not in: {line}");
    }
}

#[track_caller]
fn refused(changes: &[(&str, Value)], texts: &[&str]) {
    let line = check(&changed(changes)).expect_err(&format!("accepted: {changes:?}"));
    assert_line(&line, texts);
}
