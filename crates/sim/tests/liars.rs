//! Hosts that lie: false headers, withheld ACKs and hidden marks.

use serde_json::{Value, json};

use crate::common::{Run, mean, run_on, series, try_start};
use crate::properties::assert_same;

/// Builds a scenario of four flows over a bottleneck of 10 Mb/s. The last flow has `lie` and more keys.
pub fn four(law: &Value, more: &Value) -> Value {
    let mut flows: Vec<Value> = (0..4)
        .map(
            |i| json!({"name": format!("x{i}"), "law": law, "from": "A", "to": "C", "start": format!("{} ms", 10 * i)}),
        )
        .collect();
    for (key, value) in more.as_object().unwrap() {
        flows[3][key] = value.clone();
    }
    json!({
        "name": "four", "duration": "10 s", "flow": flows,
        "link": [
            {"from": "A", "to": "B", "capacity": "40 Mb/s", "delay": "2 ms", "buffer": "1 BDP", "duplex": true, "law": "none"},
            {"from": "B", "to": "C", "capacity": "10 Mb/s", "delay": "8 ms", "buffer": "1 BDP", "duplex": true},
        ],
    })
}

fn goodput(run: &Run, flow: usize) -> f64 {
    mean(&series(&run.flows, "flow", flow, "goodput_bps", 5.0))
}

/// A factor of 1 changes no header. The engine with liars then gives the results of the honest engines.
#[test]
fn a_lie_that_changes_nothing_has_no_effect() {
    for (law, field) in [
        ("jetmax", "gap"),
        ("level", "proposal"),
        ("rcp", "rtt"),
        ("emkc", "usr"),
        ("sperc", "elsewhere"),
    ] {
        let honest = four(&json!(law), &json!({}));
        let lying = four(
            &json!(law),
            &json!({"lie": {"sender": {field: "* 1"}, "receiver": {field: "* 1"}, "withheld": 0}}),
        );
        for threads in [1, 2] {
            let (honest, _) = run_on(threads, &honest);
            assert_same(&run_on(threads, &lying).0, &honest);
        }
    }
}

/// A receiver of RCP that multiplies the rate by 10 takes capacity from the other three flows.
#[test]
fn a_lying_receiver_takes_what_others_lose() {
    let lie = json!({"lie": {"receiver": {"rate": "* 10"}}});
    let (run, _) = run_on(1, &four(&json!("rcp"), &lie));
    let honest = goodput(&run, 0);
    assert!(goodput(&run, 3) > 2.0 * honest, "{} and {honest}", goodput(&run, 3));
    let (base, _) = run_on(1, &four(&json!("rcp"), &json!({})));
    assert!(honest < 0.9 * goodput(&base, 0));
}

#[test]
fn a_receiver_withholds_the_given_fraction_of_acks() {
    for (withheld, low, high) in [("100 %", 1.0, 1.0), ("50 %", 0.4, 0.6)] {
        let (run, _) = run_on(1, &four(&json!("rcp"), &json!({"lie": {"withheld": withheld}})));
        let flow = &run.summary.flows[3];
        let kept = flow.acks.lost as f64 / flow.acks.sent as f64;
        assert!((low..=high).contains(&kept), "{withheld}: {kept}");
        assert_eq!(run.summary.flows[0].acks.lost, 0, "an honest receiver");
    }
}

#[test]
fn lies_are_the_same_on_several_threads() {
    for lie in [
        json!({"withheld": "50 %"}),
        json!({"receiver": {"rate": "* 3"}, "sender": {"rtt": "* 2"}}),
    ] {
        let scenario = four(&json!("rcp"), &json!({ "lie": lie }));
        let (alone, _) = run_on(1, &scenario);
        for threads in [2, 4] {
            let (run, cut) = run_on(threads, &scenario);
            assert!(cut);
            assert_same(&run, &alone);
        }
    }
}

#[test]
fn hidden_marks_make_a_flow_faster() {
    let mut scenario = four(&json!("dctcp"), &json!({"lie": {"unmarked": true}}));
    scenario["link"][1]["queue"] = json!({"red": {"min": "20 packets", "max": "20 packets", "weight": 1, "ecn": true}});
    let (run, _) = run_on(1, &scenario);
    assert!(goodput(&run, 3) > 2.0 * goodput(&run, 0));
}

#[test]
fn a_lie_without_meaning_is_refused() {
    for (law, lie, message) in [
        (
            "cbr",
            json!({"withheld": 0.5}),
            "flow 4 (x3), lie, withheld: cbr has no ACKs to withhold",
        ),
        (
            "rcp",
            json!({"unmarked": true}),
            "flow 4 (x3), lie, unmarked: rcp does not react to marks",
        ),
        (
            "rcp",
            json!({"withheld": 1.5}),
            "flow 4 (x3), lie, withheld: 1.5 is out of range; allowed: 0 to 1",
        ),
        ("rcp", json!({"sender": {"rrt": 1}}), "rrt"),
    ] {
        let error = try_start(&four(&json!(law), &json!({"lie": lie}))).unwrap_err();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
