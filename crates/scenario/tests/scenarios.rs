//! Every bad scenario gets one line that says where, what, and what is allowed.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use levelflow_scenario::{Resolved, Scenario, read_traces};
use levelflow_units::{Buffer, Bytes, Duration};
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

/// The good scenario with these values put at these places, named by JSON pointers.
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

/// Asserts that there is one line, and that it holds each of these texts.
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

#[test]
fn the_good_scenario_is_accepted() {
    assert_eq!(check(&good()), Ok(()));
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    refused(
        &[("/duratoin", json!("1 s"))],
        &["top level", "\"duratoin\"", "did you mean \"duration\"?", "sample"],
    );
    refused(
        &[("/link/0/capcity", json!("1 Mb/s"))],
        &["link 1 (A->B)", "did you mean \"capacity\"?", "delay"],
    );
    refused(
        &[("/flow/0/strat", json!("1 s"))],
        &["flow 1 (x)", "did you mean \"start\"?", "stop"],
    );
    refused(
        &[("/flow/0/law", json!("jetmx"))],
        &["flow 1 (x), law", "did you mean \"jetmax\"?", "emkc", "rcp"],
    );
    refused(
        &[("/flow/0/law", json!({ "jetmax": { "tua": 1 } }))],
        &["flow 1 (x), law", "did you mean \"tau\"?"],
    );
    refused(
        &[("/flow/0/law", json!({ "cubic": { "sack": false } }))],
        &["flow 1 (x), law, cubic: \"sack\" is not known here", "delayed_ack"],
    );
    refused(
        &[("/flow/0/law", json!({ "reno": { "sack": "no" } }))],
        &["flow 1 (x), law, reno, sack", "true or false"],
    );
    refused(&[("/law", json!({ "rpc": {} }))], &["law", "did you mean \"rcp\"?"]);
    refused(
        &[("/law", json!({ "rcp": { "alhpa": 1 } }))],
        &["law, rcp", "did you mean \"alpha\"?", "beta"],
    );
    refused(
        &[("/link/1/law", json!({ "jetmax": { "gama": 1 } }))],
        &["link 2 (B->C), law", "\"gamma\""],
    );
    refused(
        &[("/flow/0/to", json!("D"))],
        &["flow 1 (x)", "node \"D\"", "known: A, B, C"],
    );
    refused(
        &[("/flow/0/size", json!({ "parreto": {} }))],
        &["flow 1 (x), size", "did you mean \"pareto\"?", "uniform"],
    );
    refused(
        &[("/flow/0/arrivals", json!({ "poison": "1 /s" }))],
        &["flow 1 (x), arrivals", "did you mean \"poisson\"?"],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn quantities_need_their_unit_and_a_sane_value() {
    refused(&[("/duration", json!(10))], &["duration", "10"]);
    refused(&[("/duration", json!("10"))], &["duration", "no unit", "ms", "min"]);
    refused(
        &[("/duration", json!("0 s"))],
        &["duration", "0 s is out of range", "2400 h"],
    );
    refused(
        &[("/duration", json!("2401 h"))],
        &["duration", "2401 h is out of range", "2400 h"],
    );
    refused(
        &[("/duration", json!("1e99 s"))],
        &["duration", "too large", "213 days"],
    );
    refused(&[("/sample", json!("0 s"))], &["sample", "allowed: above 0 s"]);
    refused(
        &[("/link/0/capacity", json!("-1 Mb/s"))],
        &["link 1 (A->B), capacity", "-1 Mb/s", "has a sign", "kb/s"],
    );
    refused(
        &[("/link/0/capacity", json!("1 MB/s"))],
        &["link 1 (A->B), capacity", "1 MB/s", "Mb/s"],
    );
    refused(
        &[("/link/0/capacity", json!("0 b/s"))],
        &["link 1 (A->B), capacity", "allowed: 1 b/s to"],
    );
    refused(
        &[("/link/0/delay", json!("25 h"))],
        &["link 1 (A->B), delay", "25 h is out of range", "24 h"],
    );
    refused(
        &[("/link/0/loss", json!(1.0))],
        &["link 1 (A->B), loss", "1 is out of range", "less than 1"],
    );
    refused(
        &[("/link/0/loss", json!("120 %"))],
        &["link 1 (A->B), loss", "1.2 is out of range"],
    );
    refused(
        &[("/link/0/buffer", json!("0 packets"))],
        &["link 1 (A->B), buffer", "at least one packet"],
    );
    refused(
        &[("/link/0/buffer", json!("0 BDP"))],
        &["link 1 (A->B), buffer", "above 0"],
    );
    refused(
        &[("/link/0/buffer", json!("large"))],
        &["link 1 (A->B), buffer", "64 kB", "packets", "BDP", "unlimited"],
    );
    refused(
        &[("/flow/0/packet", json!("65536 B"))],
        &["flow 1 (x), packet", "1 B to 65535 B"],
    );
    refused(&[("/flow/0/ack", json!("0 B"))], &["flow 1 (x), ack", "1 B to 65535 B"]);
    refused(&[("/flow/0/size", json!("0 B"))], &["flow 1 (x), size", "above 0"]);
    refused(
        &[("/flow/0/size", json!({ "pareto": { "mean": "1 kB", "shape": 1 } }))],
        &["flow 1 (x), size", "above 1"],
    );
    refused(
        &[("/flow/0/start", json!({ "uniform": ["2 s", "1 s"] }))],
        &["flow 1 (x), start", "uniform"],
    );
    refused(
        &[("/flow/0/start", json!({ "list": [] }))],
        &["flow 1 (x), start", "list must not be empty"],
    );
    refused(&[("/seed", json!(-1))], &["seed", "-1"]);
    refused(
        &[("/flow/0/law", json!({ "jetmax": { "tau": 2.5 } }))],
        &["flow 1 (x)", "tau", "2.5", "allowed: 0.01 to 1.99"],
    );
    refused(
        &[("/law", json!({ "jetmax": { "interval": 0.1 } }))],
        &["law, jetmax, interval", "unit", "100 ms"],
    );
    refused(
        &[("/law", json!({ "jetmax": { "settle": "never" } }))],
        &["settle", "per-adjustment", "per-switch"],
    );
}

#[test]
fn topologies_must_hang_together() {
    refused(&[("/link", json!([]))], &["link", "at least one"]);
    refused(&[("/link/0/to", json!("A"))], &["link 1 (A->A)", "two different nodes"]);
    refused(
        &[("/link/1/from", json!("A")), ("/link/1/to", json!("B"))],
        &["link 2 (A->B)", "two links", "name"],
    );
    refused(
        &[
            ("/link/0/duplex", json!(false)),
            ("/link/0/reverse", json!({ "loss": 0.1 })),
        ],
        &["link 1", "duplex = true"],
    );
    refused(
        &[("/link/0/law", json!("jetmax"))],
        &["link 1 (A->B), law", "\"jetmax\" is not allowed here", "none"],
    );
    refused(
        &[("/link/0/law", json!("none")), ("/link/1/law", json!("none"))],
        &["flow 1 (x)", "runs jetmax", "none"],
    );
    refused(
        &[("/link/1/duplex", json!(false))],
        &["flow 1 (x), way back", "no route", "\"C\"", "\"A\"", "path"],
    );
    refused(
        &[("/flow/0/path", json!(["A", "C"]))],
        &["flow 1 (x), path", "no link from \"A\" to \"C\"", "duplex"],
    );
    refused(&[("/flow/0/path", json!(["A"]))], &["flow 1 (x)", "path"]);
    refused(
        &[("/flow/0/path", json!(["B", "C"]))],
        &["flow 1 (x), from", "\"A\"", "\"B\""],
    );
    refused(
        &[("/flow/0/reverse_path", json!(["C", "B"]))],
        &["flow 1 (x), reverse_path", "\"C\" back to \"A\""],
    );
    refused(&[("/flow/0/to", json!("A"))], &["flow 1 (x)", "itself"]);
    refused(&[("/flow/0/to", Value::Null)], &["flow 1 (x), to", "missing", "path"]);
    refused(
        &[("/route", json!([{ "at": "A", "to": "C", "via": "C" }]))],
        &["route 1", "no link from \"A\" to \"C\""],
    );
    let circle = json!([{ "at": "B", "to": "C", "via": "A" }]);
    refused(&[("/route", circle)], &["flow 1 (x)", "\"A\" to \"C\"", "circle"]);
    refused(
        &[("/flow/0/rtt", json!("39 ms"))],
        &["flow 1 (x), rtt", "at least 40 ms"],
    );
    let (delay, other) = (json!("13 h"), json!("1 s"));
    refused(
        &[("/link/0/delay", delay), ("/link/1/delay", other)],
        &["flow 1 (x)", "longer than 24 h"],
    );
}

#[test]
fn a_reverse_direction_changes_in_what_it_has_no_value_for() {
    let changes = json!([{ "at": "1 s", "capacity": "1 Mb/s" }, { "at": "2 s", "delay": "40 ms", "loss": 0.1 }]);
    let link = |reverse: Value| {
        let link = [
            ("/link/0/duplex", json!(true)),
            ("/link/0/changes", changes.clone()),
            ("/link/0/reverse", reverse),
        ];
        let directions: [_; 2] = resolve(&link).network.links[..2].to_vec().try_into().ok().unwrap();
        directions.map(|link| link.changes)
    };
    let [there, back] = link(json!({}));
    assert_eq!((there.len(), &there), (2, &back));
    let [_, back] = link(json!({ "capacity": "7 Mb/s", "delay": "3 ms" }));
    assert_eq!(back.len(), 1);
    assert_eq!(
        (back[0].capacity.bps(), back[0].wire.delay, back[0].wire.loss.mean()),
        (7e6, Duration::from_ms(3), 0.1)
    );
    assert_eq!(link(json!({ "changes": [] }))[1], []);
    refused(
        &[("/link/0/measured", json!(true))],
        &["link 1", "measured needs changes"],
    );
}

#[test]
fn traffic_must_make_sense() {
    refused(&[("/flow", json!(["x"]))], &["flow 1", "a table with name, law"]);
    refused(&[("/flow", json!([{}]))], &["flow 1", "the key \"name\" is missing"]);
    let twin = json!([{ "name": "x", "law": "rcp", "from": "A", "to": "B" }, { "name": "x", "law": "rcp", "from": "A", "to": "B" }]);
    refused(&[("/flow", twin)], &["flow 2 (x)", "name of its own"]);
    refused(
        &[("/flow/0/reliable", json!(true))],
        &["flow 1 (x), reliable", "needs a size"],
    );
    refused(
        &[("/flow/0/start", json!("3 s")), ("/flow/0/stop", json!("3 s"))],
        &["flow 1 (x), stop", "after start"],
    );
    refused(&[("/flow/0/count", json!(0))], &["flow 1 (x), count", "1 to 10000000"]);
    refused(
        &[("/flow/0/count", json!(10_000_001))],
        &["flow 1 (x), count", "1 to 10000000"],
    );
    refused(
        &[("/flow/0/count", json!(1u64 << 32))],
        &["flow 1 (x), count", "4294967296", "1 to 10000000"],
    );
    refused(
        &[("/flow/0/count", json!(-1))],
        &["flow 1 (x), count", "-1", "a whole number from 0 to"],
    );
    refused(&[("/flow/0/limit", json!(3))], &["flow 1 (x), limit", "arrivals"]);
    let poisson = || ("/flow/0/arrivals", json!({ "poisson": "3 /s" }));
    refused(
        &[poisson(), ("/flow/0/count", json!(3))],
        &["flow 1 (x), count", "batch"],
    );
    refused(
        &[poisson(), ("/flow/0/limit", json!(0))],
        &["flow 1 (x), limit", "at least 1"],
    );
    let arrivals = |value| [("/flow/0/arrivals", value)];
    refused(
        &arrivals(json!({ "poisson": "2e9 /s" })),
        &["flow 1 (x), arrivals", "up to 1000000000 /s"],
    );
    for never in [
        json!("0 s"),
        json!({ "uniform": ["0 s", "0 s"] }),
        json!({ "list": ["0 s"] }),
    ] {
        refused(
            &arrivals(json!({ "interval": never })),
            &["flow 1 (x), arrivals", "above 0"],
        );
    }
    let batches = json!({ "batches": { "batch": 0, "interval": "1 s" } });
    refused(
        &arrivals(batches),
        &["flow 1 (x), arrivals", "batch 0", "1 to 10000000"],
    );
    refused(
        &[("/flow/0/law", json!({ "jetmax": {}, "rcp": {} }))],
        &["flow 1 (x), law", "exactly one"],
    );
}

#[test]
fn names_cannot_break_the_line_or_the_result_directory() {
    refused(
        &[("/flow/0/name", json!("a\nb\r\u{2028}c")), ("/flow/0/to", json!("D"))],
        &["flow 1 (a b c)"],
    );
    refused(&[("/link/0/na\nme", json!(1))], &["link 1", "na"]);
    for name in ["", "..", "a/b", "a\\b"] {
        refused(&[("/name", json!(name))], &["name", "without slashes"]);
    }
}

#[test]
fn names_hold_no_control_characters() {
    for (pointer, texts) in [
        ("/name", ["name", "good"]),
        ("/link/0/name", ["link 1 (good ), name", "good"]),
        ("/link/0/reverse", ["link 1 (A->B), name", "good"]),
        ("/link/0/from", ["link 1 (good ->B), from", "good"]),
        ("/link/1/to", ["link 2 (B->good ), to", "good"]),
        ("/flow/0/name", ["flow 1 (good ), name", "good"]),
    ] {
        for control in ['\0', '\t', '\u{1b}', '\u{9f}'] {
            let name = json!(format!("good{control}"));
            let value = if pointer.ends_with("reverse") {
                json!({ "name": name })
            } else {
                name
            };
            let line = check(&changed(&[(pointer, value)])).expect_err(pointer);
            assert_line(&line, &[texts[0], texts[1], "control character", "allowed"]);
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
    assert_eq!(check(&changed(&[("/flow/0/name", json!("Zürich \u{1f600}"))])), Ok(()));
}

#[test]
fn a_value_out_of_range_is_printed_once() {
    let line = check(&changed(&[("/law", json!({ "jetmax": { "tau": 7.0 } }))])).expect_err("tau");
    assert_eq!(line, "law, jetmax, tau: 7 is out of range; allowed: 0.01 to 1.99");
}

#[track_caller]
fn not_toml(text: &str, texts: &[&str]) {
    let line = Scenario::parse(text).expect_err(text).to_string();
    assert_line(&line, &[texts, &["not valid TOML"]].concat());
}

#[test]
fn broken_files_get_line_and_column() {
    not_toml("name = \"x\"\nduration = \"10 s", &["line 2"]);
    not_toml("name = \"x\"\n[[link]\n", &["line 2"]);
    not_toml("name = 1\nname = 2\n", &["line 2", "duplicate key"]);
    not_toml("\u{0}\u{1}\u{2}", &["line 1, column 4"]);
    let huge = Scenario::parse("seed = 99999999999999999999").unwrap_err().to_string();
    assert_line(
        &huge,
        &[
            "line 1, column 8",
            "the number is out of range; allowed: up to 9223372036854775807",
        ],
    );
}

/// A file cut off anywhere either is refused in one line, or says the same as the whole so far.
#[test]
fn truncated_files_are_refused_or_read_as_they_stand() {
    let whole = include_str!("../../../scenarios/dumbbell.toml");
    let mut refusals = 0;
    for (end, _) in whole.char_indices() {
        let line = match Scenario::parse(&whole[..end]) {
            Ok(value) => check(&value).err(),
            Err(error) => Some(error.to_string()),
        };
        refusals += u32::from(line.is_some());
        assert_line(&line.unwrap_or_default(), &[]);
    }
    assert!(refusals > whole.len() as u32 / 2, "{refusals}");
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let n = 100_000;
    let texts = [
        format!("x = {}{}", "[".repeat(n), "]".repeat(n)),
        format!("x = {}1{}", "{a=".repeat(n), "}".repeat(n)),
        format!("{}x = 1", "a.".repeat(n)),
        format!("[{}x]", "a.".repeat(n)),
    ];
    for text in texts {
        let line = match Scenario::parse(&text) {
            Ok(value) => check(&value).expect_err("nothing of a scenario"),
            Err(error) => error.to_string(),
        };
        assert_line(&line, &[]);
    }
}

#[test]
fn every_example_is_accepted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "toml"))
        .collect();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // What reads files puts the points of a distribution in the place of its name.
        let text = text.replace(
            r#"{ cdf = "web-search" }"#,
            r#"{ empirical = [["1 kB", 0.5], ["1 MB", 1.0]] }"#,
        );
        let mut value = Scenario::parse(&text).unwrap();
        read_traces(&mut value, |name| {
            std::fs::read_to_string(file.with_file_name(name)).map_err(|error| error.to_string())
        })
        .unwrap();
        assert_eq!(check(&value), Ok(()), "{}", file.display());
    }
}

