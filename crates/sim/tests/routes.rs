//! Routing, compared with another algorithm, with expected numbers of flows, and across failures and repairs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::common::{mean, run, series, start, try_start};
use levelflow_laws::Any;
use levelflow_scenario::{FlowSpec, Resolved, Scenario};
use proptest::prelude::*;
use serde_json::{Value, json};

fn resolve(scenario: &Value) -> Result<Resolved, String> {
    let read = Scenario::from_value(scenario).and_then(|s| s.resolve());
    read.map_err(|e| e.to_string())
}

fn parsed(text: &str) -> Resolved {
    resolve(&Scenario::parse(text).unwrap()).unwrap()
}

/// Returns the path of each flow of an entry, for one routing plan.
fn paths(flow: &FlowSpec<Any>, plan: usize) -> Vec<&[u32]> {
    let path = |&path: &u32| &flow.routes.paths[path as usize].forward[..];
    flow.routes.plans[plan].1.iter().map(path).collect()
}

/// Returns the least weight between all pairs of nodes, and the least delay of the paths with this weight (Floyd and
/// Warshall).
fn distances(nodes: usize, links: &[(usize, usize, u64, u64)]) -> Vec<Vec<(u64, u64)>> {
    const FAR: (u64, u64) = (u64::MAX / 4, 0);
    let mut far = vec![vec![FAR; nodes]; nodes];
    (0..nodes).for_each(|node| far[node][node] = (0, 0));
    for &(a, b, weight, delay) in links {
        far[a][b] = far[a][b].min((weight, delay));
        far[b][a] = far[b][a].min((weight, delay));
    }
    for k in 0..nodes {
        for i in 0..nodes {
            for j in 0..nodes {
                let round = (far[i][k].0 + far[k][j].0, far[i][k].1 + far[k][j].1);
                far[i][j] = far[i][j].min(round);
            }
        }
    }
    far
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each path has the least weight. Several paths may have this weight. Then a single flow takes the path with the
    /// least delay, and many flows use all paths.
    #[test]
    fn paths_are_those_of_another_algorithm(
        drawn in prop::collection::vec((0..9usize, 0..9usize, 1..4u64, 1..5u64), 1..25),
        ends in (0..9usize, 0..9usize),
    ) {
        let drawn: Vec<_> = drawn.into_iter().filter(|(a, b, ..)| a != b).collect();
        prop_assume!(ends.0 != ends.1 && !drawn.is_empty());
        let links = drawn.iter().enumerate().map(|(i, (a, b, weight, delay))| {
            json!({ "name": format!("l{i}"), "from": format!("n{a}"), "to": format!("n{b}"), "capacity": "1 Mb/s",
                    "delay": format!("{delay} ms"), "weight": weight, "duplex": true })
        });
        let links: Value = links.collect();
        let far = distances(9, &drawn);
        let (from, to) = (format!("n{}", ends.0), format!("n{}", ends.1));
        for routing in ["shortest", "ecmp"] {
            let found = resolve(&json!({ "name": "x", "duration": "1 s", "routing": routing, "link": links,
                "flow": [{ "name": "x", "law": "cbr", "from": from, "to": to, "count": 40 }] }));
            let best = far[ends.0][ends.1];
            let Ok(found) = found else {
                let known = |n: usize| drawn.iter().any(|(a, b, ..)| *a == n || *b == n);
                prop_assert!(best.0 > 1000 || !known(ends.0) || !known(ends.1));
                continue;
            };
            for path in paths(&found.network.flows[0], 0) {
                let mut here = ends.0;
                let (mut weight, mut delay) = (0, 0);
                for &l in path {
                    let (a, b, w, d) = drawn[l as usize / 2];
                    let (a, b) = if l % 2 == 0 { (a, b) } else { (b, a) };
                    prop_assert_eq!(here, a);
                    (here, weight, delay) = (b, weight + w, delay + d);
                }
                prop_assert_eq!((here, weight), (ends.1, best.0));
                prop_assert!(routing == "ecmp" || delay == best.1);
            }
        }
    }
}

