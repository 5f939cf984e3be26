//! Assignment of a value in a scenario by its path, as in `--set flow.x1.start='3 s'`.
//!
//! A path consists of keys separated by dots. An entry of a list is selected by its name, by its number (counted from
//! 1), or by its two ends. Examples of two ends are `link.R1->R2.delay` and `link.R1:R2.delay`. The second form needs
//! no quotes in a shell. `*` selects every entry, as in `flow.*.law`. If a law is given by name and one of its
//! parameters is set, the name becomes a table.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::error::{Fallible, Place, Problem, ScenarioError, nearest};
use crate::format::Scenario;

/// Names of the lists in a scenario. Each name is paired with a key of the list's entries, as an example for error
/// messages.
const LISTS: [(&str, &str); 4] = [("link", "from"), ("route", "at"), ("flow", "from"), ("memory", "total")];

static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Scenario).to_value();
    let keys = schema["properties"].as_object();
    keys.map_or_else(Vec::new, |keys| keys.keys().cloned().collect())
});

/// One step of a path. It leads from a table or a list to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Key of a table. A missing value becomes an empty table.
    Key(String),
    /// Index of an entry in a list.
    Entry(usize),
}

/// Sets one or more values of a scenario. `change` has the form `PATH=VALUE`.
///
/// # Errors
/// Returns an error if the change has no value, or if its path does not exist.
pub fn assign(scenario: &mut Value, change: &str) -> Fallible<()> {
    let (path, text) = change.split_once('=').ok_or_else(|| {
        let problem = format!("needs PATH=VALUE, as in duration='10 s'{}", redirected(change));
        wrong(change, problem)
    })?;
    let value = value_of(text.trim());
    if let Some((list, rest)) = path.trim().split_once(".*.") {
        let Some(entries) = scenario[list].as_array().map(Vec::len) else {
            let problem = "* selects all entries of a list, as in flow.*.law or link.*.capacity";
            return Err(wrong(path.trim(), problem));
        };
        return (1..=entries).try_for_each(|number| put(scenario, &format!("{list}.{number}.{rest}"), value.clone()));
    }
    put(scenario, path.trim(), value)
}

fn wrong(path: &str, problem: impl Into<String>) -> ScenarioError {
    Place::from(path).error(Problem::Assignment(problem.into()))
}

/// Returns a hint for a change without a value. The shell may have interpreted the character `>` in the change as a
/// redirection.
fn redirected(change: &str) -> &'static str {
    let hint = "; if the shell took > as a redirection, quote it, as in 'link.R1->R2.delay=1 ms', or write link.R1:R2";
    if change.ends_with('-') { hint } else { "" }
}

fn put(scenario: &mut Value, path: &str, value: Value) -> Fallible<()> {
    let steps = locate(scenario, path)?;
    let mut place = scenario;
    for step in steps {
        place = match step {
            Step::Entry(index) => &mut place[index],
            Step::Key(key) => {
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                &mut place[key]
            }
        };
    }
    *place = value;
    Ok(())
}

/// Returns the steps of a path. If the path continues with a key, a missing value or the name of a law becomes a table.
///
/// # Errors
/// Returns an error if the path does not exist. The error names the nearest key or entry.
pub fn locate(scenario: &Value, path: &str) -> Fallible<Vec<Step>> {
    let refuse = |problem: String| Err(wrong(path, problem));
    let keys: Vec<&str> = path.split('.').collect();
    let head = keys[0];
    if !KEYS.iter().any(|key| key == head) {
        let known: Vec<&str> = KEYS.iter().map(String::as_str).collect();
        return refuse(format!("no key '{head}' here; {}", meant(head, &known)));
    }
    let list = LISTS.iter().find(|(list, _)| *list == head);
    if let Some((_, key)) = list.filter(|_| keys.len() < 3) {
        return refuse(format!("needs an entry and a key, such as {head}.1.{key}"));
    }
    if list.is_some() && scenario[head].is_null() {
        return refuse(format!("the scenario has no [[{head}]]"));
    }
    let mut here = Some(scenario);
    let mut steps = Vec::new();
    for (depth, key) in keys.iter().enumerate() {
        let step = match here {
            Some(Value::Array(entries)) => Step::Entry(entry(path, entries, key)?),
            None | Some(Value::Object(_) | Value::Null) => Step::Key((*key).to_owned()),
            // The name of a law is followed by a parameter of this law.
            Some(Value::String(name)) if name == key && depth + 1 < keys.len() => Step::Key((*key).to_owned()),
            Some(other) => {
                let shown = other
                    .as_str()
                    .map_or_else(|| other.to_string(), |text| format!("'{text}'"));
                return refuse(format!("'{}' is {shown} and has no keys", keys[depth - 1]));
            }
        };
        here = match &step {
            Step::Entry(index) => here.and_then(|list| list.get(index)),
            Step::Key(key) => here.and_then(|table| table.get(key)),
        };
        steps.push(step);
    }
    Ok(steps)
}

