//! Runs on several threads and runs on the engine of one law. Their results are bit-identical to those of the general
//! engine on one thread.

use std::collections::BTreeMap;

use crate::common::{finish, network_of, run_on, try_start};
use crate::properties::{assert_same, network};
use levelflow_laws::Protocol;
use levelflow_laws::jetmax::JetMax;
use levelflow_scenario::law_params;
use levelflow_sim::{Sim, Threads, start};
use levelflow_units::{Duration, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns a ring of routers and hosts, with flows between hosts. Links have delays of 1 to 3 ms, and some links lose
/// packets.
fn ring(law: &Value, routers: usize, more: &Value) -> Value {
    let mut links = Vec::new();
    for i in 0..routers {
        let next = (i + 1) % routers;
        let mut link = json!({ "from": format!("r{i}"), "to": format!("r{next}"), "capacity": "20 Mb/s",
            "delay": format!("{} us", 1000 + 300 * i), "buffer": "40 packets", "duplex": true });
        for (key, value) in more["link"].as_object().into_iter().flatten() {
            link[key] = value.clone();
        }
        links.push(link);
        links.push(
            json!({ "from": format!("h{i}"), "to": format!("r{i}"), "capacity": "50 Mb/s", "delay": "20 us",
            "buffer": "100 packets", "duplex": true }),
        );
    }
    let flows = (0..routers).map(|i| {
        // Hosts of flows that start at a router may send directly into a link between two parts of the network.
        let from = if i % 2 == 0 { "h" } else { "r" };
        let mut flow = json!({ "name": format!("x{i}"), "law": law, "from": format!("{from}{i}"),
            "to": format!("h{}", (i + routers / 2) % routers), "count": 2, "start": { "uniform": ["0 s", "100 ms"] } });
        for (key, value) in more["flow"].as_object().into_iter().flatten() {
            flow[key] = value.clone();
        }
        flow
    });
    json!({ "name": "ring", "profile": "linux", "duration": "600 ms", "sample": "30 ms", "seed": 7, "link": links, "flow": flows.collect::<Vec<_>>() })
}

fn assert_same_on(threads: impl IntoIterator<Item = usize>, scenario: &Value) {
    let alone = finish(try_start(scenario).unwrap_or_else(|e| panic!("{e}\n{scenario:#}")));
    for n in threads {
        let (run, cut) = run_on(n, scenario);
        assert_eq!(cut, n > 1, "{n} parts");
        assert_same(&run, &alone);
    }
}

// **Invariant** (The engine): the engine of one law and the engine of `Any` give the same results, bit by bit. See
// `random_networks_of_one_law_are_the_same_on_its_engine`, `applications_are_the_same_on_several_threads`.
#[test]
fn every_law_runs_on_its_engine_and_any_number_of_threads() {
    for law in levelflow_laws::LAWS.iter().filter(|law| law.name != "kelly") {
        let queue = json!({ "red": { "ecn": true } });
        let marks = levelflow_laws::Any::transport(&law_params(law.name, &BTreeMap::new()).unwrap()).ecn;
        let more = if marks {
            json!({ "link": { "queue": queue } })
        } else {
            json!({})
        };
        assert_same_on([1, 3], &ring(&json!(law.name), 6, &more));
    }
}

#[test]
fn every_queue_runs_on_several_threads() {
    for queue in levelflow_laws::aqm::QUEUES {
        let more = json!({ "link": { "queue": queue.name } });
        assert_same_on([2], &ring(&json!("cubic"), 4, &more));
    }
}

#[test]
fn short_flows_losses_and_delayed_acks_are_the_same_on_several_threads() {
    let arrivals = json!({ "poisson": "40 /s" });
    let size = json!({ "pareto": { "mean": "20 packets", "shape": 1.3 } });
    for law in [
        json!("rcp"),
        json!({ "newreno": { "delayed_ack": true } }),
        json!("level"),
    ] {
        let more = json!({ "link": { "loss": 0.02 }, "flow": { "count": null, "start": null, "arrivals": arrivals, "size": size } });
        assert_same_on([2, 8], &ring(&law, 8, &more));
        let more =
            json!({ "flow": { "count": null, "start": null, "arrivals": arrivals, "size": size, "stop": "400 ms" } });
        assert_same_on([4], &ring(&law, 8, &more));
    }
}

#[test]
fn a_run_comes_to_its_limit_of_memory_on_any_engine() {
    for law in ["jetmax", "newreno"] {
        let more = json!({ "link": { "buffer": "unlimited" }, "flow": { "count": 500 } });
        let mut scenario = ring(&json!(law), 4, &more);
        scenario["memory_limit"] = json!("5 MB");
        let of_all = Sim::new(network_of(&scenario)).advance(Time::NEVER, u64::MAX);
        let own = start(network_of(&scenario), Threads::Exactly(1)).advance(Time::NEVER, u64::MAX);
        assert_eq!(own.unwrap_err(), of_all.unwrap_err());
    }
}

#[test]
fn a_network_has_only_a_law_if_all_its_flows_and_routers_do() {
    let network = |laws: [&str; 2]| {
        let mut scenario = ring(&json!(laws[0]), 3, &json!({}));
        scenario["flow"][2]["law"] = json!(laws[1]);
        network_of(&scenario)
    };
    assert!(network(["jetmax", "jetmax"]).has_only::<JetMax>());
    assert!(!network(["jetmax", "newreno"]).has_only::<JetMax>());
    assert!(!network(["newreno", "jetmax"]).has_only::<JetMax>());
    assert!(!network(["rcp", "rcp"]).has_only::<JetMax>());
}

#[test]
fn applications_are_the_same_on_several_threads() {
    let responses = json!({ "responses": { "size": "50 packets", "think": "40 ms" } });
    for (law, application) in [("jetmax", json!({ "rate": "2 Mb/s" })), ("newreno", responses)] {
        let more = json!({ "flow": { "application": application } });
        assert_same_on([1, 2], &ring(&json!(law), 4, &more));
    }
}

/// Two scenarios. The busiest second is the second of three, or the last second, at whose end a sample is taken.
#[test]
fn the_limit_on_events_applies_to_the_same_runs_on_several_threads() {
    for (duration, start) in [("2.5 s", "0 s"), ("2 s", "1 s")] {
        check_event_limit(duration, start);
    }
}

fn check_event_limit(duration: &str, start_of_flows: &str) {
    let mut scenario = ring(&json!("cubic"), 4, &json!({ "flow": { "start": start_of_flows } }));
    scenario["duration"] = json!(duration);
    scenario["sample"] = json!("100 ms");
    let mut sim = try_start(&scenario).unwrap();
    let counts = [1, 2, 3].map(|second| {
        let before = sim.events();
        sim.advance(Time::ZERO + Duration::from_secs(second), u64::MAX).unwrap();
        sim.events() - before
    });
    let most = *counts.iter().max().unwrap();
    assert_ne!(counts[0], most, "the busiest second is a later one");
    let run = |threads, limit: u64| {
        let mut limited = scenario.clone();
        limited["event_limit"] = json!(limit);
        let mut run = start(network_of(&limited), Threads::Exactly(threads));
        loop {
            match run.advance(Time::NEVER, 1000) {
                Ok(true) => return String::new(),
                Ok(false) => (),
                Err(error) => return error.to_string(),
            }
        }
    };
    for threads in [1, 2, 4] {
        assert_eq!(run(threads, most), "", "{threads} threads");
        let refused = run(threads, most - 1);
        let second = 1 + counts.iter().position(|&count| count == most).unwrap();
        assert!(
            refused.contains(&format!("the second before {second} s has more events")),
            "{threads}: {refused}"
        );
    }
}

#[test]
fn users_who_read_pages_stay_on_one_thread() {
    let session = json!({ "pages": 3, "objects": 2, "think": "10 ms" });
    let more = json!({ "flow": { "count": null, "start": null, "arrivals": { "poisson": "5 /s" }, "size": "5 packets", "session": session } });
    let scenario = ring(&json!("newreno"), 4, &more);
    let (run, cut) = run_on(2, &scenario);
    assert!(!cut);
    assert_same(&run, &finish(try_start(&scenario).unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // **Invariant** (The engine): results are bit-identical for any number of threads. See
    // `every_law_runs_on_its_engine_and_any_number_of_threads`, `every_queue_runs_on_several_threads`,
    // `short_flows_losses_and_delayed_acks_are_the_same_on_several_threads`.
    #[test]
    fn random_networks_are_the_same_on_several_threads(scenario in network(), threads in 2..=8usize) {
        let alone = finish(try_start(&scenario).unwrap());
        assert_same(&run_on(threads, &scenario).0, &alone);
    }

    #[test]
    fn random_networks_of_one_law_are_the_same_on_its_engine(
        mut scenario in network(),
        law in prop::sample::select(vec![
            json!("jetmax"), json!("emkc"), json!("rcp"), json!("newreno"), json!("cubic"),
            json!({ "newreno": { "delayed_ack": true } }), json!({ "newreno": { "sack": false } }),
            json!({ "jetmax": { "packets_per_interval": 0 } }),
        ]),
        threads in 1..=4usize,
    ) {
        for flow in scenario["flow"].as_array_mut().unwrap() {
            flow["law"] = law.clone();
        }
        let started = try_start(&scenario);
        prop_assume!(started.is_ok());
        assert_same(&run_on(threads, &scenario).0, &finish(started.unwrap()));
    }
}
