//! Scenario files with damaged text or damaged structure.

use levelflow_scenario::Arrivals;
use levelflow_scenario::Scenario;
use levelflow_sim::Sim;
use levelflow_units::{Duration, Time};
use serde_json::{Map, Value};

use crate::bytes::Choices;

const FILES: [&str; 3] = [
    include_str!("../../scenarios/two-flows.toml"),
    include_str!("../../scenarios/parking-lot.toml"),
    include_str!("../../scenarios/rcp-poisson.toml"),
];

const WORDS: &[&str] = &[
    "\"",
    "'''",
    "[",
    "]",
    "[[flow]]",
    "[[link]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\n",
    "\0",
    "#",
    "\u{2028}",
    "\"1 s\"",
    "nan",
    "-1",
    "1e400",
    "99999999999999999999",
    "true",
    "1979-05-27",
    "name = ",
    "law.jetmax.tau = 0.5\n",
    "duplex = true\n",
];

/// Keys of a table with possible values. Each value is TOML text.
type Table = &'static [(&'static str, &'static [&'static str])];

/// Keys at the top level.
const RUN: Table = &[
    ("name", &["'x'", "'a b'", "\"a\\nb\"", "''"]),
    ("duration", &["'1 s'", "'1 ps'", "'2400 h'", "'2401 h'", "'213 days'"]),
    ("sample", &["'1 s'", "'1 ps'", "'2400 h'"]),
    ("event_limit", &["0", "1", "-1", "'1 s'"]),
    ("seed", &["0", "18446744073709551615", "-1"]),
    (
        "law",
        &[
            "{ rcp = { alpha = 0 } }",
            "{ jetmax = { tau = 1.99, packets_per_interval = 1000000 } }",
            "{ emkc = { beta = 5 } }",
        ],
    ),
    ("route", &["[{ at = 'C1', to = 'C4', via = 'C2' }]"]),
    ("oops", &["1"]),
];

/// Keys of a link.
const LINK: Table = &[
    ("name", &["'x'", "'a b'", "\"a\\nb\"", "''"]),
    ("from", &["'R1'", "'C1'", "'C3'"]),
    ("to", &["'R2'", "'C2'", "'C4'"]),
    (
        "capacity",
        &[
            "'1 b/s'",
            "'1 kb/s'",
            "'0.3 Mb/s'",
            "'1000 Tb/s'",
            "'1e18 b/s'",
            "'-1 Mb/s'",
        ],
    ),
    ("delay", &["'0 s'", "'1 ps'", "'10 ms'", "'24 h'"]),
    (
        "buffer",
        &[
            "'1 B'",
            "'1500 B'",
            "'1 packet'",
            "'0.001 BDP'",
            "'1e300 BDP'",
            "'unlimited'",
            "'18446744073709551615 packets'",
        ],
    ),
    ("loss", &["0", "0.5", "0.99999", "1", "nan", "5e-324"]),
    ("duplex", &["true", "false"]),
    (
        "reverse",
        &["{ loss = 0.9, delay = '24 h', capacity = '1 b/s' }", "{ law = 'none' }"],
    ),
    (
        "law",
        &[
            "'none'",
            "{ rcp = { rtt = 'max', initial_rtt = '1 us' } }",
            "{ jetmax = { interval = '1 us' } }",
            "{ jetmax = { tua = 1 } }",
        ],
    ),
    ("oops", &["1"]),
];

/// Keys of a flow.
const FLOW: Table = &[
    ("name", &["'x'", "'a b'", "\"a\\nb\"", "''"]),
    (
        "law",
        &[
            "'jetmax'",
            "'emkc'",
            "'rcp'",
            "'none'",
            "{ rcp = { rtt = 'max', initial_rtt = '1 us' } }",
            "{ jetmax = { initial_rate = '1e18 b/s', min_rate = '1e18 b/s' } }",
            "{ emkc = { initial_rate = '1 Tb/s' } }",
            "'kelly'",
            "'cubic'",
            "{ cbr = { rate = '1 Tb/s' } }",
            "{ jetmax = { interval = '1 us' } }",
            "{ jetmax = { tua = 1 } }",
        ],
    ),
    ("from", &["'R1'", "'C1'", "'C3'"]),
    ("to", &["'R2'", "'C2'", "'C4'"]),
    ("path", &["['C1', 'C2', 'C3']", "['R1', 'R2']", "[]"]),
    ("reverse_path", &["['C4', 'C3', 'C2', 'C1']", "['R2', 'R1']"]),
    (
        "rtt",
        &[
            "'0 s'",
            "'1 s'",
            "'2400 h'",
            "{ uniform = ['1 s', '2400 h'] }",
            "{ pareto = { mean = '2400 h', shape = 1.0001 } }",
        ],
    ),
    (
        "start",
        &[
            "'0 s'",
            "'2400 h'",
            "{ exponential = '10 h' }",
            "{ list = ['0 s', '0 s', '1 s'] }",
        ],
    ),
    ("stop", &["'1 ps'", "'1 s'", "'2400 h'"]),
    (
        "lifetime",
        &["'0 s'", "'1 us'", "{ lognormal = { mean = '1 s', sigma = 100 } }"],
    ),
    (
        "size",
        &[
            "'1 B'",
            "'1 packet'",
            "'18446744073709551615 B'",
            "'18446744073709551615 packets'",
            "{ exponential = '1 B' }",
            "{ pareto = { mean = '25 packets', shape = 1.0001 } }",
            "{ uniform = ['0 B', '0 B'] }",
        ],
    ),
    ("reliable", &["true", "false"]),
    ("count", &["1", "100", "0", "4294967296"]),
    (
        "arrivals",
        &[
            "{ poisson = '1e9 /s' }",
            "{ interval = '1 ps' }",
            "{ interval = { uniform = ['0 s', '1 ps'] } }",
            "{ batches = { batch = 3, interval = '1 us' } }",
            "{ times = ['0 s', '0 s', '2400 h'] }",
            "{ times = [] }",
        ],
    ),
    ("limit", &["1", "0", "18446744073709551615"]),
    ("packet", &["'1 B'", "'40 B'", "'65535 B'"]),
    ("ack", &["'1 B'", "'65535 B'"]),
    (
        "ack_delay",
        &[
            "{ every = 0, hold = '2400 h', spacing = '2400 h' }",
            "{ every = 2, hold = '1 ms' }",
        ],
    ),
    ("oops", &["1"]),
];