fn entry(path: &str, entries: &[Value], key: &str) -> Fallible<usize> {
    let names: Vec<String> = entries.iter().enumerate().map(|(i, entry)| name_of(i, entry)).collect();
    let by_name = names.iter().position(|name| name == key);
    let by_number = key.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(found) = by_name.or(by_number).filter(|&n| n < names.len()) {
        return Ok(found);
    }
    let between = |from: &str, to: &str| -> Vec<usize> {
        let same = |&(_, entry): &(usize, &Value)| {
            let ends = [from, to].map(|end| entry[end].as_str());
            matches!(ends, [Some(from), Some(to)] if key.strip_prefix(from).and_then(|k| k.strip_prefix(':')) == Some(to))
        };
        entries.iter().enumerate().filter(same).map(|(i, _)| i).collect()
    };
    let problem = match (&between("from", "to")[..], &between("to", "from")[..]) {
        (&[one], _) => return Ok(one),
        ([], &[one]) if entries[one]["duplex"] == true => {
            format!(
                "'{key}' is the reverse direction of '{}'; set the key reverse of this link",
                names[one]
            )
        }
        ([], _) => {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("no entry '{key}'; {}", meant(key, &known))
        }
        (several, _) => {
            let known: Vec<&str> = several.iter().map(|&i| names[i].as_str()).collect();
            format!("'{key}' matches several entries; write one of {}", known.join(", "))
        }
    };
    Err(wrong(path, problem))
}

/// Returns the name of an entry. If the entry has no name, returns its two ends or its number.
fn name_of(index: usize, entry: &Value) -> String {
    let text = |key: &str| entry[key].as_str();
    match (text("name"), text("from"), text("to")) {
        (Some(name), ..) => name.to_owned(),
        (None, Some(from), Some(to)) => format!("{from}->{to}"),
        _ => (index + 1).to_string(),
    }
}

fn meant(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!(
            "allowed: {}",
            if known.is_empty() {
                "none".into()
            } else {
                known.join(", ")
            }
        ),
    }
}