#[test]
fn messages_say_what_is_needed_and_what_is_there() {
    for (key, value, said) in [
        ("/flow", json!({}), "flow: needs a list, not a table"),
        ("/name", json!(3), "name: needs a text in quotes, not 3"),
        (
            "/flow/0/count",
            json!(-3),
            "flow 1 (x), count: needs a whole number from 0 to 18446744073709551615, not -3",
        ),
        (
            "/flow/0/count",
            json!(2.5),
            "flow 1 (x), count: needs a whole number from 0 to 18446744073709551615, not 2.5",
        ),
        (
            "/seed",
            json!(1.180_591_620_717_411_3e21),
            "seed: needs a whole number from 0 to 18446744073709551615, not 1.18",
        ),
        (
            "/flow/0/reliable",
            json!("yes"),
            "flow 1 (x), reliable: needs true or false, not \"yes\"",
        ),
        (
            "/link/0/loss",
            Value::Null,
            "needs a number such as 0.02, or a text such as \"2 %\", not null",
        ),
        (
            "/link/0/loss",
            json!("2"),
            "needs a number such as 0.02, or a text such as \"2 %\", not \"2\"",
        ),
        (
            "/link/0/capacity",
            json!(1e7),
            "needs a rate as text with its unit, e.g. \"10 Mb/s\", not 10000000.0",
        ),
    ] {
        refused(&[(key, value)], &[said]);
    }
}

