use serde_json::{Value, json};

use crate::Scenario;

/// Returns a scenario of 100 s with the links A->B of 10 Mb/s and B->C of 40 Mb/s.
fn network(flows: Value) -> Value {
    json!({
        "name": "n", "encapsulation": "none", "duration": "100 s",
        "link": [
            { "from": "A", "to": "B", "capacity": "10 Mb/s", "delay": "1 ms", "duplex": true },
            { "from": "B", "to": "C", "capacity": "40 Mb/s", "delay": "1 ms", "duplex": true },
        ],
        "flow": flows,
    })
}

fn described(raw: &Value) -> Value {
    let scenario = Scenario::from_value(raw).unwrap();
    json!(scenario.resolve().unwrap().describe(&scenario))
}

/// Returns the load of the link with the name `link`.
fn load(raw: &Value, link: &str) -> f64 {
    let described = described(raw);
    let links = described["links"].as_array().unwrap();
    let found = links.iter().find(|one| one["name"] == link).unwrap();
    found["offered_load"].as_f64().unwrap()
}

/// Returns a flow entry from A to C with additional keys.
fn entry(law: Value, more: Value) -> Value {
    let mut flow = json!({ "name": "x", "law": law, "from": "A", "to": "C" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    network(json!([flow]))
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.max(1e-9),
        "{found} for {expected}"
    );
}

/// Compares the load of entries with closed forms, on both links of the path.
fn check(cases: &[(Value, Value, f64)]) {
    for (law, more, expected) in cases {
        let raw = entry(law.clone(), more.clone());
        let found = load(&raw, "A->B");
        assert!(
            (found - expected).abs() <= 1e-9,
            "{}: {found} for {expected}",
            raw["flow"][0]
        );
        near(load(&raw, "B->C"), expected / 4.0);
        near(load(&raw, "B->A"), 0.0);
    }
}

fn cubic() -> Value {
    json!("cubic")
}

/// Returns a law that sends at 0.4 times the capacity of the first link.
fn cbr() -> Value {
    json!({ "cbr": { "rate": "4 Mb/s" } })
}

#[test]
fn arrivals_offer_their_number_a_second_times_the_mean_size() {
    // Sizes from 50001 B to 150001 B in whole bytes.
    let uniform = json!({ "uniform": ["50 kB", "150001 B"] });
    let varying = json!({ "interval": { "uniform": ["0 s", "400 ms"] } });
    let batches = json!({ "batches": { "batch": 10, "interval": "4 s" } });
    let session = json!({ "pages": { "uniform": [4, 6] }, "objects": 4, "think": "1 s" });
    let poisson = json!({ "poisson": "5 /s" });
    check(&[
        (cubic(), json!({ "size": "100 kB", "arrivals": poisson }), 0.4),
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": { "interval": "200 ms" } }),
            0.4,
        ),
        (cubic(), json!({ "size": "100 kB", "arrivals": varying }), 0.4),
        (cubic(), json!({ "size": "100 kB", "arrivals": batches }), 0.2),
        (
            cubic(),
            json!({ "size": "25 packets", "packet": "1500 B", "arrivals": poisson }),
            0.15,
        ),
        (cubic(), json!({ "size": uniform, "arrivals": poisson }), 0.400_004),
        (cubic(), json!({ "size": "1 MB", "arrivals": { "load": 0.7 } }), 0.7),
        (cubic(), json!({ "size": "1 MB", "arrivals": { "load": "70 %" } }), 0.7),
        // One batch in 100 s.
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": { "batches": { "batch": 250, "interval": "400 s" } } }),
            0.2,
        ),
        // 5 or 6 pages.
        (
            cubic(),
            json!({ "size": "10 kB", "arrivals": poisson, "session": session }),
            5.0 * 5.5 * 4.0 * 8e-3,
        ),
    ]);
}

#[test]
fn load_is_that_of_the_time_in_which_flows_arrive_or_of_the_run_for_those_at_known_times() {
    let poisson = json!({ "poisson": "5 /s" });
    check(&[
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": poisson, "start": "90 s" }),
            0.4,
        ),
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": poisson, "stop": "10 s" }),
            0.4,
        ),
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": poisson, "limit": 10 }),
            0.4,
        ),
        (
            cubic(),
            json!({ "size": "100 kB", "arrivals": poisson, "last_arrival": "10 s" }),
            0.4,
        ),
        (
            cubic(),
            json!({ "size": "10 MB", "arrivals": { "times": ["0 s", "1 s", "99 s", "100 s"] } }),
            0.24,
        ),
        (
            cubic(),
            json!({ "arrivals": { "transfers": [["0 s", "10 MB"], ["99 s", "20 MB"], ["100 s", "5 MB"]] } }),
            0.24,
        ),
        (cubic(), json!({ "size": "10 MB", "count": 3 }), 0.24),
        (cubic(), json!({ "size": "10 MB", "count": 3, "start": "99.9 s" }), 0.24),
        (cubic(), json!({ "size": "10 MB", "count": 3, "start": "100 s" }), 0.0),
    ]);
}

