//! Test of scale invariance: one flow in a closed loop at two scales.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate};

use super::CAPACITY;
use crate::params::{ParamSpec, Unit};
use crate::testing::{Both, Network, ms};
use crate::{Law, Parameters, RouterLaw, RouterParamsOf, SenderLaw, Signal};

const PACKET: u64 = 64;

/// Multiplies every rate and size by a power of two, for one flow over one router and its queue. Verifies that times do
/// not change and that rates are multiplied by this power, to the last bit.
pub fn scale<L: Law>() {
    if !L::INFO.scale_invariant {
        return;
    }
    // Sums in fixed point have a fixed resolution. From about this scale on, their rounding has no effect.
    let base = 1024.0;
    let reference = run::<L>(base);
    assert!(
        reference.iter().any(|sample| sample[0] != reference[0][0]),
        "the rate never changed"
    );
    for factor in [2.0, 4096.0] {
        let scaled = run::<L>(base * factor);
        let signal = if matches!(L::INFO.signalling.signal, Signal::Rate | Signal::Change) {
            factor
        } else {
            1.0
        };
        for (i, (a, b)) in reference.iter().zip(&scaled).enumerate() {
            assert_eq!(
                [a[0] * factor, (a[1] * factor).min(f64::MAX), a[2] * signal],
                *b,
                "sample {i}, {factor} times as fast"
            );
        }
    }
}

/// Returns the sending rate, the target of the link and the signal, every 50 ms.
fn run<L: Law>(scale: f64) -> Vec<[f64; 3]> {
    let scaled = |row: &ParamSpec| match row.unit {
        Unit::Rate | Unit::Size => row.default * scale,
        _ => row.default,
    };
    let values = |table: &[ParamSpec]| table.iter().map(scaled).collect::<Vec<f64>>();
    let sender = L::Params::read(&values(L::INFO.params)).expect("scaled defaults do not conflict");
    let routers =
        RouterParamsOf::<L>::read(&values(L::INFO.signalling.params)).expect("scaled defaults do not conflict");
    let capacity = CAPACITY * scale;
    let mut network = Network::<L>::new(Both { sender, routers }, &[capacity]);
    network.ports[0].line = Rate::new(capacity);
    let flow = network.flow(Bytes::new(PACKET * scale as u64), &[0], Duration::ZERO, ms(0));
    flow.back = Duration::from_ms(73);
    let sample = |n| {
        network.run(ms(50 * n));
        let (sender, router) = (&network.flows[0].sender, &network.ports[0].router);
        [sender.rate().bps(), router.target().bps(), router.signal()]
    };
    (1..=400_u64).map(sample).collect()
}