#[test]
fn laws_in_capitals_and_tcp_get_a_suggestion() {
    refused(&[("/flow/0/law", json!("BBR"))], &["did you mean \"bbr\"?"]);
    refused(&[("/flow/0/law", json!("Cubic"))], &["did you mean \"cubic\"?"]);
    refused(
        &[("/flow/0/law", json!("tcp"))],
        &["write \"cubic\", that of Linux, or \"newreno\""],
    );
}

#[test]
fn a_name_that_no_directory_can_bear_is_refused() {
    refused(
        &[("/name", json!("a".repeat(300)))],
        &["name: has 300 bytes; allowed: up to 230"],
    );
}

#[test]
fn shares_and_products_are_read_as_people_write_them() {
    let resolved = resolve(&[("/link/0/loss", json!("2 %")), ("/link/0/buffer", json!("2 bdp"))]);
    assert_eq!(resolved.network.links[0].wire.loss.mean(), 0.02);
    let same = resolve(&[("/link/0/loss", json!(0.02)), ("/link/0/buffer", json!("2 BDP"))]);
    assert_eq!(resolved.network.links[0].buffer, same.network.links[0].buffer);
}

#[test]
fn a_link_without_flows_takes_the_longest_round_trip_of_the_network() {
    let more =
        json!({ "from": "B", "to": "D", "capacity": "8 Mb/s", "delay": "1 s", "buffer": "1 BDP", "duplex": true });
    let resolved = resolve(&[("/link/2", more)]);
    let idle = resolved.network.links.iter().find(|link| link.name == "B->D").unwrap();
    // A round trip takes 40 ms between A and C, and 1 MB/s times that is 40 kB.
    assert_eq!(idle.buffer, Buffer::Bytes(Bytes::new(40_000)));
    refused(
        &[("/flow", json!([])), ("/link/0/buffer", json!("1 BDP"))],
        &["buffer: BDP needs flows"],
    );
}