#[test]
fn constant_senders_and_applications_offer_their_rate() {
    let on_off = json!({ "on_off": { "rate": "8 Mb/s", "on": { "exponential": "1 s" }, "off": "3 s" } });
    check(&[
        (cbr(), json!({}), 0.4),
        (cbr(), json!({ "count": 3 }), 1.2),
        (cbr(), json!({ "start": "50 s", "stop": "60 s" }), 0.4),
        (cbr(), json!({ "lifetime": "5 s" }), 0.4),
        (
            cbr(),
            json!({ "size": "50 kB", "arrivals": { "poisson": "5 /s" } }),
            0.2,
        ),
        // One flow arrives per second and sends for 2 s, so two flows are active. At the end of the run, the last two
        // flows stop 1 s early on average.
        (
            cbr(),
            json!({ "lifetime": "2 s", "arrivals": { "poisson": "1 /s" } }),
            0.4 * 2.0 * 0.99,
        ),
        // One unlimited flow arrives per second, so 50 flows are active on average.
        (cbr(), json!({ "arrivals": { "interval": "1 s" } }), 0.4 * 50.0),
        (cubic(), json!({ "application": { "rate": "3 Mb/s" } }), 0.3),
        (cbr(), json!({ "application": { "rate": "3 Mb/s" } }), 0.3),
        (cbr(), json!({ "application": { "rate": "30 Mb/s" } }), 0.4),
        (cubic(), json!({ "application": on_off, "count": 2 }), 0.4),
    ]);
}

#[test]
fn elastic_flows_offer_nothing() {
    let responses = json!({ "responses": { "size": "1 MB", "think": "1 s" } });
    check(&[
        (cubic(), json!({}), 0.0),
        (cubic(), json!({ "application": responses }), 0.0),
        (
            cubic(),
            json!({ "lifetime": "2 s", "arrivals": { "poisson": "1 /s" } }),
            0.0,
        ),
    ]);
}

#[test]
fn entries_add_up_and_each_link_counts_what_it_can_serve() {
    let web = |name: &str, to: &str, load: f64| json!({ "name": name, "law": "cubic", "from": "A", "to": to, "size": "1 MB", "arrivals": { "load": load } });
    let mut raw = network(json!([web("a", "B", 0.9), web("b", "C", 0.9)]));
    near(load(&raw, "A->B"), 1.8);
    near(load(&raw, "B->C"), 0.9 / 4.0);
    raw["link"][1]["queue"] = json!({ "cake": { "rate": "5 Mb/s" } });
    // Entry b has a load of 0.9 on its slowest link, which has 5 Mb/s.
    near(load(&raw, "A->B"), 0.9 + 0.45);
    near(load(&raw, "B->C"), 0.9);
    raw["link"][1]["queue"] = json!({ "policer": { "rate": "2 Mb/s" } });
    near(load(&raw, "B->C"), 0.9);
    // In the first half of the run, the policer limits the link to 2 Mb/s. In the second half, the capacity is 1 Mb/s.
    raw["flow"][1]["arrivals"] = json!({ "poisson": "0.1 /s" });
    raw["link"][1]["changes"] = json!([{ "at": "50 s", "capacity": "1 Mb/s" }]);
    near(load(&raw, "B->C"), 0.8 / 1.5);
}

#[test]
fn load_is_divided_among_paths_as_flows_are() {
    let link = |from: &str, to: &str| json!({ "from": from, "to": to, "capacity": "10 Mb/s", "delay": "1 ms", "duplex": true });
    let mut raw = json!({
        "name": "n", "encapsulation": "none", "duration": "100 s", "routing": "ecmp",
        "link": [link("A", "B"), link("B", "D"), link("A", "C"), link("C", "D"), link("D", "E")],
        "flow": [{ "name": "x", "law": "cubic", "from": "A", "to": "E", "count": 300, "size": "100 kB" }],
    });
    let [up, down, all] = ["A->B", "A->C", "D->E"].map(|name| load(&raw, name));
    near(up + down, all);
    near(all, 0.24);
    let plan = &described(&raw)["flows"][0]["plans"][0]["path_of"];
    let (plan, paths) = (plan.as_array().unwrap(), &described(&raw)["flows"][0]["paths"]);
    let upper = (0..300).filter(|n| paths[plan[n % plan.len()].as_u64().unwrap() as usize]["path"][0] == "A->B");
    near(up / all, upper.count() as f64 / 300.0);
    // After a link failure, all flows take the other path.
    raw["reroute"] = json!("0 s");
    raw["link"][0]["changes"] = json!([{ "at": "25 s", "down": true }]);
    near(load(&raw, "A->B"), up / 4.0);
    near(load(&raw, "A->C"), all - up / 4.0);
}

