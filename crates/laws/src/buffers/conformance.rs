//! Generic tests that every buffer-sizing algorithm must pass. The macro `algorithms!` generates them for each
//! algorithm in the list of `buffers.rs`.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate};
use proptest::collection::vec as list;
use proptest::prelude::*;

use super::{BufferAlgorithm, Load};
use crate::Parameters;
use crate::PortInfo;
use crate::conformance::{check, is_name, rows};

/// Expands to the tests of one algorithm.
macro_rules! suite {
    ($algorithm:ty) => {
        #[test]
        fn the_table_is_well_formed() {
            crate::buffers::conformance::table::<$algorithm>();
        }
        #[test]
        fn parameters_outside_their_range_are_refused() {
            crate::conformance::ranges(<$algorithm as crate::buffers::BufferAlgorithm>::INFO.params);
        }
        #[test]
        fn any_load_leaves_room_for_a_packet_and_an_end_to_the_buffer() {
            crate::buffers::conformance::bounded::<$algorithm>();
        }
        #[test]
        fn an_algorithm_held_at_a_least_size_leaves_it_at_once() {
            crate::buffers::conformance::held::<$algorithm>();
        }
        // **Invariant** (Laws): every registered buffer-sizing algorithm passes the conformance suite for these
        // algorithms. The suite verifies the table, replay, and a limit between one packet and the largest buffer. See
        // `any_load_leaves_room_for_a_packet_and_an_end_to_the_buffer`.
        #[test]
        fn a_replayed_algorithm_ends_in_the_same_state() {
            crate::buffers::conformance::replay::<$algorithm>();
        }
    };
}
pub(super) use suite;

fn values<S: BufferAlgorithm>() -> Vec<f64> {
    S::INFO.params.iter().map(|row| row.default).collect()
}

fn new<S: BufferAlgorithm>(params: &S::Params, bps: f64) -> S {
    let capacity = Rate::clamped(bps);
    S::new(params, &PortInfo { id: 7, capacity })
}

pub fn table<S: BufferAlgorithm>() {
    let info = S::INFO;
    assert!(!info.title.is_empty() && !info.source.is_empty() && is_name(info.name));
    rows(info.params);
    S::Params::read(&values::<S>()).expect("the defaults fit together");
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let bytes = || prop_oneof![Just(0), 0..1_000_000_u64, any::<u64>()].prop_map(Bytes::new);
    let elapsed = prop_oneof![1..1_000_000_u64, 1..10_000_000_000_000_u64].prop_map(Duration::from_ps);
    let load = (elapsed, bytes(), bytes(), bytes(), bytes(), any::<u32>()).prop_map(
        |(elapsed, admitted, dropped, sent, queue, packets)| Load {
            elapsed,
            admitted,
            dropped,
            sent,
            queue,
            packets,
        },
    );
    list(load, 0..100)
}

/// Verifies that limits are between one packet and `largest`. One parameter is at an end of its range, and the other
/// parameters have their defaults. Ports have a low capacity, a high capacity, or capacity zero.
pub fn bounded<S: BufferAlgorithm>() {
    let mut all = Vec::from([values::<S>()]);
    for (row, spec) in S::INFO.params.iter().enumerate() {
        for end in [spec.range.0, spec.range.1] {
            let mut changed = values::<S>();
            changed[row] = end;
            all.push(changed);
        }
    }
    let largest = |values: &[f64]| {
        let row = S::INFO.params.iter().position(|row| row.name == "largest");
        values[row.expect("every algorithm has a largest buffer")]
    };
    check(loads(), |loads| {
        for (values, params) in all.iter().filter_map(|v| Some((v, S::Params::read(v).ok()?))) {
            assert!(S::interval(&params) > Duration::ZERO);
            for bps in [0.0, 1e3, 1e12] {
                let mut algorithm: S = new(&params, bps);
                for load in &loads {
                    algorithm.on_interval(&params, load);
                    let packets = algorithm.packets();
                    assert!(packets >= 1.0 && packets <= largest(values), "{algorithm:?}");
                    // In some intervals, the grant differs from the request.
                    if load.packets % 3 == 0 {
                        let granted = f64::from(load.packets).clamp(1.0, largest(values));
                        algorithm.on_grant(&params, granted);
                        assert!(
                            algorithm.packets() >= 1.0 && algorithm.packets() <= largest(values),
                            "{algorithm:?}"
                        );
                    }
                }
            }
        }
    });
}

/// Verifies that the request does not wind up at a configured minimum of 50 packets. The port meets its targets for an
/// hour. Then half of the arrivals are dropped, and the line misses its utilisation target.
pub fn held<S: BufferAlgorithm>() {
    const LEAST: f64 = 50.0;
    let load = |sent: u64, dropped: u64| Load {
        elapsed: Duration::from_ms(200),
        admitted: Bytes::new(sent),
        dropped: Bytes::new(dropped),
        sent: Bytes::new(sent),
        queue: Bytes::ZERO,
        packets: 0,
    };
    let row = |name| S::INFO.params.iter().position(|row| row.name == name);
    let mut values = values::<S>();
    for (name, value) in [("initial", LEAST), ("utilisation", 0.5), ("damping", 2.0)] {
        if let Some(row) = row(name) {
            values[row] = value;
        }
    }
    let params = S::Params::read(&values).expect("they fit together");
    let step = |algorithm: &mut S, load: &Load| {
        algorithm.on_interval(&params, load);
        if algorithm.packets() < LEAST {
            algorithm.on_grant(&params, LEAST);
        }
    };
    let until_it_grows = |algorithm: &mut S| {
        let grows = |algorithm: &mut S| {
            // The line sends 100 kB and could send 250 kB. Half of the arrivals are dropped.
            step(algorithm, &load(100_000, 100_000));
            algorithm.packets() > LEAST + 1.0
        };
        (1..1000_u32).find(|_| grows(algorithm))
    };
    let (mut fresh, mut held): (S, S) = (new(&params, 1e7), new(&params, 1e7));
    (0..18_000).for_each(|_| step(&mut held, &load(249_000, 0)));
    assert!(held.packets() < LEAST + 1.0, "{held:?}");
    let (fresh, held) = (until_it_grows(&mut fresh), until_it_grows(&mut held));
    let later = held.zip(fresh).map(|(held, fresh)| held.saturating_sub(fresh));
    assert!(
        later.is_some_and(|later| later <= 3),
        "after {held:?} intervals, a new one after {fresh:?}"
    );
}

/// Verifies that a replay of logged loads reproduces the state. A replay can also continue from a copy made halfway.
pub fn replay<S: BufferAlgorithm>() {
    let params = S::Params::read(&values::<S>()).expect("the defaults fit together");
    check(loads(), |loads| {
        let (mut whole, mut half): (S, S) = (new(&params, 1e7), new(&params, 1e7));
        loads.iter().for_each(|load| whole.on_interval(&params, load));
        let (first, second) = loads.split_at(loads.len() / 2);
        first.iter().for_each(|load| half.on_interval(&params, load));
        let mut copy = half.clone();
        second.iter().for_each(|load| copy.on_interval(&params, load));
        assert!(copy == whole, "{copy:?}, {whole:?}");
    });
}
