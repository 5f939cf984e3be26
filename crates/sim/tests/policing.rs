//! Links whose routers police headers.

use serde_json::{Value, json};

use crate::common::{Run, mean, run_on, series};
use crate::liars::four;
use crate::properties::assert_same;

/// Returns the scenario with policing at the bottleneck. The liar has an access link of its own.
fn policed(mut scenario: Value) -> Value {
    scenario["link"][1]["police"] = json!(true);
    let mut access = scenario["link"][0].clone();
    access["from"] = json!("D");
    scenario["link"].as_array_mut().unwrap().push(access);
    scenario["flow"][3]["from"] = json!("D");
    scenario["duration"] = json!("16 s");
    scenario
}

fn goodput(run: &Run, flow: usize) -> f64 {
    mean(&series(&run.flows, "flow", flow, "goodput_bps", 10.0))
}

// **Invariant** (Laws): with one liar in four flows and policing routers, honest flows of JetMax, Level and RCP keep
// 90 % of their goodput, for the lies of the test.
#[test]
fn honest_flows_keep_their_goodput_under_policing() {
    for (law, lie) in [
        ("level", json!({"sender": {"gap": "* 1000"}})),
        ("level", json!({"sender": {"proposal": "* 1000"}})),
        ("level", json!({"sender": {"lowest": 0, "second": 0}})),
        ("level", json!({"receiver": {"new_lowest": 1e9, "new_second": 1e9}})),
        ("jetmax", json!({"sender": {"gap": "* 1000"}})),
        ("jetmax", json!({"sender": {"virtual_size": "* 1000"}})),
        ("jetmax", json!({"receiver": {"share": 1e9, "price": -1}})),
        ("rcp", json!({"receiver": {"rate": "* 10"}})),
        ("xcp", json!({"sender": {"gap": "* 10"}})),
    ] {
        let honest = policed(four(&json!(law), &json!({})));
        let base = goodput(&run_on(1, &honest).0, 0);
        let scenario = policed(four(&json!(law), &json!({ "lie": lie })));
        let (run, _) = run_on(1, &scenario);
        for flow in 0..3 {
            let kept = goodput(&run, flow) / base;
            assert!(kept > 0.9, "{law}, {lie}: flow {flow} keeps {kept}");
        }
        for threads in [2, 4] {
            assert_same(&run_on(threads, &scenario).0, &run);
        }
    }
}

#[test]
fn policing_does_not_slow_honest_flows() {
    for law in ["jetmax", "level", "rcp", "xcp", "sperc", "emkc", "maxnet"] {
        let plain = four(&json!(law), &json!({"application": {"rate": "0.5 Mb/s"}}));
        let mut police = plain.clone();
        police["link"][1]["police"] = json!(true);
        let ((plain, _), (police, _)) = (run_on(1, &plain), run_on(1, &police));
        for flow in 0..4 {
            let [own, base] = [&police, &plain].map(|run| mean(&series(&run.flows, "flow", flow, "goodput_bps", 5.0)));
            assert!((own - base).abs() < 0.01 * base, "{law}, flow {flow}: {own} and {base}");
        }
        let counters = police.summary.links[2].police.expect("the link has policers");
        assert!(
            counters.convictions == 0 && counters.largest_debt < 0.5,
            "{law}: {counters:?}"
        );
        assert_eq!(plain.summary.links[2].police, None);
    }
}
