//! Closed-loop tests with windows, a queue and a router.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate};
use proptest::prelude::*;

use super::params;
use crate::testing::{Network, ms};
use crate::xcp::Xcp;

const PACKET: Bytes = Bytes::new(1000);

fn network(capacity: f64, rtts_ms: &[u64]) -> Network<Xcp> {
    let mut link = Network::new(params(&[]), &[capacity]);
    link.ports[0].line = Rate::new(capacity);
    for (i, rtt) in rtts_ms.iter().enumerate() {
        let flow = link.flow(PACKET, &[0], Duration::ZERO, ms(500 * i as u64));
        flow.back = Duration::from_ms(*rtt);
    }
    link
}

/// Runs for `time`. Returns the mean rates of the flows in this time, bit/s.
fn rates(link: &mut Network<Xcp>, time: Duration) -> Vec<f64> {
    let before: Vec<_> = link.flows.iter().map(|flow| flow.delivered).collect();
    link.run(link.now + time);
    let acked = link
        .flows
        .iter()
        .zip(before)
        .map(|(flow, before)| flow.delivered - before);
    acked
        .map(|acked| f64::from(acked) * PACKET.as_bits_f64() / time.as_secs_f64())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Verifies sections 3.3 and 3.4: the link is full, the queue is short, and flows of different round-trip times
    /// have equal rates.
    #[test]
    fn flows_of_any_round_trip_times_get_equal_rates(
        capacity in 5e6..50e6, rtts_ms in [40_u64..120, 120_u64..240],
    ) {
        let mut link = network(capacity, &rtts_ms);
        link.run(ms(30_000));
        link.ports[0].deepest = 0;
        let rates = rates(&mut link, Duration::from_secs(10));
        let used: f64 = rates.iter().sum::<f64>() / capacity;
        prop_assert!((0.95..1.001).contains(&used), "{used} of the link is used");
        for rate in &rates {
            prop_assert!((rate / (capacity / 2.0) - 1.0).abs() < 0.1, "{rates:?} of {capacity}");
        }
        prop_assert!(link.ports[0].deepest < 30, "{} packets queued", link.ports[0].deepest);
    }
}

#[test]
fn a_flow_alone_fills_the_link_within_ten_round_trips() {
    let mut link = network(20e6, &[100]);
    link.run(ms(1_000));
    let rates = rates(&mut link, Duration::from_secs(1));
    assert!(rates[0] > 0.9 * 20e6, "{rates:?}");
}
