//! Tests of the bounds of the policer.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use super::{ALLOWANCE, COUNTED_CREDIT, CREDIT, LEAST_RATE, Limits, PASSED_CREDIT, PERIOD, Police, Verdict, WATCHES};
use crate::law::{PortInfo, RouterLaw};
use crate::params::{ParamSpec, Parameters};
use crate::{jetmax, level};

const CAPACITY: f64 = 1e8;
/// Permitted rate, bit/s.
const RATE: f64 = 1e6;
const SIZE: Bytes = Bytes::new(1000);

fn at(secs: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(secs).unwrap()
}

/// Returns a policer that has permitted `RATE` for some time, and the current time in seconds.
fn settled(seed: u64) -> (Police, f64) {
    let mut police = Police::new(seed, CAPACITY);
    for packet in 0..4 {
        police.on_arrival(at(f64::from(packet) * PERIOD.as_secs_f64()), 99, SIZE, RATE, 0.0);
    }
    (police, 4.0 * PERIOD.as_secs_f64())
}

/// Returns the time for which a router of Level counts a packet with this claim.
fn counted(verdict: Verdict, claim: f64) -> f64 {
    let Verdict::Pass(limits) = verdict else { return 0.0 };
    let params = defaults::<level::RouterParams>(level::RouterParams::TABLE);
    let mut header = level_header(claim as f32, 0.0);
    level::Router::new(&params, &port()).correct(&params, SIZE, &limits, &mut header);
    header.gap.into()
}

fn level_header(gap: f32, proposal: f32) -> level::Header {
    level::Header {
        flags: 0,
        hop: 0,
        limit: 1,
        new_limit: 0,
        lowest: proposal,
        second: f32::MAX,
        new_lowest: f32::MAX,
        new_second: f32::MAX,
        proposal,
        gap,
        queued: [0; 3],
    }
}

proptest! {
    // **Invariant** (Laws): a policer does not convict a flow that keeps its claims and the permitted rate, if the
    // delays before the router vary by less than 0.9 s.
    #[test]
    fn an_honest_flow_is_never_convicted(
        seed: u64,
        packets in prop::collection::vec((0.05..1.0_f64, 0.0..0.9 * CREDIT), 500),
    ) {
        let (mut police, start) = settled(seed);
        let (mut sent, mut arrived) = (start, start);
        for (part, delay) in packets {
            let gap = SIZE.as_bits_f64() / (part * RATE);
            sent += gap;
            arrived = f64::max(arrived, sent + delay);
            let verdict = police.on_arrival(at(arrived), 1, SIZE, RATE, gap as f32);
            prop_assert!(matches!(verdict, Verdict::Pass(_)));
        }
        prop_assert_eq!(police.convictions(), 0);
    }

    // **Invariant** (Laws): a policing router counts a watched flow for at most the elapsed time plus 0.1 s, whatever
    // its headers claim.
    #[test]
    fn a_watched_flow_counts_for_at_most_the_elapsed_time(
        seed: u64,
        packets in prop::collection::vec((0.0..0.1_f64, 0.0..0.2_f64), 1..300),
    ) {
        let (mut police, start) = settled(seed);
        police.on_arrival(at(start), 1, SIZE, RATE, 0.0);
        let (mut now, mut sum) = (start, 0.0);
        for (wait, claim) in packets {
            now += wait;
            sum += counted(police.on_arrival(at(now), 1, SIZE, RATE, claim as f32), claim);
            prop_assert!(sum <= now - start + COUNTED_CREDIT + SIZE.as_bits_f64() / RATE + 1e-6, "{sum}");
        }
    }

    /// A flow at a higher rate than the permitted rate spends time in proportion, without a false claim.
    #[test]
    fn overspending_is_convicted_at_the_documented_time(seed: u64, excess in 1.2..50.0_f64, claims: bool) {
        let (mut police, start) = settled(seed);
        let gap = SIZE.as_bits_f64() / RATE / excess;
        let claim = if claims { excess * gap } else { 0.0 };
        let rate = if claims { CAPACITY } else { RATE };
        let expected = CREDIT / (excess - ALLOWANCE);
        let mut packet = 0_u32;
        while police.convictions() == 0 {
            police.on_arrival(at(start + f64::from(packet) * gap), 1, SIZE, rate, claim as f32);
            packet += 1;
        }
        let time = f64::from(packet - 1) * gap;
        prop_assert!((time - expected).abs() <= 2.0 * gap + 0.02 * expected, "{time} and {expected}");
    }

    #[test]
    fn a_convicted_flow_passes_at_the_permitted_rate(seed: u64, excess in 2.0..50.0_f64) {
        let (mut police, start) = settled(seed);
        let gap = SIZE.as_bits_f64() / RATE / excess;
        let (mut passed, mut since) = (0.0, None);
        let mut now = start;
        while now < start + 20.0 {
            let convicted = police.convictions() > 0;
            let verdict = police.on_arrival(at(now), 1, SIZE, RATE, gap as f32);
            if convicted {
                let since = *since.get_or_insert(now);
                if let Verdict::Pass(limits) = verdict {
                    passed += SIZE.as_bits_f64();
                    let time = limits.gap.expect("a convicted flow is measured");
                    prop_assert!(f64::from(time) <= SIZE.as_bits_f64() / RATE + gap + 1e-6 || passed <= 8e4);
                }
                prop_assert!(passed <= RATE * (now - since + PASSED_CREDIT) + 2.0 * SIZE.as_bits_f64());
            }
            now += gap;
        }
        prop_assert!(passed >= 0.95 * RATE * (now - since.expect("the flow is convicted")));
    }
}

