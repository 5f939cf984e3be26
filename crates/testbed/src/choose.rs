//! Selection of a scenario: a file, changes of its values, and a scale for its rates.

use std::path::Path;

use levelflow_files::{read, read_any, reason};
use levelflow_scenario::{Resolved, Scenario, ScenarioError, assign, read_traces, scale};
use serde_json::{Value, json};

use levelflow_host::Error;

/// Scenario that has been read and checked.
#[derive(Debug)]
pub struct Chosen {
    /// Scenario of the file after the requested changes and scaling, before parsing.
    pub raw: Value,
    /// Scenario after parsing.
    pub scenario: Scenario,
    /// Scenario after all checks.
    pub resolved: Resolved,
}

/// Reads a scenario file, assigns changed values, and multiplies rates and buffers by a factor.
///
/// Each change has the form `PATH=VALUE`, as in `levelflow run --set`.
///
/// # Errors
/// When the file does not exist, or the file or the changes are invalid.
pub fn choose(path: &Path, changes: &[String], seed: Option<u64>, factor: f64) -> Result<Chosen, Error> {
    let shown = path.display();
    let text = read_any(path).map_err(|e| Error::input(format!("{shown}: {}", reason(&e))))?;
    let here = |mistakes: ScenarioError| Error::input(format!("{shown}: {}", mistakes.to_string().replace('\n', "; ")));
    let mut raw = Scenario::parse(&text).map_err(here)?;
    for change in changes {
        assign(&mut raw, change).map_err(here)?;
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = |trace: &str| read(&folder.join(trace)).map_err(|e| reason(&e));
    read_traces(&mut raw, read).map_err(here)?;
    if let Some(seed) = seed {
        raw["seed"] = json!(seed);
    }
    if !(factor > 0.0 && factor <= 1000.0) {
        return Err(Error::input(format!(
            "--scale {factor} is out of range; allowed: above 0 to 1000"
        )));
    }
    let mut scenario = Scenario::from_value(&raw).map_err(here)?;
    if factor != 1.0 {
        scale(&mut raw, factor);
        scenario = Scenario::from_value(&raw).map_err(here)?;
    }
    let resolved = scenario.resolve().map_err(here)?;
    Ok(Chosen {
        raw,
        scenario,
        resolved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
        name = "two"
        duration = "10 s"
        [[link]]
        from = "R1"
        to = "R2"
        capacity = "1 Gb/s"
        delay = "10 ms"
        duplex = true
        [[flow]]
        name = "x1"
        law = "jetmax"
        from = "R1"
        to = "R2"
    "#;

    fn chosen(changes: &str, factor: f64) -> Result<Chosen, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("two.toml");
        std::fs::write(&path, TWO).unwrap();
        let changes: Vec<_> = changes.split(';').map(str::to_owned).collect();
        choose(&path, &changes, Some(7), factor)
    }

    #[test]
    fn changes_come_before_the_scale_and_the_seed_is_the_one_given() {
        let network = chosen("link.1.capacity=2 Gb/s", 0.5).unwrap().resolved.network;
        assert_eq!(network.links[1].capacity.bps(), 1e9);
        assert_eq!(network.seed, 7);
    }

    #[test]
    fn bad_input_is_one_line() {
        for (changes, factor, part) in [
            (
                "flow.x9.start=1 s",
                1.0,
                "two.toml: flow.x9.start: no entry 'x9'; did you mean 'x1'?",
            ),
            ("flow.x1.strat=1 s", 1.0, "did you mean \"start\""),
            ("seed=1", 0.0, "allowed: above 0"),
            ("flow.x1.strat=1 s;link.1.delay=3", 1.0, "not 3; flow 1 (x1)"),
        ] {
            let text = chosen(changes, factor).unwrap_err().to_string();
            assert!(text.contains(part) && text.lines().count() == 1, "{text}");
        }
    }
}
