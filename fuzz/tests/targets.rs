//! Runs each target on its corpus and on seeded random bytes.

use std::fs;

use levelflow_fuzz::{TARGETS, bytes};

/// Runs a target. Its corpus has an input per line, in hexadecimal digits.
fn check(name: &str) {
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target of this name");
    let path = format!("{}/corpus/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let corpus = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for line in corpus.lines() {
        (target.run)(&decoded(line));
    }
    for seed in 0..target.inputs {
        (target.run)(&bytes::random(seed));
    }
}

fn decoded(line: &str) -> Vec<u8> {
    let pairs = line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    bytes
        .collect::<Option<_>>()
        .unwrap_or_else(|| panic!("{line}: not hexadecimal"))
}

macro_rules! tests {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })+

        #[test]
        fn every_target_has_a_test() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

tests! {
    headers_decode_and_encode
    datagrams_decode_and_encode
    frames_are_split_and_marked
    flows_survive_their_network
    measurements_survive_their_network
    buffers_of_quic_lose_their_shims
    keys_are_read_or_refused
    logs_are_replayed_or_refused
    scenario_text_is_read_or_refused
    scenario_structure_is_run_or_refused
    traces_are_read_or_refused
    schedules_are_read_or_refused
    options_of_queues_get_another_limit_or_are_refused
    state_files_are_read_or_refused
    quantities_print_what_they_read
}