fn defaults<P: Parameters>(table: impl AsRef<[ParamSpec]>) -> P {
    let values: Vec<f64> = table.as_ref().iter().map(|row| row.default).collect();
    P::read(&values).unwrap()
}

fn port() -> PortInfo {
    PortInfo {
        id: 1,
        capacity: levelflow_units::Rate::clamped(CAPACITY),
    }
}

proptest! {
    // **Invariant** (Laws): a policing router does not change the header of a JetMax or Level flow that proposes at
    // most the present share or level.
    #[test]
    fn honest_headers_are_within_the_limits(
        limit in LEAST_RATE..0.9 * CAPACITY, part in 0.01..1.0_f64, growth in 0.0..1.0_f64, bytes in 52..1500_u64,
    ) {
        let limit = f64::from(limit as f32);
        let limits = Limits { rate: limit, gap: None };
        let size = Bytes::new(bytes);
        // A sender has at least one packet per 0.5 s (Level) or 0.2 s (JetMax).
        let paced = |longest: f64| {
            let rate = (part * limit).max(size.as_bits_f64() / longest);
            (rate, (size.as_bits_f64() / rate) as f32)
        };

        let (rate, gap) = paced(0.499);
        let params = defaults::<level::RouterParams>(level::RouterParams::TABLE);
        let header = level_header(gap, (rate + growth * (limit - rate)) as f32);
        let mut corrected = header;
        level::Router::new(&params, &port()).correct(&params, size, &limits, &mut corrected);
        prop_assert_eq!(corrected, header);

        let (rate, gap) = paced(0.199);
        let params = defaults::<jetmax::RouterParams>(jetmax::RouterParams::TABLE);
        // Rounding of the proposal may exceed the permitted rate.
        let growth = 1.0 + 0.999 * growth * (limit / rate - 1.0);
        let header = jetmax::Header {
            source_port: 0, destination_port: 0, flags: 0, bottleneck: 1, hop: 0, suggested: 0, seq: 0,
            price: -f32::MAX, share: f32::MAX, virtual_size: (bytes as f64 * growth) as f32, gap,
        };
        let mut corrected = header;
        jetmax::Router::new(&params, &port()).correct(&params, size, &limits, &mut corrected);
        prop_assert_eq!(corrected, header);
    }
}

/// Simulates honest flows and a liar that spends `part` of the time of all flows. Returns the time until its
/// conviction, s.
fn detection(seed: u64, flows: u32, part: f64) -> f64 {
    let (mut police, start) = settled(seed);
    let packet = |flow: u32| f64::from(flow) / f64::from(flows);
    let excess = part / (1.0 - part) * f64::from(flows);
    let mut round = 0_u32;
    loop {
        // Each honest flow has one packet per 0.1 s.
        let now = start + f64::from(round) * 0.1;
        for flow in 0..flows {
            police.on_arrival(at(now + 0.1 * packet(flow)), u64::from(flow) + 100, SIZE, CAPACITY, 0.1);
            if flow % (flows / 10).max(1) == 0 {
                let claim = (0.1 * excess / 10.0).min(0.2) as f32;
                let packets = (0.01 * excess / f64::from(claim)).round() as u32;
                for _ in 0..packets {
                    police.on_arrival(at(now + 0.1 * packet(flow)), 1, SIZE, CAPACITY, claim);
                    if police.convictions() > 0 {
                        return now - start;
                    }
                }
            }
        }
        round += 1;
    }
}

/// Verifies that a liar with a tenth of the spending is convicted within 5 s on average, next to 100 and 4000 flows.
#[test]
fn the_time_of_detection_does_not_depend_on_the_number_of_flows() {
    for flows in [100, 4000] {
        let times: Vec<f64> = (0..5).map(|seed| detection(seed, flows, 0.1)).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!(mean < 5.0, "{flows} flows: {times:?}");
    }
}

#[test]
fn every_flow_may_send_at_the_lowest_rate() {
    let mut police = Police::new(1, CAPACITY);
    let gap = SIZE.as_bits_f64() / LEAST_RATE;
    for packet in 0..1000 {
        let verdict = police.on_arrival(at(f64::from(packet) * gap), 1, SIZE, 0.0, 0.0);
        assert!(matches!(verdict, Verdict::Pass(limits) if limits.gap.is_none()));
    }
}

/// A flow keeps its conviction while it offends, and loses it a minute after the last offence.
#[test]
fn convictions_end() {
    let (mut police, start) = settled(1);
    let offend = |police: &mut Police, from: f64| {
        for packet in 0..100 {
            police.on_arrival(at(from + f64::from(packet) * 0.01), 1, SIZE, RATE, 0.2);
        }
    };
    for round in 0..4 {
        offend(&mut police, start + 50.0 * f64::from(round));
        assert_eq!(police.convictions(), 1);
    }
    let later = start + 151.0 + 61.0;
    police.on_arrival(at(later), 1, SIZE, RATE, 0.0);
    offend(&mut police, later + 10.0);
    assert_eq!(police.convictions(), 2);
}

#[test]
fn the_state_has_a_fixed_size() {
    const { assert!(size_of::<Police>() < 24_000 && WATCHES == 64) };
}
