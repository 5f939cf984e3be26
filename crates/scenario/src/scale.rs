//! Scales a scenario: returns the same network with faster or slower links.

use levelflow_laws::{LAWS, Signal, Unit};
use levelflow_units::{Bytes, Duration, Frequency, Packets, Rate};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Fallible, Place, Problem};
use crate::quantity::Share;

/// Multiplies rates and sizes of a scenario by `factor`. The scaled values are link rates, buffer sizes, arrival rates,
/// the rates and response sizes of applications, and the rates of senders without feedback. Packet sizes and the
/// parameters of other laws do not change.
pub fn scale(raw: &mut Value, factor: f64) {
    let tables = |raw: &mut Value, key: &str, each: &dyn Fn(&mut Value)| {
        raw[key].as_array_mut().into_iter().flatten().for_each(each);
    };
    tables(raw, "link", &|link| {
        scale_link(link, factor);
        if link["reverse"].is_object() {
            scale_link(&mut link["reverse"], factor);
        }
    });
    let constant = |laws: &mut Value| {
        for law in LAWS.iter().filter(|law| law.signal == Signal::Nothing) {
            for row in law.params.iter().filter(|row| row.unit == Unit::Rate) {
                if let Some(rate) = laws.pointer_mut(&format!("/{}/{}", law.name, row.name)) {
                    *rate = rate_times(rate, factor);
                }
            }
        }
    };
    tables(raw, "flow", &|flow| {
        if let Some(often) = flow.pointer_mut("/arrivals/poisson") {
            let parsed = often.as_str().and_then(|text| text.parse::<Frequency>().ok());
            if let Some(f) = parsed.and_then(|f| Frequency::new(f.per_second() * factor)) {
                *often = json!(f.to_string());
            }
        }
        for rate in ["/application/rate", "/application/on_off/rate"] {
            if let Some(rate) = flow.pointer_mut(rate) {
                *rate = rate_times(rate, factor);
            }
        }
        if let Some(size) = flow.pointer_mut("/application/responses/size") {
            scale_size(size, factor);
        }
        if flow["law"].is_object() {
            constant(&mut flow["law"]);
        }
    });
    if raw["law"].is_object() {
        constant(&mut raw["law"]);
    }
}

/// Multiplies the arrival rates of all flow entries by `factor`.
///
/// # Errors
/// Returns an error if an entry has no arrival process, or if a scaled value is not allowed.
pub fn scale_arrivals(raw: &mut Value, factor: f64) -> Fallible<()> {
    let flows = raw["flow"].as_array_mut().into_iter().flatten();
    for (i, flow) in flows.enumerate() {
        let name = flow["name"].as_str().unwrap_or_default();
        let place = Place::entry("flow", i, name).key("arrivals");
        let wrong = |problem| place.error(Problem::Value(problem));
        let allowed = "needs poisson, load, interval or batches";
        let Some(arrivals) = flow.get_mut("arrivals").and_then(Value::as_object_mut) else {
            return Err(wrong(allowed.to_owned()));
        };
        for (kind, value) in arrivals {
            match kind.as_str() {
                "poisson" => {
                    let often = value.as_str().unwrap_or_default().parse::<Frequency>();
                    let often = often.map_err(|e| wrong(e.to_string()))?.per_second() * factor;
                    let often = Frequency::new(often).ok_or_else(|| wrong(format!("{often} /s is out of range")))?;
                    *value = json!(often.to_string());
                }
                "load" => {
                    let Share(share) = Share::deserialize(&*value).map_err(|e| wrong(e.to_string()))?;
                    *value = json!(share * factor);
                }
                "interval" => scale_times(value, 1.0 / factor),
                "batches" => {
                    if let Some(interval) = value.get_mut("interval") {
                        scale_times(interval, 1.0 / factor);
                    }
                }
                _ => return Err(wrong(allowed.to_owned())),
            }
        }
    }
    Ok(())
}

/// Multiplies a time by `factor`. In a distribution, multiplies each time.
fn scale_times(time: &mut Value, factor: f64) {
    match time {
        Value::String(text) => {
            if let Ok(time) = text.parse::<Duration>() {
                *text = Duration::from_ps(((time.as_ps() as f64 * factor).round() as u64).max(1)).to_string();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| scale_times(value, factor)),
        Value::Object(table) => table.values_mut().for_each(|value| scale_times(value, factor)),
        _ => {}
    }
}

fn scale_link(link: &mut Value, factor: f64) {
    let Some(table) = link.as_object_mut() else { return };
    if let Some(rate) = table.get_mut("capacity") {
        *rate = rate_times(rate, factor);
    }
    for change in table
        .get_mut("changes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(rate) = change.get_mut("capacity") {
            *rate = rate_times(rate, factor);
        }
    }
    // A buffer of "1 BDP" already scales with the capacity.
    if let Some(buffer @ Value::String(_)) = table.get_mut("buffer") {
        scale_size(buffer, factor);
    }
}

