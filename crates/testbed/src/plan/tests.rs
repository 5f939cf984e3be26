use std::collections::HashSet;

use levelflow_laws::explicit_laws;
use levelflow_scenario::Scenario;
use serde_json::{Value, json};

use super::*;

fn user() -> Setup {
    setup(Form::User)
}

fn setup(form: Form) -> Setup {
    Setup { form, ipv6: false }
}

fn plan(resolved: &Resolved) -> Result<Plan, Error> {
    super::plan(resolved, user())
}

fn network(links: &Value, flows: &Value) -> Resolved {
    let raw = json!({ "name": "n", "duration": "10 s", "link": links, "flow": flows });
    Scenario::from_value(&raw).unwrap().resolve().unwrap()
}

fn duplex(from: &str, to: &str) -> Value {
    json!({ "from": from, "to": to, "capacity": "20 Mb/s", "delay": "10 ms", "buffer": "50 packets", "duplex": true })
}

fn flow(name: &str, law: &str, from: &str, to: &str) -> Value {
    json!({ "name": name, "law": law, "from": from, "to": to })
}

/// Follows the routes to an address from a namespace. Returns the last namespace, the veth pairs and the total delay.
fn walk(plan: &Plan, from: usize, to: IpAddr) -> (usize, Vec<usize>, Duration) {
    let (mut at, mut pairs, mut delay) = (from, Vec::new(), Duration::ZERO);
    while !plan.namespaces[at].addresses.contains(&to) {
        let hop = plan.namespaces[at]
            .routes
            .iter()
            .find(|h| h.to.is_none_or(|a| a == to))
            .unwrap();
        let pair = &plan.pairs[hop.pair];
        let end = pair.ends.iter().position(|&p| p == at).unwrap();
        delay = delay + pair.directions[end].wire.delay;
        pairs.push(hop.pair);
        assert!(pairs.len() < 20, "a loop");
        at = pair.ends[1 - end];
    }
    (at, pairs, delay)
}

#[test]
fn packets_and_acks_take_the_paths_of_the_scenario_in_its_time() {
    let links = json!([duplex("A", "B"), duplex("B", "C"), duplex("A", "C")]);
    let mut around = json!({ "name": "around", "law": "rcp", "path": ["A", "B", "C"], "rtt": "100 ms" });
    around["reverse_path"] = json!(["C", "A"]);
    let resolved = network(&links, &json!([flow("straight", "jetmax", "A", "C"), around]));
    // A link cannot have routers of two signallings, so each flow is planned separately.
    for keep in 0..2 {
        let mut one = resolved.clone();
        for link in &mut one.network.links {
            link.routers.clear();
        }
        one.network.flows = vec![resolved.network.flows[keep].clone()];
        let plan = plan(&one).unwrap();
        let FlowPlan {
            ends,
            addresses,
            forward,
            rtt,
        } = plan.flows[0].clone();
        let (to, there, delay_there) = walk(&plan, ends[0], addresses[1]);
        let (from, back, delay_back) = walk(&plan, ends[1], addresses[0]);
        assert_eq!([from, to], ends);
        // The path also crosses the veth pairs of the two hosts.
        assert_eq!((there.len(), back.len()), if keep == 0 { (3, 3) } else { (4, 3) });
        assert_eq!(delay_there, forward);
        assert_eq!(delay_there + delay_back, rtt);
        assert_eq!(
            rtt,
            if keep == 0 {
                Duration::from_ms(20)
            } else {
                Duration::from_ms(100)
            }
        );
    }
}

#[test]
fn two_directions_share_a_veth_pair_and_keep_their_values() {
    let mut link = duplex("A", "B");
    link["reverse"] = json!({ "capacity": "1 Mb/s", "delay": "5 ms", "buffer": "20 kB" });
    let plan = plan(&network(&json!([link]), &json!([flow("x", "jetmax", "A", "B")]))).unwrap();
    let pairs: Vec<_> = plan.pairs.iter().filter(|c| c.directions[0].link.is_some()).collect();
    assert_eq!(pairs.len(), 1);
    let [there, back] = &pairs[0].directions;
    assert_eq!((there.link, back.link), (Some(0), Some(1)));
    assert_eq!(
        there.queue.map(|(rate, room)| (rate.bps(), room)),
        Some((20e6, Buffer::Packets(50)))
    );
    assert_eq!(
        back.queue.map(|(rate, room)| (rate.bps(), room)),
        Some((1e6, Buffer::Bytes(Bytes::new(20_000))))
    );
    assert_eq!(back.wire.delay, Duration::from_ms(5));
}

#[test]
fn flows_with_one_round_trip_share_hosts_and_have_addresses_of_their_own() {
    let flows = json!([flow("x", "jetmax", "A", "B"), flow("y", "jetmax", "A", "B")]);
    let plan = plan(&network(&json!([duplex("A", "B")]), &flows)).unwrap();
    assert_eq!(plan.namespaces.iter().filter(|p| !p.forwards).count(), 2);
    let addresses: Vec<_> = plan.flows.iter().flat_map(|f| f.addresses).collect();
    assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), 4);
}