#[test]
fn what_is_allowed_and_hardly_meant_is_warned_of() {
    let warned = |changes: &[(&str, Value)], said: &str| {
        let warnings = resolve(changes).warnings();
        assert!(warnings.len() == 1 && warnings[0].starts_with(said), "{warnings:?}");
    };
    assert_eq!(resolve(&[]).warnings(), [""; 0]);
    warned(
        &[("/flow/0/start", json!("10 s"))],
        "flow 1 (x), start: it starts after the end of the run, 10 s",
    );
    warned(
        &[("/flow/0/packet", json!("1 B"))],
        "flow 1 (x), packet: 1 B is less than the header of jetmax",
    );
    warned(
        &[("/flow/0/start", json!("10 s")), ("/flow/0/stop", json!("20 s"))],
        "flow 1 (x), start: it starts after the end of the run, 10 s",
    );
    let cubic = ("/flow/0/law", json!("cubic"));
    warned(
        &[cubic.clone(), ("/link/1/capacity", json!("1 Mb/s"))],
        "link B->C, buffer: it is unlimited, and cubic of flow x",
    );
    for (key, value) in [
        ("buffer", json!("1 BDP")),
        ("queue", json!("codel")),
        ("loss", json!(0.01)),
    ] {
        let link = format!("/link/0/{key}");
        assert_eq!(resolve(&[cubic.clone(), (link.as_str(), value)]).warnings(), [""; 0]);
    }
}

