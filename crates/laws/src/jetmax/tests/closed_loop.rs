//! JetMax in a closed loop over one router, without queue and losses.

use levelflow_units::{Bytes, Duration, Time};

use super::params;
use crate::jetmax::{JetMax, price};
use crate::law::{Bottleneck, SenderLaw};
use crate::testing::{Network, ms};

fn network(changes: &[(&str, f64)], capacity: f64) -> Network<JetMax> {
    Network::new(params(changes), &[capacity])
}

fn join(wire: &mut Network<JetMax>, rtt: Duration, start: Time) {
    let flow = wire.flow(Bytes::new(1 << 60), &[0], rtt, start);
    flow.hop = Duration::from_ms(20);
    flow.back = rtt - flow.hop;
}

#[test]
fn one_percent_takes_six_steps_at_any_capacity() {
    for capacity in [1e7, 1e10, 1e18] {
        let mut wire = network(&[], capacity);
        join(&mut wire, Duration::from_ms(220), Time::ZERO);
        wire.run(ms(8_000));
        let changes = &wire.flows[0].rates;
        let steps = 1 + changes
            .iter()
            .position(|change| change.1 >= 0.99 * capacity)
            .expect("it converges");
        assert_eq!(steps, 6, "{capacity}: {changes:?}");
        let periods = changes[..6]
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0).as_secs_f64());
        assert!(
            periods.clone().all(|period| (period - 0.4).abs() < 0.005),
            "{capacity}: {changes:?}"
        );
        assert!(wire.peak <= capacity * 1.001, "{capacity}: {}", wire.peak);
        assert_eq!(wire.flows[0].sender.bottleneck(), Bottleneck::Hop(1));
    }
}

#[test]
fn flows_of_any_rtt_share_alike_and_never_overload() {
    let mut wire = network(&[], 1e7);
    join(&mut wire, Duration::from_ms(2020), Time::ZERO);
    join(&mut wire, Duration::from_ms(220), ms(30_013));
    wire.run(ms(29_000));
    assert!((wire.flows[0].rate() / 1e7 - 1.0).abs() < 0.015);
    wire.run(ms(60_000));
    for flow in &wire.flows {
        assert!((flow.rate() / 5e6 - 1.0).abs() < 0.015, "{:?}", flow.rates);
    }
    assert!(wire.peak < 1.02e7, "{}", wire.peak);
}

/// Reproduces figure 34(b): a new flow takes its share before the other flows reduce their rates.
#[test]
fn without_proposals_a_joiner_overloads_the_link_by_half() {
    let mut wire = network(&[("propose", 0.0)], 1e7);
    join(&mut wire, Duration::from_ms(2020), Time::ZERO);
    wire.run(ms(30_000));
    assert!(wire.peak < 1.02e7, "{}", wire.peak);
    join(&mut wire, Duration::from_ms(220), ms(30_013));
    wire.run(ms(60_000));
    assert!((price(wire.peak, 1e7) - 0.33).abs() < 0.02, "{}", wire.peak);
}

/// Reproduces figure 33(b): a flow that becomes responsive late in an interval is counted as a fraction of a flow.
#[test]
fn without_the_ignore_rule_a_flow_alone_overshoots() {
    let peak = |ignore: f64, phase: u64| {
        let mut wire = network(&[("propose", 0.0), ("ignore", ignore)], 1e7);
        join(&mut wire, Duration::from_ms(2020), ms(phase * 10));
        wire.run(ms(30_000));
        wire.peak / 1e7
    };
    let naive = (0..10).map(|phase| peak(0.0, phase)).fold(0.0, f64::max);
    let proper = (0..10).map(|phase| peak(1.0, phase)).fold(0.0, f64::max);
    assert!(naive > 3.0, "{naive}");
    assert!(proper < 1.02, "{proper}");
}

#[test]
fn per_switch_steps_once_per_interval() {
    let mut wire = network(&[("settle", 1.0), ("interval", 0.1)], 1e9);
    join(&mut wire, Duration::from_ms(40), Time::ZERO);
    wire.run(ms(4_000));
    let changes = &mut wire.flows[0].rates;
    changes.retain(|change| change.1 > 41e3);
    let steps = 1 + changes
        .iter()
        .position(|change| change.1 >= 0.99e9)
        .expect("it converges");
    assert_eq!(steps, 6, "{changes:?}");
    let lasted = (changes[5].0 - changes[0].0).as_secs_f64();
    assert!((lasted - 0.5).abs() < 0.01, "{changes:?}");
    assert!(wire.peak <= 1.001e9, "{}", wire.peak);
}
