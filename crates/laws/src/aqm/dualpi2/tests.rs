use std::vec::Vec;

use levelflow_units::{Bytes, Duration};
use proptest::prelude::*;

use super::{DualPi2, DualPi2Params, Leaving};
use crate::Parameters;
use crate::aqm::Verdict;

fn params() -> DualPi2Params {
    let values: Vec<f64> = DualPi2Params::TABLE.iter().map(|row| row.default).collect();
    DualPi2Params::read(&values).unwrap()
}

fn at(probability: f64) -> DualPi2 {
    DualPi2 {
        probability,
        delay: 0.0,
    }
}

const LONG: Bytes = Bytes::new(1_000_000);

/// Returns the frequency of each verdict over a grid of draws.
fn frequencies(probability: f64, low_latency: bool, behind: Bytes) -> [f64; 3] {
    const GRID: u32 = 400;
    let packet = Leaving {
        low_latency,
        waited: Duration::ZERO,
        behind,
    };
    let mut counts = [0_u32; 3];
    for i in 0..GRID * GRID {
        let draws = [i / GRID, i % GRID].map(|x| (f64::from(x) + 0.5) / f64::from(GRID));
        let verdict = at(probability).judge(&params(), &packet, draws);
        counts[[Verdict::Pass, Verdict::Notify, Verdict::Drop]
            .iter()
            .position(|v| *v == verdict)
            .unwrap()] += 1;
    }
    counts.map(|count| f64::from(count) / f64::from(GRID * GRID))
}

/// Verifies `p_C = p'^2` and `p_CL = k p'` (RFC 9332, section 2.1).
#[test]
fn the_classic_probability_is_the_square_and_the_coupled_one_a_multiple() {
    for p in [0.0, 0.05, 0.25, 0.5] {
        let [_, classic, dropped] = frequencies(p, false, LONG);
        assert!((classic - p * p).abs() < 1e-9 && dropped == 0.0, "{p}: {classic}");
        let [_, coupled, dropped] = frequencies(p, true, LONG);
        assert!((coupled - 2.0 * p).abs() < 1e-9 && dropped == 0.0, "{p}: {coupled}");
    }
}

/// Verifies that, at overload, both queues drop packets with probability `p'^2`, and the remaining packets of L are
/// marked.
#[test]
fn overload_drops_in_both_queues() {
    for p in [0.505, 0.75, 1.0] {
        let [passed, marked, dropped] = frequencies(p, false, LONG);
        assert!((dropped - p * p).abs() < 1e-9 && marked == 0.0 && (passed - (1.0 - p * p)).abs() < 1e-9);
        let [passed, marked, dropped] = frequencies(p, true, LONG);
        assert!((dropped - p * p).abs() < 1e-9 && passed == 0.0 && (marked - (1.0 - p * p)).abs() < 1e-9);
    }
}

#[test]
fn short_queues_are_marked_only_by_the_step() {
    assert_eq!(frequencies(1.0, false, Bytes::new(3027)), [1.0, 0.0, 0.0]);
    assert_eq!(frequencies(1.0, true, Bytes::new(3027)), [1.0, 0.0, 0.0]);
    let waited = |us| Leaving {
        low_latency: true,
        waited: Duration::from_us(us),
        behind: Bytes::ZERO,
    };
    assert_eq!(at(0.0).judge(&params(), &waited(1000), [0.5; 2]), Verdict::Pass);
    assert_eq!(at(0.0).judge(&params(), &waited(1001), [0.5; 2]), Verdict::Notify);
    let classic = Leaving {
        low_latency: false,
        ..waited(9000)
    };
    assert_eq!(at(0.0).judge(&params(), &classic, [0.5; 2]), Verdict::Pass);
}

/// Verifies updates computed by hand. The target is 15 ms. A step of the delay from 0 to 25 ms therefore adds `alpha` *
/// 10 ms + `beta` * 25 ms, with `alpha` = 41/256 and `beta` = 819/256.
#[test]
fn an_update_is_that_of_the_rfc() {
    let (params, mut pi) = (params(), DualPi2::default());
    pi.update(&params, Duration::from_ms(25));
    assert!((pi.probability() - (41.0 * 0.010 + 819.0 * 0.025) / 256.0).abs() < 1e-12);
    pi.update(&params, Duration::from_ms(15));
    assert!((pi.probability() - (41.0 * 0.010 + 819.0 * 0.015) / 256.0).abs() < 1e-12);
    pi.update(&params, Duration::from_ms(15));
    assert!(
        (pi.probability() - (41.0 * 0.010 + 819.0 * 0.015) / 256.0).abs() < 1e-12,
        "the probability is constant at the target"
    );
}

proptest! {
    /// Verifies the change of a probability that stays between 0 and 1. It is `alpha` times the sum of `d - target`,
    /// plus `beta` times the total change of `d`.
    #[test]
    fn the_controller_adds_up(delays in prop::collection::vec(14_000..16_000_u64, 1..60)) {
        let (params, mut pi) = (params(), at(0.5));
        pi.delay = 0.015;
        let s = |us: u64| us as f64 / 1e6;
        delays.iter().for_each(|&us| pi.update(&params, Duration::from_us(us)));
        let sum: f64 = delays.iter().map(|&us| s(us) - 0.015).sum();
        let expected = 0.5 + params.alpha * sum + params.beta * (s(delays[delays.len() - 1]) - 0.015);
        prop_assert!((pi.probability() - expected).abs() < 1e-9, "{} is not {expected}", pi.probability());
    }
}