/// Values that are valid for few keys.
const ODD: &[&str] = &[
    "''",
    "-1",
    "1e300",
    "[]",
    "{}",
    "true",
    "['1 s', '2 s']",
    "1979-05-27",
    "{ uniform = [] }",
];

/// Makes a damaged scenario file. Some of its text is removed, overwritten or inserted.
#[must_use]
pub fn damaged_text(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(bytes);
    let mut text = choices.of(&FILES).as_bytes().to_vec();
    while choices.are_left() {
        let at = choices.below(text.len() + 1);
        let to = (at + choices.below(20)).min(text.len());
        match choices.below(4) {
            0 => drop(text.drain(at..to)),
            1 => text.truncate(at.max(1)),
            2 => drop(text.splice(at..at, choices.of(WORDS).bytes())),
            _ => drop(text.splice(at..to, [choices.below(256) as u8])),
        }
    }
    text
}

/// Makes a scenario in which values are changed, added or removed.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "the base scenario is a constant")]
pub fn damaged_structure(bytes: &[u8]) -> Value {
    let mut choices = Choices::new(bytes);
    let mut scenario = Scenario::parse(choices.of::<&str>(&FILES)).expect("the examples are valid");
    while choices.are_left() {
        let (place, keys) = match choices.below(8) {
            0 => (String::new(), RUN),
            1..=3 => (format!("/link/{}", choices.below(3)), LINK),
            _ => (format!("/flow/{}", choices.below(3)), FLOW),
        };
        if let Some(Value::Object(table)) = scenario.pointer_mut(&place) {
            damage(table, keys, &mut choices);
        }
    }
    scenario
}

/// Changes, adds or removes one value of a table.
fn damage(table: &mut Map<String, Value>, keys: Table, choices: &mut Choices<'_>) {
    let (key, values) = choices.of(keys);
    match choices.below(16) {
        15 => drop(table.remove(*key)),
        14 => drop(table.insert((*key).to_owned(), value(choices.of::<&str>(ODD)))),
        _ => drop(table.insert((*key).to_owned(), value(choices.of::<&str>(values)))),
    }
}

fn value(text: &str) -> Value {
    let mut table = Scenario::parse(&format!("x = {text}")).expect("the values above are valid");
    table["x"].take()
}

/// Parses scenario text. Either the text is rejected with one line per mistake, or it is simulated for a thousand
/// events.
///
/// # Panics
/// When the property above is violated.
pub fn text(bytes: &[u8]) {
    match Scenario::parse(&String::from_utf8_lossy(bytes)) {
        Ok(value) => structure(&value),
        Err(error) => assert_line_per_mistake(&error.to_string()),
    }
}

/// Limit on the events per simulated second. About one in `LONG_RUNS` scenarios is simulated for `LONG_RUN`.
const EVENT_LIMIT: u64 = 20_000;
const LONG_RUN: Duration = Duration::from_secs(2);
const LONG_RUNS: usize = 64;
/// Largest number of events of a long run. Each of three seconds has up to the limit, plus the events between checks.
const MAX_EVENTS: u64 = 3 * (EVENT_LIMIT + 256);

/// Checks a scenario. Either the scenario is rejected with one line per mistake, or it is described and simulated for a
/// thousand events. Packets must be conserved. Some scenarios are simulated for `LONG_RUN`.
///
/// # Panics
/// When the property above is violated.
pub fn structure(value: &Value) {
    let resolved = Scenario::from_value(value).and_then(|scenario| Ok((scenario.resolve()?, scenario)));
    let (resolved, scenario) = match resolved {
        Ok(both) => both,
        Err(error) => return assert_line_per_mistake(&error.to_string()),
    };
    assert!(serde_json::to_value(resolved.describe(&scenario)).is_ok());
    let many = |arrivals: &Arrivals| match arrivals {
        Arrivals::Once { count } => *count > 1000,
        Arrivals::Process { batch, .. } => *batch > 1000,
        Arrivals::Times(_) | Arrivals::Transfers(_) => false,
    };
    if resolved.network.flows.iter().any(|flow| many(&flow.arrivals)) {
        return;
    }
    let end = Time::ZERO + Duration::MAX;
    let mut network = resolved.network;
    let is_long = value.to_string().len().is_multiple_of(LONG_RUNS);
    network.event_limit = Some(network.event_limit.map_or(EVENT_LIMIT, |limit| limit.min(EVENT_LIMIT)));
    let mut sim = Sim::new(network);
    for budget in [1, 10, 989] {
        if sim.advance(end, budget).is_err() {
            return;
        }
        sim.summary().expect("packets are conserved");
    }
    if is_long {
        let _ = sim.advance(Time::ZERO + LONG_RUN, u64::MAX);
        assert!(sim.events() <= MAX_EVENTS, "{} events", sim.events());
        sim.summary().expect("packets are conserved");
    }
}

fn assert_line_per_mistake(message: &str) {
    let is_line = |line: &str| !line.is_empty() && !line.contains('\r');
    assert!(message.split('\n').all(is_line), "{message:?}");
}