#[test]
fn names_that_differ_in_case_are_the_nearest() {
    let said = levelflow_scenario::unknown_key("a->b", &["A->B", "B->A"]);
    assert!(said.contains("did you mean \"A->B\"?"), "{said}");
}

/// Eleven mistakes, and the lines where they are: two or more in an entry, at the top, and in a table within one.
#[test]
fn all_mistakes_of_a_file_are_said_each_with_its_line() {
    let text = r#"name = "ten"
duration = "10 parsecs"
sampel = "1 s"
seed = -3

[[link]]
from = "A"
to = "B"
capacity = "10 Mb"
delay = "10 parsecs"
colour = "red"

[[link]]
from = "B"
to = "C"
delay = "1 ms"
buffer = "ten"

[[flow]]
name = "x"
law = "cubic"
from = "A"
to = "B"
start = "soon"
size = -3
ack_delay = { every = "often", hold = "never" }
"#;
    let value = Scenario::parse(text).unwrap();
    let error = Scenario::from_value(&value).unwrap_err().to_string();
    let mut lines: Vec<usize> = error
        .lines()
        .map(|one| levelflow_scenario::line(text, one).expect(one))
        .collect();
    lines.sort_unstable();
    // That capacity is missing in the second link is said at its head; there are two in line 26.
    assert_eq!(lines, [2, 3, 4, 9, 10, 11, 13, 17, 24, 25, 26, 26], "{error}");
}

