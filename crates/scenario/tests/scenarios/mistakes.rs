//! Mistakes in values, names and topologies.

use levelflow_scenario::{Place, Problem, Scenario};
use serde_json::{Value, json};

use crate::{assert_line, changed, check, refused};

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
    // 42 B of Ethernet, IPv4 and UDP, 24 B of shim, 28 B of JetMax, and one byte of payload.
    refused(
        &[
            ("/encapsulation", json!("ethernet+ipv4+udp")),
            ("/flow/0/packet", json!("94 B")),
        ],
        &["flow 1 (x), packet", "95 B to 65535 B"],
    );
    refused(
        &[("/encapsulation", json!("ethernet+ipv5+udp"))],
        &[
            "encapsulation",
            "did you mean \"ethernet+ipv4+udp\"?",
            "none",
            "ipv6",
            "quic",
        ],
    );
    refused(
        &[("/flow/0/packet", json!("65536 B"))],
        &["flow 1 (x), packet", "95 B to 65535 B"],
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
    refused(&[("/route", circle)], &["flow 1 (x)", "\"A\" to \"C\"", "routing loop"]);
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
    let transfers = |listed| ("/flow/0/arrivals", json!({ "transfers": listed }));
    refused(&[transfers(json!([]))], &["flow 1 (x), arrivals", "must not be empty"]);
    refused(
        &[transfers(json!([["1 s", "0 B"]]))],
        &["flow 1 (x), arrivals", "size must be above 0"],
    );
    refused(
        &[transfers(json!([["1 s", "2 MB"]])), ("/flow/0/size", json!("2 MB"))],
        &["flow 1 (x), size", "cannot go with arrivals"],
    );
    refused(
        &[("/flow/0/transfers", json!({ "hpcc": "flow.txt" }))],
        &["flow 1 (x), transfers", "files are not read here"],
    );
    refused(
        &[("/flow/0/law", json!({ "jetmax": {}, "rcp": {} }))],
        &["flow 1 (x), law", "exactly one"],
    );
}

#[test]
fn arrivals_must_make_sense() {
    let poisson = || ("/flow/0/arrivals", json!({ "poisson": "3 /s" }));
    let last = |at| ("/flow/0/last_arrival", json!(at));
    refused(&[last("3 s")], &["flow 1 (x), last_arrival", "needs arrivals"]);
    refused(
        &[
            poisson(),
            last("1 s"),
            ("/flow/0/start", json!("2 s")),
            ("/flow/0/size", json!("1 MB")),
        ],
        &["flow 1 (x), last_arrival", "after start"],
    );
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

#[test]
fn messages_name_the_needed_and_the_given_type() {
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
fn names_that_differ_in_case_are_the_nearest() {
    let said = Problem::unknown("", "a->b", &["A->B", "B->A"]).to_string();
    assert!(said.contains("did you mean \"A->B\"?"), "{said}");
}

#[test]
fn unused_parameters_are_rejected() {
    refused(
        &[("/link/1/law", json!({ "jetmax": { "tau": 0.5 } }))],
        &["link 2 (B->C), law, jetmax", "\"tau\" is not known here", "gamma"],
    );
    refused(
        &[("/link/1/law", json!({ "rcp_weighted": { "weight": 2 } }))],
        &["link 2 (B->C), law", "the routers of rcp_weighted are those of rcp"],
    );
    refused(
        &[("/link/1/law", json!({ "cubic": {} }))],
        &["link 2 (B->C), law", "routers take no part in cubic", "jetmax"],
    );
    refused(
        &[("/flow/0/law", json!({ "jetmax": { "gamma": 0.9 } }))],
        &["flow 1 (x), law, jetmax", "\"gamma\" is not known here", "tau"],
    );
}

#[test]
fn a_mistake_has_a_place_and_a_class() {
    let (link, flow) = (Place::from("link 1 (A->B)"), Place::from("flow 1 (x)"));
    let range = |value: &str, allowed: &str| Problem::Range {
        value: value.into(),
        allowed: allowed.into(),
    };
    let rates = "1 b/s to 1000 Tb/s";
    for (pointer, value, place, problem) in [
        (
            "/link/0/capacity",
            json!("0.5 b/s"),
            link.key("capacity"),
            range("0.5 b/s", rates),
        ),
        (
            "/link/0/delay",
            json!("25 h"),
            link.key("delay"),
            range("25 h", "0 s to 24 h"),
        ),
        (
            "/flow/0/application",
            json!({ "rate": "0.5 b/s" }),
            flow.key("application"),
            range("0.5 b/s", rates),
        ),
        (
            "/flow/0/to",
            json!("D"),
            flow.clone(),
            Problem::unknown("the node", "D", &["A", "B", "C"]),
        ),
        (
            "/flow/0/to",
            json!(null),
            flow.key("to"),
            Problem::Missing("is missing; write from and to, or a path".into()),
        ),
        (
            "/link",
            json!([]),
            Place::from("link"),
            Problem::Missing("at least one [[link]] is needed".into()),
        ),
        (
            "/seed",
            json!("x"),
            Place::from("seed"),
            Problem::Type {
                needed: format!("a whole number from 0 to {}", u64::MAX),
                found: "\"x\"".into(),
            },
        ),
    ] {
        let resolved = Scenario::from_value(&changed(&[(pointer, value)])).and_then(|s| s.resolve());
        let mistakes = resolved.unwrap_err().mistakes().to_vec();
        let found: Vec<_> = mistakes.into_iter().map(|one| (one.place, one.problem)).collect();
        assert_eq!(found, [(place, problem)], "{pointer}");
    }
}
