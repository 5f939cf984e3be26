//! A scenario at another scale: the same network with faster or slower links.

use levelflow_laws::{LAWS, Signal, Unit};
use levelflow_units::{Bytes, Frequency, Packets, Rate};
use serde_json::{Value, json};

/// Multiplies link rates, buffers, arrivals a second, rates and responses of applications, and rates of senders that
/// listen to nothing. Packets keep their size, and parameters of laws that listen their value.
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
    // "1 BDP" grows by itself.
    if let Some(buffer @ Value::String(_)) = table.get_mut("buffer") {
        scale_size(buffer, factor);
    }
}

/// Multiplies each size in bytes or packets, also within a distribution.
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
