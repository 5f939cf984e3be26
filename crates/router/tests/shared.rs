//! Flows of different laws with the same signalling share a relay in virtual time. `src/kernel/tests.rs` contains the
//! same test for the kernel router.

#![allow(clippy::unwrap_used, reason = "a test panics on unexpected values")]

use levelflow_net_testing::world::{World, ms};
use levelflow_scenario::settings;

#[test]
fn two_laws_share_a_relay_in_proportion_to_their_weights() {
    let weighted = settings::params("rcp_weighted", &["weight=3".to_owned()]).unwrap();
    let mut world = World::of("rcp", vec![settings::params("rcp", &[]).unwrap(), weighted]);
    let rates = world.goodput(ms(20_000), ms(30_000));
    assert!((rates[1] / rates[0] - 3.0).abs() < 0.1, "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 0.85 * 20e6, "{rates:?}");
}