/// A key that is needed, under a wrong name, is one mistake; under a name that means nothing, two.
#[test]
fn a_misspelt_key_is_not_missing_too() {
    let said = |key: &str| {
        let link = format!("[[link]]\nfrom = 'A'\nto = 'B'\n{key} = '1 Mb/s'\ndelay = '1 ms'");
        let value = Scenario::parse(&format!("name = 'n'\nduration = '1 s'\n{link}")).unwrap();
        Scenario::from_value(&value).unwrap_err().to_string().lines().count()
    };
    assert_eq!((said("capcity"), said("xyz")), (1, 2));
}

#[test]
fn what_is_wrong_of_the_run_does_not_hide_what_is_wrong_of_links() {
    let text = r#"
name = "a/b"
duration = "0 s"
link = [{ from = "A", to = "B", capacity = "1 Mb/s", delay = "1 ms", reverse = {} }]
"#;
    let scenario = Scenario::from_value(&Scenario::parse(text).unwrap()).unwrap();
    let error = scenario.resolve().unwrap_err().to_string();
    let places: Vec<_> = error.lines().map(|one| one.split([':', ' ']).next().unwrap()).collect();
    assert_eq!(places, ["name", "duration", "link"], "{error}");
}

#[test]
fn an_error_is_about_a_line_of_its_file() {
    let text = "name = \"n\"\nduration = \"1 s\"\n\n[[link]]\nfrom = \"A\"\nto = \"B\"\ncapacity = 10\n\n\
                [[flow]]\nname = \"x, y\"\n[flow.size]\npareto = { mean = \"1 B\", shape = 0.1 }\n[[flow]]\nname = \"z\"\n[study]\nseed = -1";
    for (error, line) in [
        ("link 1 (A->B), capacity: needs a rate", Some(7)),
        ("link 1 (A->B): \"capcity\" is not known here", Some(4)),
        ("link 1, delay: is missing", Some(4)),
        ("flow 1 (x, y), law: is missing", Some(9)),
        ("flow 2 (z), name: needs a name of its own", Some(14)),
        ("flow 3 (w), name: needs a name of its own", None),
        ("flow 0: none", None),
        ("duration: 0 s is out of range", Some(2)),
        ("sample: 0 s is out of range", None),
        ("study, seed: is -1", Some(16)),
        ("study: \"seed\" is not known here", Some(16)),
        ("study, scenario: is missing", Some(15)),
    ] {
        assert_eq!(levelflow_scenario::line(text, error), line, "{error}");
    }
}

