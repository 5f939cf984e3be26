//! Test that runs `levelflow-benches` and verifies all values of its rows except the times.

use levelflow_net_testing::{needs_full, needs_root};
use std::process::Command;

use serde_json::Value;

#[test]
fn a_quick_bench_has_every_row() {
    needs_full!("a_quick_bench_has_every_row");
    needs_root!("a_quick_bench_has_every_row");
    let output = Command::new(env!("CARGO_BIN_EXE_levelflow-benches"))
        .args(["--quick", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["machine"]["processors"].as_u64().unwrap() > 0);
    let rows = report["rows"].as_array().unwrap();
    let cases = |part: &str| {
        let own = rows.iter().filter(|row| row["part"] == part);
        own.map(|row| row["case"].as_str().unwrap()).collect::<Vec<_>>()
    };
    let laws = levelflow_laws::on_the_wire().filter(|law| law.routers.kernel.is_some());
    let laws: Vec<&str> = laws.map(|law| law.name).collect();
    let after = |first: &[&'static str]| [first, &laws].concat();
    if report["skipped"].as_array().unwrap().is_empty() {
        for part in ["kernel", "kernel, super-packets"] {
            assert_eq!(cases(part), after(&["no router", "foreign packets"]));
        }
        assert_eq!(cases("kernel, intervals"), laws);
    } else {
        eprintln!("without a kernel router: {}", report["skipped"]);
    }
    for part in ["buffer, pfifo", "buffer, tbf"] {
        assert_eq!(cases(part), ["left alone", "sized"]);
    }
    assert_eq!(cases("relay"), after(&["foreign packets"]));
    assert_eq!(cases("intervals"), laws);
    for row in rows {
        for key in ["ns", "per_second", "ratio", "speed_ratio"] {
            let value = row[key].as_f64().unwrap();
            assert!(value > 0.0 && value.is_finite(), "{key} of {row}");
        }
        let per_packet = row["part"].as_str().unwrap().starts_with("kernel") && row["unit"] == "packet";
        let stamps = per_packet && row["case"] != "no router";
        assert_eq!(row["program_ns"].as_f64().is_some_and(|ns| ns > 0.0), stamps, "{row}");
    }
}
