use levelflow_results::Column;
use levelflow_scenario::{Network, Scenario};
use levelflow_sim::Sim;
use levelflow_units::Duration;
use serde_json::json;

use super::*;

/// Builds the source of a flow entry on a network. The hosts add no delay.
fn source(network: &Network<Any>, number: usize) -> Source<'_> {
    let spec = &network.flows[number];
    let route = spec.routes.first();
    Source {
        number,
        spec,
        framing: spec.framing(),
        path: IdealPath::new(&network.links, route, spec.control, true),
        hosts: RoundTrip::new(None, route.delays(&network.links)),
    }
}

/// Compares start, size and ideal completion time of each flow with the simulator's table of transfers.
#[test]
fn flows_arrive_as_in_the_simulator() {
    let raw = json!({
        "name": "n", "duration": "20 s", "seed": 7,
        "link": [{ "from": "A", "to": "B", "capacity": "100 Mb/s", "delay": "1 ms", "duplex": true }],
        "flow": [{
            "name": "mice", "law": "cubic", "from": "A", "to": "B",
            "start": "1 s", "arrivals": { "poisson": "5 /s" }, "size": { "pareto": { "mean": "9 packets", "shape": 1.5 } },
        }],
    });
    let scenario = Scenario::from_value(&raw).unwrap();
    let network = scenario.resolve().unwrap().network;
    let end = scenario.end();
    let ours = source(&network, 0).starts(network.seed, end).unwrap();
    let mut sim = Sim::new(network);
    while !sim.advance(end, 1_000_000).unwrap() {}
    sim.record_end();
    let [.., (name, table)] = sim.recorder.take();
    assert_eq!(name, "transfers");
    let column = |name: &str| match &table.columns.iter().find(|(n, _)| *n == name).unwrap().1 {
        Column::F64(values) => values.clone(),
        Column::U64(values) => values.iter().map(|&value| value as f64).collect(),
        Column::U32(values) => values.iter().map(|&value| f64::from(value)).collect(),
        Column::I32(_) => panic!("{name}"),
    };
    let [members, starts, sizes, hops, ideals] = ["member", "start_s", "bytes", "hops", "ideal_s"].map(column);
    assert!(starts.len() > 50 && starts.len() == ours.len());
    for (row, member) in members.iter().enumerate() {
        let start = &ours[*member as usize];
        let transfer = start.transfer.unwrap();
        let own = [
            transfer.start_s,
            transfer.bytes as f64,
            f64::from(transfer.hops),
            transfer.ideal_s,
        ];
        assert_eq!(own, [starts[row], sizes[row], hops[row], ideals[row]], "{member}");
    }
}

#[test]
fn flows_without_end_outlast_the_run_and_others_stop() {
    let raw = json!({
        "name": "n", "duration": "10 s",
        "link": [{ "from": "A", "to": "B", "capacity": "10 Mb/s", "delay": "1 ms", "duplex": true }],
        "flow": [
            { "name": "x", "law": "cubic", "from": "A", "to": "B", "count": 3 },
            { "name": "y", "law": "cubic", "from": "A", "to": "B", "start": "2 s", "stop": "5 s" },
            { "name": "z", "law": "cubic", "from": "A", "to": "B", "start": "12 s" },
        ],
    });
    let scenario = Scenario::from_value(&raw).unwrap();
    let network = scenario.resolve().unwrap().network;
    let all = |i: usize| source(&network, i).starts(1, scenario.end()).unwrap();
    assert_eq!(all(0).len(), 3);
    assert!(all(0).iter().all(|l| l.stop > scenario.end()));
    assert_eq!(all(1)[0].stop, Time::ZERO + Duration::from_secs(5));
    assert!(all(2).is_empty());
}