#[test]
fn a_seed_matters_where_something_is_drawn() {
    let calm = [("/flow/0/law", json!("cubic")), ("/overhead", json!("0 s"))];
    assert!(!resolve(&calm).is_random());
    assert!(resolve(&calm[..1]).is_random(), "processing times of hosts");
    assert!(resolve(&[]).is_random(), "phases of routers");
    for (key, value) in [
        ("/flow/0/start", json!({ "uniform": ["0 s", "1 s"] })),
        ("/flow/0/size", json!({ "exponential": "10 packets" })),
        ("/link/0/loss", json!(0.1)),
        ("/link/0/queue", json!("red")),
        ("/flow/0/arrivals", json!({ "poisson": "1 /s" })),
    ] {
        assert!(resolve(&[&calm[..], &[(key, value)]].concat()).is_random(), "{key}");
    }
}

/// Those that ACKs clock, also where they pace while their window is small.
#[test]
fn hosts_of_laws_that_acks_clock_have_a_processing_time() {
    let overhead = |law: Value| resolve(&[("/flow/0/law", law)]).network.flows[0].overhead;
    for law in [json!("cubic"), json!("ks")] {
        assert!(overhead(law.clone()) > Duration::ZERO, "{law}");
    }
    for law in [
        json!("jetmax"),
        json!("bbr"),
        json!({ "ks": { "control": "rate" } }),
        json!({ "cubic": { "paced": true } }),
    ] {
        assert_eq!(overhead(law.clone()), Duration::ZERO, "{law}");
    }
}