/// Returns a scenario with `spines` spines between two leaves. Flows go from one leaf to the other.
fn spines(spines: usize, count: u32, more: &str) -> String {
    let mut text = format!("name = 'spines'\nduration = '6 s'\nsample = '10 ms'\n{more}\n");
    for spine in 0..spines {
        for leaf in ["A", "B"] {
            write!(
                text,
                "[[link]]\nfrom = '{leaf}'\nto = 's{spine}'\ncapacity = '10 Mb/s'\ndelay = '1 ms'\nduplex = true\n"
            )
            .unwrap();
        }
    }
    writeln!(
        text,
        "[[flow]]\nname = 'x'\nlaw = 'jetmax'\nfrom = 'A'\nto = 'B'\ncount = {count}"
    )
    .unwrap();
    text
}

/// Each of `n` flows takes one of `m` paths at random. Pearson's statistic then has `m - 1` degrees of freedom.
#[test]
fn flows_divide_evenly_among_equal_paths() {
    let found = parsed(&spines(8, 256, "routing = 'ecmp'"));
    let mut count = BTreeMap::new();
    for path in paths(&found.network.flows[0], 0) {
        *count.entry(path.to_vec()).or_insert(0.0) += 1.0;
    }
    assert_eq!(count.len(), 8);
    let statistic: f64 = count.values().map(|n: &f64| (n - 32.0).powi(2) / 32.0).sum();
    assert!(statistic < 24.3, "{count:?}"); // exceeded with probability 1/1000
}

/// A failure moves only the flows of the failed link. The repair moves them back.
#[test]
fn a_failure_moves_only_the_flows_of_its_link() {
    let fails =
        "[[link]]\nfrom = 'A'\nto = 's0'\nchanges = [{ at = '2 s', down = true }, { at = '4 s', down = false }]";
    let text = spines(4, 200, "routing = 'ecmp'\nreroute = '100 ms'");
    let text = text.replacen("[[link]]\nfrom = 'A'\nto = 's0'", fails, 1);
    let found = parsed(&text);
    let flow = &found.network.flows[0];
    let at: Vec<_> = flow.routes.plans.iter().map(|(from, _)| from.as_secs_f64()).collect();
    assert_eq!(at, [0.0, 2.1, 4.1]);
    let [before, failed, repaired] = [0, 1, 2].map(|plan| paths(flow, plan));
    assert_eq!(before, repaired);
    for (before, failed) in before.iter().zip(failed) {
        assert_ne!(failed[0], 0);
        assert!(before[0] == 0 || *before == failed);
    }
}

/// Returns a scenario with two paths from A to B. The shorter path fails for two seconds.
fn two_ways(law: &str, more: &str) -> String {
    format!(
        r#"
        name = "two ways"
        duration = "15 s"
        sample = "10 ms"
        {more}
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "5 ms", duplex = true, buffer = "100 packets",
                   changes = [{{ at = "5 s", down = true }}, {{ at = "10 s", down = false }}] }},
                {{ from = "A", to = "C", capacity = "5 Mb/s", delay = "10 ms", duplex = true, buffer = "100 packets" }},
                {{ from = "C", to = "B", capacity = "20 Mb/s", delay = "10 ms", duplex = true, buffer = "100 packets" }}]
        [[flow]]
        name = "x"
        law = "{law}"
        from = "A"
        to = "B"
        count = 8
        "#
    )
}

