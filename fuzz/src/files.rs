//! Files that a command reads: traces of links, schedules, and state files of running programs.

use levelflow_host::pid_file::State;
use levelflow_link::control::schedule;
use levelflow_scenario::{Recording, Scenario, Trace, read_trace, read_traces};
use levelflow_units::Rate;
use serde_json::json;

use crate::bytes::Choices;

/// Bytes of an opportunity in a Mahimahi trace.
const OPPORTUNITY_BITS: f64 = 1504.0 * 8.0;

/// Reads text as both kinds of traces. Either the text is rejected with a one-line error, or a link with this trace is
/// accepted, and a trace of opportunities has their mean capacity.
///
/// # Panics
/// When the property above is violated.
pub fn traces(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = |_: &str| Ok(text.clone().into_owned());
    for kind in ["csv", "mahimahi"] {
        let mut raw = json!({
            "name": "x", "duration": "3 s", "sample": "1 s",
            "link": [{ "from": "A", "to": "B", "capacity": "1 Mb/s", "delay": "1 ms", "buffer": "1 BDP",
                       "duplex": true, "changes": { kind: "f" } }],
            "flow": [{ "name": "x", "law": "cubic", "from": "A", "to": "B", "rtt": "10 ms" }],
        });
        match read_traces(&mut raw, read) {
            Ok(()) => {
                let scenario = Scenario::from_value(&raw).and_then(|scenario| scenario.resolve().map(drop));
                scenario.unwrap_or_else(|error| panic!("{text:?}: {error}"));
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{text:?}: {error}"),
        }
    }
    if let Ok(Recording::Opportunities(trace)) = read_trace(&Trace::Mahimahi("f".to_owned()), read) {
        mean(
            &text,
            trace
                .changes()
                .take(50)
                .filter_map(|change| change.capacity)
                .map(Rate::bps),
        );
    }
}

/// Checks that a trace of opportunities, read for a time, has the opportunities within this time.
fn mean(text: &str, rates: impl Iterator<Item = f64>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bare = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let times: Vec<u64> = bare.filter_map(|line| line.parse().ok()).collect();
    let (period, until) = (times[times.len() - 1], 5000_u64);
    // An opportunity at time t of a repetition passes a packet before time u if t < u. The last one is at the period.
    let passed: usize = (0..=(until / period).min(until))
        .map(|round| times.iter().filter(|&&time| round * period + time < until).count())
        .sum();
    let bits: f64 = rates.map(|bps| bps * 0.1).sum();
    let wanted = passed as f64 * OPPORTUNITY_BITS;
    assert!(
        (bits - wanted).abs() <= 1e-6 * wanted,
        "{text:?}: {bits} bits, not {wanted}"
    );
}

/// Makes text that resembles a trace: lines of numbers, with or without a line of column names.
#[must_use]
pub fn damaged_trace(bytes: &[u8]) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "1",
        "0",
        "\n",
        "\n",
        "\n",
        ",",
        ",",
        ".5",
        "e6",
        "9",
        "100",
        "4999",
        "1e400",
        "-1",
        "nan",
        " ",
        "#",
        "\r\n",
        "\u{feff}",
        "t_s",
        "loss",
        "86400000000",
    ];
    const HEADS: &[&str] = &[
        "t_s,capacity_bps\n0,1e6\n",
        "",
        "t_s,capacity_bps,delay_s,jitter_s,loss\n0,1e6,0.01,0,0.1\n",
        "t_s,loss\n0,0\n1,",
        "0\n1\n1\n100\n",
    ];
    let mut choices = Choices::new(&bytes[..bytes.len().min(64)]);
    let mut text = (*choices.of::<&str>(HEADS)).to_owned();
    while choices.are_left() {
        text.push_str(choices.of::<&str>(WORDS));
    }
    text.into_bytes()
}

/// Reads text as a schedule of a link. Either the text is rejected with a one-line error, or its changes are in order
/// and in range.
///
/// # Panics
/// When the property above is violated.
pub fn schedules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match schedule(&text) {
        Ok(changes) => {
            assert!(changes.is_sorted_by_key(|&(at, _)| at), "{text:?}");
            assert!(
                changes.iter().all(|(_, change)| change.setting.check().is_ok()),
                "{text:?}"
            );
            assert!(
                changes.iter().all(|(_, change)| change.forward || change.reverse),
                "{text:?}"
            );
        }
        Err(error) => assert!(error.starts_with("line ") && !error.contains('\n'), "{error:?}"),
    }
}

/// Makes text that resembles a schedule.
#[must_use]
pub fn damaged_schedule(bytes: &[u8]) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "1 s",
        ": ",
        "forward ",
        "reverse ",
        "rate ",
        "delay ",
        "jitter ",
        "buffer ",
        "slot ",
        "loss ",
        "10 Mb/s",
        "20 ms",
        "50 packets",
        "unlimited",
        "0.5",
        "1 %",
        "gemodel ",
        "0.1 ",
        "nan",
        "-1",
        "\n",
        "\n",
        "#",
        " ",
        "\r",
        "1e400",
        "100 s",
        "%",
    ];
    let mut choices = Choices::new(&bytes[..bytes.len().min(64)]);
    let mut text = String::new();
    while choices.are_left() {
        text.push_str(choices.of::<&str>(WORDS));
    }
    text.into_bytes()
}

/// Reads bytes as the state file of a running program. Either the bytes are rejected, or re-encoding preserves them.
///
/// # Panics
/// When the property above is violated.
pub fn states(bytes: &[u8]) {
    let Ok(state) = serde_json::from_slice::<State>(bytes) else {
        return;
    };
    let text = serde_json::to_vec(&state).expect("a decoded file can be encoded");
    let again: State = serde_json::from_slice(&text).expect("an encoded file can be decoded");
    assert_eq!(serde_json::to_vec(&again).ok(), Some(text));
}
