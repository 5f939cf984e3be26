//! Which scenario: a file, with changes, at another scale.

use std::path::Path;

use levelflow_scenario::{Resolved, Scenario};
use levelflow_units::{Frequency, Rate};
use serde_json::{Map, Value, json};

use levelflow_host::Error;

const LISTS: [&str; 3] = ["link", "route", "flow"];

/// A scenario that has been read and checked.
#[derive(Debug)]
pub struct Chosen {
    /// As written, with the changes, at the scale asked for.
    pub raw: Value,
    /// The same, read.
    pub scenario: Scenario,
    /// The same, checked.
    pub resolved: Resolved,
}

/// Reads a scenario file, changes values in it, and multiplies its rates and buffers.
///
/// `changes` are `PATH=VALUE`, as `levelflow run --set` takes them.
///
/// # Errors
/// When there is no such file, or what it and the changes say is not allowed.
pub fn choose(path: &Path, changes: &[String], seed: Option<u64>, scale: f64) -> Result<Chosen, Error> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|e| Error::input(format!("{shown}: {}", super::results::reason(&e))))?;
    let here = |problem: &dyn std::fmt::Display| Error::input(format!("{shown}: {problem}"));
    let mut raw = Scenario::parse(&text).map_err(|e| here(&e))?;
    for change in changes {
        set(&mut raw, change).map_err(|problem| here(&format!("--set {change}: {problem}")))?;
    }
    if let Some(seed) = seed {
        raw["seed"] = json!(seed);
    }
    if !(scale > 0.0 && scale <= 1000.0) {
        return Err(Error::input(format!(
            "--scale {scale} is out of range; allowed: above 0 to 1000"
        )));
    }
    let mut scenario = Scenario::from_value(&raw).map_err(|e| here(&e))?;
    if scale != 1.0 {
        multiply(&mut raw, scale);
        scenario = Scenario::from_value(&raw).map_err(|e| here(&e))?;
    }
    let resolved = scenario.resolve().map_err(|e| here(&e))?;
    Ok(Chosen {
        raw,
        scenario,
        resolved,
    })
}

/// Changes one value: `flow.x1.start=3 s`. Entries of a list go by name, by number from 1, and links by their ends.
fn set(raw: &mut Value, change: &str) -> Result<(), String> {
    let needs = || "needs PATH=VALUE, as in duration=\"10 s\"".to_owned();
    let (path, text) = change.split_once('=').ok_or_else(needs)?;
    let value = value_of(text.trim());
    let keys: Vec<&str> = path.trim().split('.').collect();
    if LISTS.contains(&keys[0]) && keys.len() < 3 {
        return Err(format!("needs an entry and a key, such as {}.1.from", keys[0]));
    }
    let mut place = raw;
    for (depth, key) in keys.iter().enumerate() {
        let last = depth + 1 == keys.len();
        if !last && place.as_str() == Some(key) {
            // A law by name turns into a table when one of its parameters is set.
            *place = json!({ *key: {} });
        }
        place = match place {
            Value::Array(entries) => entry(entries, key)?,
            Value::Object(table) if last => {
                table.insert((*key).to_owned(), value);
                return Ok(());
            }
            Value::Object(table) if depth == 0 && LISTS.contains(key) && !table.contains_key(*key) => {
                return Err(format!("the scenario has no [[{key}]]"));
            }
            Value::Object(table) => table.entry(*key).or_insert_with(|| Value::Object(Map::new())),
            other => return Err(format!("{:?} is {other} and has no keys", keys[depth.max(1) - 1])),
        };
    }
    Err(needs())
}

fn entry<'a>(entries: &'a mut [Value], key: &str) -> Result<&'a mut Value, String> {
    let names: Vec<String> = entries.iter().map(name_of).collect();
    let by_name = names.iter().position(|name| name == key);
    let by_number = key.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    match by_name.or(by_number).filter(|n| *n < names.len()) {
        Some(n) => Ok(&mut entries[n]),
        None => Err(format!("no entry {key:?}; allowed: {}", names.join(", "))),
    }
}

fn name_of(entry: &Value) -> String {
    let text = |key: &str| entry[key].as_str().unwrap_or_default();
    match text("name") {
        "" => format!("{}->{}", text("from"), text("to")),
        name => name.to_owned(),
    }
}

/// A value as typed: TOML where it is TOML, otherwise the text itself.
fn value_of(text: &str) -> Value {
    let table = Scenario::parse(&format!("value = {text}"));
    match table {
        Ok(Value::Object(mut table)) if table.len() == 1 => table.remove("value").unwrap_or_else(|| json!(text)),
        _ => json!(text),
    }
}