/// Laws fill the second path during the failure, and the first path after its repair. Without `reroute`, no packet
/// arrives during the failure.
#[test]
fn laws_follow_their_routes() {
    for (law, target) in [
        ("jetmax", 1.0),
        ("level", 0.95),
        ("emkc", 1.0),
        ("xcp", 1.0),
        ("sperc", 1.0),
        ("cubic", 0.9),
    ] {
        let found = run(&two_ways(law, "reroute = '200 ms'"));
        let share = |link: usize, from: f64, to: f64, capacity: f64| {
            let load = series(&found.links, "link", link, "throughput_bps", from);
            mean(&load[..((to - from) * 100.0) as usize]) / (target * capacity)
        };
        for (share, when) in [
            (share(0, 3.0, 5.0, 10e6), "before"),
            (share(2, 8.0, 10.0, 5e6), "around"),
            (share(0, 13.0, 15.0, 10e6), "after"),
        ] {
            assert!((0.9..1.12).contains(&share), "{law}: {share} {when}");
        }
        let flow = &found.summary.flows[0];
        assert!(flow.lost_packets > 0, "{law}");
        assert_eq!(
            flow.sent_packets,
            flow.delivered_packets + flow.dropped_packets + flow.lost_packets + flow.in_flight,
            "{law}"
        );
    }
    let found = run(&two_ways("jetmax", ""));
    let through = series(&found.links, "link", 2, "throughput_bps", 0.0);
    assert!(through.iter().all(|&rate| rate == 0.0));
    let arrived = series(&found.flows, "flow", 0, "throughput_bps", 5.1);
    assert!(arrived[..480].iter().all(|&rate| rate == 0.0));
}

/// A path does not change if the flow names it, or if there is no other path.
#[test]
fn flows_without_another_way_wait_for_the_repair() {
    let pinned =
        two_ways("jetmax", "reroute = '200 ms'").replace("count = 8", "path = ['A', 'B']\nreverse_path = ['B', 'A']");
    assert!(parsed(&pinned).network.flows[0].routes.is_single());
    let alone = pinned
        .replace("\"C\", to = \"B\"", "\"C\", to = \"D\"")
        .replace("path = ['A', 'B']\nreverse_path = ['B', 'A']", "");
    assert!(parsed(&alone).network.flows[0].routes.is_single());
}

#[test]
fn mistakes_of_routing_get_a_line() {
    let text = two_ways("jetmax", "");
    for (from, to, words) in [
        (
            "name = \"two ways\"",
            "name = 'x'\nrouting = 'best'",
            "\"best\" is not known here (known: shortest, ecmp)",
        ),
        (
            "duplex = true, buffer",
            "duplex = true, weight = 0, buffer",
            "link 1 (A->B), weight: 0 is out of range; allowed: 1 to 16777215",
        ),
        (
            "duplex = true, buffer",
            "duplex = true, reverse = { weight = 99999999 }, buffer",
            "weight: 99999999 is out of range",
        ),
        (
            "down = true }",
            "down = true, over = '1 s' }",
            "changes 1, over: cannot go with down",
        ),
    ] {
        let scenario = Scenario::parse(&text.replacen(from, to, 1));
        let problem = scenario
            .map_err(|e| e.to_string())
            .and_then(|s| try_start(&s).map(|_| ()))
            .unwrap_err();
        assert!(problem.contains(words) && !problem.contains('\n'), "{to}: {problem}");
    }
    let never = text
        .replace("name = \"two ways\"", "name = 'x'\nreroute = '1 s'")
        .replace("down = true", "loss = 0.1");
    let problem = resolve(&Scenario::parse(&never).unwrap()).unwrap_err();
    assert!(problem.starts_with("reroute: needs a link that fails"), "{problem}");
}

/// A run gives the same results with and without interruptions.
#[test]
fn many_flows_over_many_paths_keep_their_books() {
    let text = spines(4, 60, "routing = 'ecmp'\nreroute = '50 ms'").replacen(
        "to = 's1'",
        "to = 's1'\nchanges = [{ at = '1 s', down = true }, { at = '2 s', down = false }]",
        2,
    );
    let mut sim = start(&text);
    let end = levelflow_units::Time::from_ps(u64::MAX);
    let mut used = BTreeSet::new();
    while !sim.advance(end, 10_000).unwrap() {
        let summary = sim.summary().unwrap();
        let flow = &summary.flows[0];
        let gone = flow.delivered_packets + flow.dropped_packets + flow.lost_packets;
        assert_eq!(flow.sent_packets, gone + flow.in_flight);
        used.extend(
            summary
                .links
                .iter()
                .filter(|l| l.arrived_bytes > 0)
                .map(|l| l.name.clone()),
        );
    }
    assert_eq!(used.len(), 16, "{used:?}");
}