/// Parses a value from a command line. If the text is not valid TOML, the value is the text itself.
#[must_use]
pub fn value_of(text: &str) -> Value {
    match Scenario::parse(&format!("value = {text}")) {
        Ok(Value::Object(mut table)) if table.len() == 1 => {
            // JSON cannot represent `nan` and `inf`.
            table
                .remove("value")
                .filter(|value| !value.is_null())
                .unwrap_or_else(|| text.into())
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn two() -> Value {
        json!({
            "name": "two",
            "duration": "10 s",
            "link": [
                { "from": "R1", "to": "R2", "capacity": "1 Gb/s", "delay": "10 ms" },
                { "name": "back", "from": "R2", "to": "R1", "capacity": "1 Gb/s", "delay": "10 ms" },
            ],
            "memory": [{ "total": "1 MB", "links": ["back"] }],
            "flow": [
                { "name": "x1", "law": "jetmax", "from": "R1", "to": "R2" },
                { "name": "noise", "law": { "cbr": { "rate": "50 Mb/s" } }, "from": "R1", "to": "R2" },
            ],
        })
    }

    #[test]
    fn changes_reach_entries_by_name_number_and_ends() {
        let mut raw = two();
        for change in [
            "flow.x1.start=3 s",
            "flow.x1.law.jetmax.tau=0.5",
            "flow.2.law.cbr.rate=\"1 Mb/s\"",
            "link.R1->R2.delay=20 ms",
            "link.R2:R1.reverse.delay = 30 ms",
            "link.R1:R2.jitter=1 ms",
            "memory.1.total=2 MB",
            "law.jetmax.interval=50 ms",
            "seed=7",
            "flow.*.stop=8 s",
        ] {
            assign(&mut raw, change).unwrap_or_else(|e| panic!("{change}: {e}"));
        }
        assert_eq!(raw["flow"][0]["start"], "3 s");
        assert_eq!(raw["flow"][0]["law"], json!({ "jetmax": { "tau": 0.5 } }));
        assert_eq!(raw["flow"][1]["law"], json!({ "cbr": { "rate": "1 Mb/s" } }));
        assert_eq!(raw["link"][0]["delay"], "20 ms");
        assert_eq!(raw["link"][0]["jitter"], "1 ms");
        assert_eq!(raw["link"][1]["reverse"], json!({ "delay": "30 ms" }));
        assert_eq!(raw["memory"][0]["total"], "2 MB");
        assert_eq!(raw["law"], json!({ "jetmax": { "interval": "50 ms" } }));
        assert_eq!(raw["seed"], 7);
        assert_eq!([&raw["flow"][0]["stop"], &raw["flow"][1]["stop"]], ["8 s", "8 s"]);
    }

    #[test]
    fn a_path_that_leads_nowhere_gets_one_line() {
        for (change, line) in [
            ("duration", "duration: needs PATH=VALUE, as in duration='10 s'"),
            (
                "link.R1-",
                "link.R1-: needs PATH=VALUE, as in duration='10 s'; if the shell took > as a redirection, quote it, as in \
                 'link.R1->R2.delay=1 ms', or write link.R1:R2",
            ),
            (
                "flow.R1:R2.start=1 s",
                "flow.R1:R2.start: 'R1:R2' matches several entries; write one of x1, noise",
            ),
            (
                "link.R1:R3.delay=1 s",
                "link.R1:R3.delay: no entry 'R1:R3'; did you mean 'R1->R2'?",
            ),
            (
                "flwo.x1.start=1 s",
                "flwo.x1.start: no key 'flwo' here; did you mean 'flow'?",
            ),
            ("flow.x9.start=1 s", "flow.x9.start: no entry 'x9'; did you mean 'x1'?"),
            (
                "law.*.tau=1",
                "law.*.tau: * selects all entries of a list, as in flow.*.law or link.*.capacity",
            ),
            ("flow.0.start=1 s", "flow.0.start: no entry '0'; allowed: x1, noise"),
            ("flow.x1=1", "flow.x1: needs an entry and a key, such as flow.1.from"),
            (
                "memory.1=1",
                "memory.1: needs an entry and a key, such as memory.1.total",
            ),
            ("route.1.via=a", "route.1.via: the scenario has no [[route]]"),
            ("duration.x=1", "duration.x: 'duration' is '10 s' and has no keys"),
            (
                "flow.x1.law.jetmax=1",
                "flow.x1.law.jetmax: 'law' is 'jetmax' and has no keys",
            ),
        ] {
            let mut raw = two();
            assert_eq!(assign(&mut raw, change).unwrap_err().to_string(), line);
            assert_eq!(raw, two(), "{change} is refused and changes nothing");
        }
    }

    #[test]
    fn the_other_direction_of_a_duplex_link_is_named() {
        let mut raw = two();
        raw["link"] = json!([{ "from": "R1", "to": "R2", "duplex": true }]);
        let error = assign(&mut raw, "link.R2:R1.delay=1 s").unwrap_err().to_string();
        assert_eq!(
            error,
            "link.R2:R1.delay: 'R2:R1' is the reverse direction of 'R1->R2'; set the key reverse of this link"
        );
    }

    #[test]
    fn values_are_toml_or_text() {
        assert_eq!(value_of("0.5"), json!(0.5));
        assert_eq!(value_of("3 s"), json!("3 s"));
        assert_eq!(
            value_of("{ uniform = ['1 s', '2 s'] }"),
            json!({ "uniform": ["1 s", "2 s"] })
        );
        assert_eq!(value_of("nan"), json!("nan"));
        assert_eq!(value_of("1\nseed = 2"), json!("1\nseed = 2"));
    }
}
