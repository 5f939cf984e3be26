//! Commands that have moved say where they went.

use std::process::Command;

#[test]
fn bench_says_where_it_went() {
    for options in [&["bench"][..], &["bench", "--quick", "--json"], &["bench", "--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_levelflow-net"))
            .args(options)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(
            said.contains("-p levelflow-benches") && output.stdout.is_empty(),
            "{said}"
        );
    }
}
