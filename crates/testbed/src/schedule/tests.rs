use levelflow_scenario::Scenario;
use levelflow_sim::Sim;
use levelflow_units::Duration;
use serde_json::json;

use super::*;

/// The simulator's completions tell when its flows started and what they carried.
#[test]
fn flows_come_as_in_the_simulator() {
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
    let ours = starts(&network.flows[0], network.seed, end).unwrap();
    let mut sim = Sim::new(network);
    while !sim.advance(end, 1_000_000).unwrap() {}
    let [.., (name, table)] = sim.recorder.take();
    assert_eq!(name, "completions");
    let column = |name: &str| table.columns.iter().find(|(n, _)| *n == name).map(|(_, c)| c.clone());
    let (Some(levelflow_results::Column::F64(starts)), Some(levelflow_results::Column::U64(sizes))) =
        (column("start_s"), column("bytes"))
    else {
        panic!("columns are missing");
    };
    assert!(starts.len() > 50);
    for (start, size) in starts.iter().zip(&sizes) {
        let found = ours.iter().find(|l| (l.at.as_secs_f64() - start).abs() < 1e-9);
        assert_eq!(found.and_then(|l| l.size), Some(*size), "at {start} s");
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
    let all = |i: usize| starts(&network.flows[i], 1, scenario.end()).unwrap();
    assert_eq!(all(0).len(), 3);
    assert!(all(0).iter().all(|l| l.stop > scenario.end()));
    assert_eq!(all(1)[0].stop, Time::ZERO + Duration::from_secs(5));
    assert!(all(2).is_empty());
}