/// Multiplies link rates, buffers, arrivals a second, and rates of senders that listen to nothing. Packets keep their
/// size, and parameters of laws that listen their value.
fn multiply(raw: &mut Value, scale: f64) {
    let tables = |raw: &mut Value, key: &str, each: &dyn Fn(&mut Value)| {
        raw[key].as_array_mut().into_iter().flatten().for_each(each);
    };
    tables(raw, "link", &|link| {
        multiply_link(link, scale);
        if link["reverse"].is_object() {
            multiply_link(&mut link["reverse"], scale);
        }
    });
    let constant = |laws: &mut Value| {
        if let Some(rate) = laws.pointer_mut("/cbr/rate") {
            *rate = rate_times(rate, scale);
        }
    };
    tables(raw, "flow", &|flow| {
        if let Some(often) = flow.pointer_mut("/arrivals/poisson") {
            let parsed = often.as_str().and_then(|text| text.parse::<Frequency>().ok());
            if let Some(f) = parsed.and_then(|f| Frequency::new(f.per_second() * scale)) {
                *often = json!(f.to_string());
            }
        }
        if flow["law"].is_object() {
            constant(&mut flow["law"]);
        }
    });
    if raw["law"].is_object() {
        constant(&mut raw["law"]);
    }
}

fn multiply_link(link: &mut Value, scale: f64) {
    let Some(table) = link.as_object_mut() else { return };
    if let Some(rate) = table.get_mut("capacity") {
        *rate = rate_times(rate, scale);
    }
    // "1 BDP" grows by itself; what has no unit of bytes or packets is left as it is.
    if let Some(Value::String(buffer)) = table.get_mut("buffer") {
        let bytes = buffer.parse::<levelflow_units::Bytes>().ok();
        let packets = buffer.parse::<levelflow_units::Packets>().ok();
        let times = |n: u64| ((n as f64 * scale).ceil() as u64).max(1);
        if let Some(bytes) = bytes {
            *buffer = levelflow_units::Bytes::new(times(bytes.get())).to_string();
        } else if let Some(packets) = packets {
            *buffer = levelflow_units::Packets::new(times(packets.get())).to_string();
        }
    }
}

fn rate_times(rate: &Value, scale: f64) -> Value {
    let parsed = rate.as_str().and_then(|text| text.parse::<Rate>().ok());
    match parsed.and_then(|r| r.scaled(scale)) {
        Some(r) => json!(r.to_string()),
        None => rate.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_laws::SenderLaw as _;

    const TWO: &str = r#"
        name = "two"
        duration = "10 s"
        [[link]]
        from = "R1"
        to = "R2"
        capacity = "1 Gb/s"
        delay = "10 ms"
        buffer = "2000 packets"
        duplex = true
        reverse = { capacity = "100 Mb/s" }
        [[flow]]
        name = "x1"
        law = "jetmax"
        from = "R1"
        to = "R2"
        [[flow]]
        name = "noise"
        law = { cbr = { rate = "50 Mb/s" } }
        from = "R1"
        to = "R2"
    "#;

    fn chosen(changes: &[&str], scale: f64) -> Result<Chosen, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("two.toml");
        std::fs::write(&path, TWO).unwrap();
        let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
        choose(&path, &changes, Some(7), scale)
    }

    #[test]
    fn changes_reach_entries_by_name_number_and_ends() {
        let all = [
            "flow.x1.start=3 s",
            "flow.x1.law.jetmax.tau=0.5",
            "flow.2.law.cbr.rate=\"1 Mb/s\"",
            "link.R1->R2.delay=20 ms",
            "law.jetmax.interval=50 ms",
        ];
        let chosen = chosen(&all, 1.0).unwrap();
        assert_eq!(chosen.raw["flow"][0]["start"], "3 s");
        assert_eq!(chosen.raw["flow"][0]["law"], json!({ "jetmax": { "tau": 0.5 } }));
        assert_eq!(chosen.raw["flow"][1]["law"]["cbr"]["rate"], "1 Mb/s");
        assert_eq!(chosen.raw["law"]["jetmax"]["interval"], "50 ms");
        assert_eq!(chosen.resolved.network.links[1].delay.as_secs_f64(), 0.02);
        assert_eq!(chosen.resolved.network.seed, 7);
    }

    #[test]
    fn a_scale_multiplies_rates_and_buffers_and_leaves_packets() {
        let network = chosen(&[], 0.05).unwrap().resolved.network;
        assert_eq!(network.links[0].capacity.bps(), 50e6);
        assert_eq!(network.links[1].capacity.bps(), 5e6);
        assert_eq!(network.links[0].buffer, levelflow_units::Buffer::Packets(100));
        assert_eq!(network.flows[0].packet.get(), 1000);
        let sender = levelflow_laws::AnySender::new(
            &network.flows[1].params,
            &levelflow_laws::FlowInfo {
                packet_size: network.flows[1].packet,
            },
        );
        assert_eq!(sender.rate().bps(), 2.5e6);
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for (change, part) in [
            ("flow.x9.start=1 s", "no entry \"x9\"; allowed: x1, noise"),
            ("flow.x1=1", "needs an entry and a key"),
            ("duration", "needs PATH=VALUE"),
            ("name.a=1", "has no keys"),
            ("flow.x1.strat=1 s", "did you mean"),
        ] {
            let text = chosen(&[change], 1.0).unwrap_err().to_string();
            assert!(text.contains(part) && text.lines().count() == 1, "{text}");
        }
        assert!(chosen(&[], 0.0).unwrap_err().to_string().contains("allowed: above 0"));
    }
}