#[test]
fn overload_is_warned_of_at_the_busiest_link() {
    let warnings = |raw: &Value| Scenario::from_value(raw).unwrap().resolve().unwrap().warnings();
    let web = |more: f64| entry(json!("jetmax"), json!({ "size": "1 MB", "arrivals": { "load": more } }));
    assert_eq!(warnings(&web(1.0)), [""; 0]);
    let said = warnings(&web(2.4));
    assert!(
        said.len() == 1 && said[0].starts_with("flow entries offer 240 % of link A->B: "),
        "{said:?}"
    );
    let said = warnings(&web(5.0));
    assert!(
        said[0].starts_with("flow entries offer 500 % of link A->B, and more than 100 % of another: "),
        "{said:?}"
    );
    let mut outage = web(0.5);
    outage["link"][0]["changes"] = json!([{ "at": "0 s", "capacity": "0 b/s" }]);
    let said = warnings(&outage);
    assert!(
        said[0].starts_with("flow entries offer 5 Mb/s to link A->B while its capacity is zero"),
        "{said:?}"
    );
    assert_eq!(described(&outage)["links"][0]["offered_load"], Value::Null);
}

/// Verifies that the random draws of the engine and of the testbed agree with the closed form.
mod draws {
    use levelflow_units::{Bytes, Time};

    use super::*;
    use crate::{Application, Schedule};

    /// Returns the mean load of A->B over several seeds. Start and size of each flow are random draws from the
    /// distributions of the entry.
    fn drawn(raw: &Value) -> f64 {
        let network = Scenario::from_value(raw).unwrap().resolve().unwrap().network;
        let (end, spec) = (Time::ZERO + network.duration, &network.flows[0]);
        let runs = 40;
        let mut bytes = 0;
        for seed in 0..runs {
            let mut schedule = Schedule::new(spec, seed);
            while let Some(arrival) = schedule.next(spec).filter(|arrival| arrival.at < end) {
                for _ in 0..arrival.flows {
                    bytes += schedule.flow(spec, arrival.at).size.unwrap();
                }
            }
        }
        bytes as f64 * 8.0 / (f64::from(runs as u32) * network.duration.as_secs_f64() * 10e6)
    }

    #[test]
    fn arrivals_and_sizes_offer_the_stated_load() {
        let sizes = [
            json!({ "exponential": "20 kB" }),
            json!({ "pareto": { "mean": "20 kB", "shape": 2.5 } }),
            json!({ "lognormal": { "mean": "20 kB", "sigma": 1.0 } }),
            json!({ "uniform": ["1 packet", "40 packets"] }),
            json!({ "empirical": [["1 kB", 0.4], ["10 kB", 0.8], ["100 kB", 1.0]] }),
            json!({ "list": ["10 kB", "30 kB"] }),
        ];
        for size in sizes {
            for arrivals in [
                json!({ "load": 0.3 }),
                json!({ "interval": { "exponential": "20 ms" } }),
                json!({ "batches": { "batch": 5, "interval": { "uniform": ["0 s", "200 ms"] } } }),
            ] {
                let raw = entry(json!("cubic"), json!({ "size": size, "arrivals": arrivals }));
                let (found, stated) = (drawn(&raw), load(&raw, "A->B"));
                assert!(
                    (found / stated - 1.0).abs() < 0.02,
                    "{}: {found} for {stated}",
                    raw["flow"][0]
                );
            }
        }
    }

    #[test]
    fn an_application_writes_the_stated_load() {
        let application = json!({ "on_off": { "rate": "8 Mb/s", "on": { "exponential": "0.1 s" }, "off": { "uniform": ["0 s", "0.6 s"] } } });
        let raw = entry(json!("cubic"), json!({ "application": application }));
        let network = Scenario::from_value(&raw).unwrap().resolve().unwrap().network;
        let (end, spec) = (
            Time::ZERO + network.duration,
            network.flows[0].application.as_ref().unwrap(),
        );
        let bytes: u64 = (0..20)
            .map(|seed| {
                let mut application = Application::new(spec, Bytes::new(1000), Time::ZERO, seed, "x");
                let writes =
                    std::iter::from_fn(|| application.due().filter(|&at| at < end).map(|_| application.write()));
                writes.sum::<u64>()
            })
            .sum();
        let found = bytes as f64 * 8.0 / (20.0 * 100.0 * 10e6);
        let stated = load(&raw, "A->B");
        assert!((found / stated - 1.0).abs() < 0.03, "{found} for {stated}");
    }
}