/// Multiplies a size in bytes or packets by `factor`. In a distribution, multiplies each size.
fn scale_size(size: &mut Value, factor: f64) {
    let times = |n: u64| ((n as f64 * factor).ceil() as u64).max(1);
    match size {
        Value::String(text) => {
            if let Ok(bytes) = text.parse::<Bytes>() {
                *text = Bytes::new(times(bytes.get())).to_string();
            } else if let Ok(packets) = text.parse::<Packets>() {
                *text = Packets::new(times(packets.get())).to_string();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| scale_size(value, factor)),
        Value::Object(table) => table.values_mut().for_each(|value| scale_size(value, factor)),
        _ => {}
    }
}

fn rate_times(rate: &Value, factor: f64) -> Value {
    let parsed = rate.as_str().and_then(|text| text.parse::<Rate>().ok());
    match parsed.and_then(|r| r.scaled(factor)) {
        Some(r) => json!(r.to_string()),
        None => rate.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn scaled_arrivals_offer_as_much_more() {
        let arrivals = [
            json!({ "poisson": "7 /s" }),
            json!({ "load": 0.2 }),
            json!({ "load": "20 %" }),
            json!({ "interval": { "uniform": ["10 ms", "90 ms"] } }),
            json!({ "interval": { "empirical": [["10 ms", 0.5], ["90 ms", 1.0]] } }),
            json!({ "batches": { "batch": 3, "interval": { "pareto": { "mean": "1 s", "shape": 1.5 } } } }),
        ];
        for arrivals in arrivals {
            let mut raw = json!({
                "name": "n", "duration": "10 s",
                "link": [{ "from": "A", "to": "B", "capacity": "10 Mb/s", "delay": "1 ms", "duplex": true }],
                "flow": [{ "name": "x", "law": "cubic", "from": "A", "to": "B", "size": "5 kB", "arrivals": arrivals }],
            });
            let offered = |raw: &Value| {
                let resolved = Scenario::from_value(raw)
                    .and_then(|scenario| scenario.resolve())
                    .unwrap();
                resolved.network.offered_loads()[0].load
            };
            let before = offered(&raw);
            scale_arrivals(&mut raw, 3.7).unwrap();
            assert!((offered(&raw) / before - 3.7).abs() < 1e-6, "{raw}");
        }
        for arrivals in [json!({ "times": ["1 s"] }), Value::Null, json!({ "poisson": "often" })] {
            let mut raw = json!({ "flow": [{ "name": "x", "arrivals": arrivals }] });
            let error = scale_arrivals(&mut raw, 2.0).unwrap_err().to_string();
            assert!(error.starts_with("flow 1 (x), arrivals: "), "{error}");
        }
    }

    #[test]
    fn rates_buffers_and_arrivals_are_multiplied_and_packets_are_not() {
        let mut raw = json!({
            "link": [{
                "from": "A", "to": "B", "capacity": "1 Gb/s", "delay": "10 ms", "buffer": "2000 packets",
                "duplex": true, "reverse": { "capacity": "100 Mb/s", "buffer": "1 BDP" },
            }],
            "flow": [
                { "name": "x", "law": "jetmax", "packet": "1250 B", "arrivals": { "poisson": "100 /s" } },
                { "name": "y", "law": { "cbr": { "rate": "50 Mb/s" } } },
                { "name": "z", "application": { "on_off": { "rate": "50 Mb/s", "on": "1 s", "off": "1 s" } } },
                { "name": "s", "application": { "responses": { "size": { "exponential": "1 MB" }, "think": "1 s" } } },
            ],
        });
        scale(&mut raw, 0.05);
        assert_eq!(raw["link"][0]["capacity"], "50 Mb/s");
        assert_eq!(raw["link"][0]["buffer"], "100 packets");
        assert_eq!(
            raw["link"][0]["reverse"],
            json!({ "capacity": "5 Mb/s", "buffer": "1 BDP" })
        );
        assert_eq!(raw["link"][0]["delay"], "10 ms");
        assert_eq!(raw["flow"][0]["packet"], "1250 B");
        assert_eq!(raw["flow"][0]["arrivals"]["poisson"], "5 /s");
        assert_eq!(raw["flow"][1]["law"]["cbr"]["rate"], "2.5 Mb/s");
        assert_eq!(
            raw["flow"][2]["application"]["on_off"],
            json!({ "rate": "2.5 Mb/s", "on": "1 s", "off": "1 s" })
        );
        assert_eq!(
            raw["flow"][3]["application"]["responses"],
            json!({ "size": { "exponential": "50 kB" }, "think": "1 s" })
        );
    }
}
