//! The simulator's sizer, told what a log of `levelflow-net abs` says.

use levelflow_protocols::PortInfo;
use levelflow_protocols::sizing::{AnySizer, Load};
use levelflow_sim::scenario::sizer_named;
use levelflow_units::{Bytes, Duration, Rate};
use serde_json::Value;

/// Makes all decisions of a log about one of its queues again, and shows each with what the sizer wants.
pub fn again(log: &str, queue: usize, mut each: impl FnMut(&Value, &mut AnySizer)) {
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let queue = &lines[0]["queues"][queue];
    let (name, table) = queue["buffer"].as_object().unwrap().iter().next().unwrap();
    let params = sizer_named(name, &serde_json::from_value(table.clone()).unwrap()).unwrap();
    let capacity = Rate::new(queue["capacity"].as_f64().unwrap()).unwrap();
    let mut sizer = AnySizer::new(&params, &PortInfo { id: 1, capacity });
    let its = |line: &&Value| line["qdisc"] == queue["qdisc"] && line["time"].is_f64();
    for decision in lines.iter().skip(1).filter(its) {
        let number = |name: &str| decision[name].as_u64().unwrap();
        sizer.on_interval(&Load {
            elapsed: Duration::from_ns(number("elapsed_ns")),
            admitted: Bytes::new(number("admitted")),
            dropped: Bytes::new(number("dropped")),
            sent: Bytes::new(number("sent")),
            queue: Bytes::new(number("queue")),
            packets: number("packets") as u32,
        });
        each(decision, &mut sizer);
    }
}