#[test]
fn commands_name_devices_and_neighbours_that_are_there() {
    let plan = plan(&network(
        &json!([duplex("A", "B")]),
        &json!([flow("x", "jetmax", "A", "B")]),
    ))
    .unwrap();
    for (i, place) in plan.namespaces.iter().enumerate() {
        let lines = place.commands(i, &plan.pairs, false);
        for hop in lines.iter().filter(|l| l.starts_with("route")) {
            let words: Vec<&str> = hop.split(' ').collect();
            assert!(lines.contains(&format!("link set {} up", words[6])), "{hop}");
            let known = |l: &String| l.starts_with(&format!("neighbour replace {} ", words[4]));
            assert!(lines.iter().any(known), "{hop}");
        }
    }
}

#[test]
fn laws_of_hosts_need_no_routers() {
    for law in ["aimd", "cbr", "reno", "cubic", "bbr"] {
        let flows = json!([flow("x", law, "A", "B")]);
        let plan = plan(&network(&json!([duplex("A", "B")]), &flows));
        assert!(plan.is_ok(), "{law}: {plan:?}");
    }
}

#[test]
fn laws_that_the_kernel_does_not_know_are_refused_there() {
    for law in explicit_laws() {
        let name = law.name;
        let network = network(&json!([duplex("A", "B")]), &json!([flow("x", name, "A", "B")]));
        assert!(super::plan(&network, user()).is_ok(), "{name}");
        match (
            super::plan(&network, setup(Form::Kernel)),
            law.signalling.routers.kernel,
        ) {
            (Ok(_), Some(_)) => {}
            (Err(error), None) => {
                let text = error.to_string();
                let says = format!("{name} has no kernel form");
                assert!(text.contains(&says) && text.lines().count() == 1, "{text}");
            }
            (plan, _) => panic!("{name}: {plan:?}"),
        }
    }
}

#[test]
fn only_delays_and_losses_need_a_worker_where_queues_are_the_kernels() {
    let plain = json!({ "from": "B", "to": "C", "capacity": "20 Mb/s", "delay": "0 s", "duplex": true });
    let resolved = network(
        &json!([duplex("A", "B"), plain]),
        &json!([flow("x", "jetmax", "A", "C")]),
    );
    let worked = |form| {
        let plan = super::plan(&resolved, setup(form)).unwrap();
        assert_eq!(plan.queues().count(), 4);
        let links = plan.pairs.iter().filter(|c| c.directions[0].link.is_some());
        links.map(|c| c.directions[0].needs_worker(form)).collect::<Vec<_>>()
    };
    assert_eq!(worked(Form::User), [true, true]);
    assert_eq!(worked(Form::Kernel), [true, false]);
}

#[test]
fn impossible_networks_are_rejected_in_one_line() {
    let with = |key: &str, value: Value| {
        let mut x = flow("x", "jetmax", "A", "B");
        x[key] = value;
        json!([x])
    };
    let link = json!([duplex("A", "B")]);
    for (flows, part) in [
        (
            json!([flow("x", "jetmax", "A", "B"), flow("y", "rcp", "A", "B")]),
            "one router at a link",
        ),
        (with("packet", json!("9000 B")), "packets of 9 kB"),
        (with("rtt", json!({ "uniform": ["30 ms", "40 ms"] })), "rtt differs"),
    ] {
        let text = plan(&network(&link, &flows)).unwrap_err().to_string();
        assert!(text.contains(part) && text.lines().count() == 1, "{text}");
    }
    let mut changing = duplex("A", "B");
    changing["changes"] = json!([{ "at": "1 s", "capacity": "5 Mb/s" }]);
    let planned = |link: &Value, form| {
        let resolved = network(&json!([link]), &json!([flow("x", "jetmax", "A", "B")]));
        super::plan(&resolved, setup(form)).map_err(|e| e.to_string())
    };
    let changes = planned(&changing, Form::User).unwrap().pairs[0].directions[0]
        .changes
        .len();
    assert_eq!(changes, 1);
    assert!(planned(&changing, Form::Kernel).unwrap_err().contains("--form user"));
    changing["measured"] = json!(true);
    assert!(
        planned(&changing, Form::User)
            .unwrap_err()
            .contains("measured needs the simulator")
    );
    let mut red = duplex("A", "B");
    red["queue"] = json!("red");
    assert_eq!(
        planned(&red, Form::User).map(|plan| plan.pairs.len()),
        planned(&duplex("A", "B"), Form::User).map(|plan| plan.pairs.len())
    );
    let text = planned(&red, Form::Kernel).unwrap_err();
    assert!(text.contains("drop-tail") && text.contains("--form user"), "{text}");
    let marks = json!([flow("x", "cubic", "A", "B")].map(|mut flow| {
        flow["law"] = json!({ "cubic": { "ecn": true } });
        flow
    }));
    let text = plan(&network(&json!([red]), &marks)).unwrap_err().to_string();
    assert!(text.contains("marks"), "{text}");
}
