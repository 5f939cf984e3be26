use levelflow_laws::Any;
use serde_json::{Value, json};

use super::*;
use crate::Scenario;

fn entry(flow: Value) -> FlowSpec<Any> {
    let raw = json!({
        "name": "n", "encapsulation": "none", "duration": "10 s",
        "link": [{ "from": "A", "to": "B", "capacity": "100 Mb/s", "delay": "10 ms", "duplex": true }],
        "flow": [flow],
    });
    let network = Scenario::from_value(&raw).and_then(|s| s.resolve()).unwrap().network;
    network.flows.into_iter().next().unwrap()
}

fn flow(more: &Value) -> FlowSpec<Any> {
    let mut flow = json!({ "name": "x", "law": "cubic", "from": "A", "to": "B" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry(flow)
}

fn arrivals(spec: &FlowSpec<Any>, most: usize) -> Vec<Arrival> {
    let mut schedule = Schedule::new(spec, 7);
    std::iter::from_fn(|| schedule.next(spec)).take(most).collect()
}

fn ms(at: u64) -> Time {
    Time::ZERO + Duration::from_ms(at)
}

#[test]
fn random_starts_come_in_order_of_time() {
    let spec = flow(&json!({ "count": 50, "start": { "uniform": ["1 s", "2 s"] } }));
    let all = arrivals(&spec, 100);
    assert_eq!(all.len(), 50);
    assert!(all.is_sorted_by_key(|a| a.at) && all[0].at >= ms(1000) && all[49].at < ms(2000));
    // One draw of the stream "start" per flow.
    let mut stream = Stream::new(7, "start", "x");
    let mut drawn: Vec<Time> = (0..50).filter_map(|_| time(spec.start.sample(&mut stream))).collect();
    drawn.sort();
    assert_eq!(all.iter().map(|a| a.at).collect::<Vec<_>>(), drawn);
}

#[test]
fn batches_begin_at_the_start_and_end_with_the_limit() {
    let batches = json!({ "batches": { "batch": 3, "interval": "500 ms" } });
    let spec = flow(&json!({ "start": "1 s", "arrivals": batches, "limit": 3, "size": "9 packets" }));
    let at = |at| Arrival { at: ms(at), flows: 3 };
    assert_eq!(arrivals(&spec, 100), [at(1000), at(1500), at(2000)]);
}

#[test]
fn no_flow_arrives_once_the_entry_has_stopped() {
    let spec = flow(&json!({ "arrivals": { "interval": "1 s" }, "stop": "3 s", "size": "9 packets" }));
    assert_eq!(
        arrivals(&spec, 100).iter().map(|a| a.at).collect::<Vec<_>>(),
        [ms(0), ms(1000), ms(2000)]
    );
    let times = flow(&json!({ "arrivals": { "times": ["1 s", "4 s"] }, "stop": "3 s" }));
    assert_eq!(arrivals(&times, 100).len(), 1);
}

#[test]
fn no_flow_arrives_after_the_last_arrival_and_those_that_came_go_on() {
    for process in [
        json!({ "interval": "1 s" }),
        json!({ "times": ["0 s", "1 s", "2 s", "2001 ms", "9 s"] }),
    ] {
        let spec = flow(&json!({ "arrivals": process, "last_arrival": "2 s", "size": "9 packets" }));
        let all = arrivals(&spec, 100);
        assert_eq!(
            all.iter().map(|a| a.at).collect::<Vec<_>>(),
            [ms(0), ms(1000), ms(2000)]
        );
        assert_eq!(Schedule::new(&spec, 1).flow(&spec, ms(2000)).stop, None);
    }
}

#[test]
fn a_poisson_process_has_its_rate() {
    let spec = flow(&json!({ "arrivals": { "poisson": "1000 /s" }, "size": "9 packets" }));
    let last = arrivals(&spec, 100_000)[99_999].at.as_secs_f64();
    assert!((last - 100.0).abs() < 1.5, "100,000 arrivals take {last} s");
}

#[test]
fn sizes_are_whole_units_and_lifetimes_end_before_the_stop() {
    let sizes =
        json!({ "size": { "exponential": "3 packets" }, "lifetime": { "uniform": ["1 s", "4 s"] }, "stop": "5 s" });
    let spec = flow(&sizes);
    let mut schedule = Schedule::new(&spec, 7);
    for _ in 0..1000 {
        let drawn = schedule.flow(&spec, ms(2000));
        assert!(drawn.size.is_some_and(|size| size > 0 && size % 1000 == 0));
        assert!(drawn.stop.is_some_and(|stop| stop >= ms(3000) && stop <= ms(5000)));
    }
    let endless = flow(&json!({}));
    let drawn = Schedule::new(&endless, 7).flow(&endless, ms(2000));
    assert_eq!((drawn.size, drawn.stop, drawn.rtt), (None, None, None));
}

#[test]
fn a_round_trip_is_divided_in_halves_where_the_links_leave_room() {
    let ms = Duration::from_ms;
    let divided = |rtt, there, back| {
        let rtt = RoundTrip::new(Some(ms(rtt)), [ms(there), ms(back)]);
        assert_eq!(rtt.forward + rtt.reverse + ms(there + back), rtt.total);
        (rtt.forward, rtt.reverse)
    };
    assert_eq!(divided(100, 10, 10), (ms(40), ms(40)));
    assert_eq!(divided(100, 70, 10), (ms(0), ms(20)));
    assert_eq!(divided(100, 10, 80), (ms(10), ms(0)));
    let shorter = RoundTrip::new(Some(ms(5)), [ms(10), ms(10)]);
    assert_eq!((shorter.total, shorter.at_hosts()), (ms(20), Duration::ZERO));
    assert_eq!(RoundTrip::new(None, [ms(10), ms(20)]).total, ms(30));
}

#[test]
fn listed_transfers_come_in_order_of_time_with_their_sizes() {
    let listed = json!({ "transfers": [["2 ms", "5 kB"], ["0 s", "7 B"], ["2 ms", "1 MB"], ["1 ms", "3 packets"]] });
    let spec = flow(&json!({ "arrivals": listed, "packet": "1500 B" }));
    let mut schedule = Schedule::new(&spec, 7);
    let mut found = Vec::new();
    while let Some(arrival) = schedule.next(&spec) {
        assert_eq!(arrival.flows, 1);
        found.push((arrival.at, schedule.flow(&spec, arrival.at).size.unwrap()));
    }
    // Transfers with equal times keep the order of the list.
    assert_eq!(found, [(ms(0), 7), (ms(1), 4500), (ms(2), 5000), (ms(2), 1_000_000)]);
}
