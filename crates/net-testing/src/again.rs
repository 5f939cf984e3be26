//! Replay of a log of `levelflow-net abs` with the simulator's algorithm.

use levelflow_laws::PortInfo;
use levelflow_laws::buffers::{AnyBufferAlgorithm, Load};
use levelflow_scenario::buffer_algorithm_named;
use levelflow_units::{Bytes, Duration, Rate};
use serde_json::Value;

/// Repeats all logged decisions about one queue, as docs/reference/abs.md describes. Calls `each` with each decision
/// and the limit that the algorithm requests, in packets.
pub fn again(log: &str, queue: usize, mut each: impl FnMut(&Value, u64)) {
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queue = &lines[0]["queues"][queue];
    let (name, table) = queue["buffer"].as_object().unwrap().iter().next().unwrap();
    let params = buffer_algorithm_named(name, &serde_json::from_value(table.clone()).unwrap()).unwrap();
    let capacity = Rate::new(queue["capacity"].as_f64().unwrap()).unwrap();
    let port = PortInfo { id: 1, capacity };
    let mut algorithm = AnyBufferAlgorithm::new(&params, &port);
    let its = |line: &&Value| line["qdisc"] == queue["qdisc"] && line["time"].is_f64();
    for decision in lines.iter().skip(1).filter(its) {
        let number = |name: &str| decision[name].as_u64().unwrap();
        algorithm.on_interval(&Load {
            elapsed: Duration::from_ns(number("elapsed_ns")),
            admitted: Bytes::new(number("admitted")),
            dropped: Bytes::new(number("dropped")),
            sent: Bytes::new(number("sent")),
            queue: Bytes::new(number("queue")),
            packets: number("packets") as u32,
        });
        let asked = algorithm.packets() as u64;
        each(decision, asked);
        let one = if decision["unit"] == "bytes" {
            queue["frame"].as_u64().unwrap()
        } else {
            1
        };
        if decision["set"] == false && decision["limit"] != decision["before"] {
            algorithm = AnyBufferAlgorithm::new(&params, &port);
        } else if number("limit") / one != asked {
            algorithm.on_grant(number("limit") as f64 / one as f64);
        }
    }
}
