//! Tests of each mechanism of JetMax against its equations. The tests of the packet simulator run JetMax in networks.

mod closed_loop;

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use super::*;
use crate::law::{Arriving, Bottleneck, Feedback, FlowInfo, Kind, Outgoing, PortInfo, PortView, RouterLaw, SenderLaw};
use crate::testing::{Both, both, try_both};

const DELTA: Duration = Duration::from_ms(100);
const EMPTY: PortView = PortView::IDLE;

fn params(changes: &[(&str, f64)]) -> Both<JetMax> {
    both(changes)
}

fn router(params: &Both<JetMax>, capacity: f64) -> Router {
    Router::new(
        &params.routers,
        &PortInfo {
            id: 1,
            capacity: Rate::new(capacity).expect("a rate"),
        },
    )
}

fn header(bottleneck: u8, virtual_size: f32, gap: f32) -> Header {
    Header {
        source_port: 0,
        destination_port: 0,
        flags: 0,
        bottleneck,
        hop: 0,
        suggested: 0,
        seq: 0,
        price: -f32::MAX,
        share: f32::MAX,
        virtual_size,
        gap,
    }
}

/// Sender that receives its reports from the test.
struct Desk {
    params: Both<JetMax>,
    sender: Sender,
    now: Time,
    next: u32,
}

impl Desk {
    fn new(changes: &[(&str, f64)]) -> Self {
        let params = params(changes);
        let sender = Sender::new(&params, &FlowInfo::of(Bytes::new(1000)));
        Self {
            params,
            sender,
            now: Time::ZERO,
            next: 0,
        }
    }

    fn send(&mut self) -> Header {
        let size = self.sender.packet_size(&self.params);
        let sent = Outgoing {
            number: self.next,
            size,
            kind: Kind::Data,
        };
        self.next += 1;
        self.sender.on_send(&self.params, self.now, &sent)
    }

    /// Acknowledges a packet with the report of router `hop` for its interval `epoch`.
    fn ack(&mut self, sent: &Header, hop: u8, epoch: u8, price: f32, share: f32) {
        let header = Header {
            suggested: hop,
            flags: sent.flags | epoch,
            price,
            share,
            ..*sent
        };
        let (number, rtt) = (sent.seq, Duration::from_ms(50));
        let feedback = Feedback::plain(number, Kind::Data, rtt, header.reflected());
        self.sender.on_feedback(&self.params, self.now, &feedback);
    }

    /// Sends a packet and acknowledges it at once.
    fn exchange(&mut self, hop: u8, epoch: u8, price: f32, share: f32) {
        let sent = self.send();
        self.ack(&sent, hop, epoch, price, share);
    }

    fn rates(&self) -> (f64, f64) {
        (self.sender.rate().bps(), self.sender.proposal().bps())
    }
}

#[test]
fn formulas_hold_at_a_googol() {
    let googol = 1e100;
    for flows in [1.0, 1024.0] {
        let mut rate = 1.0;
        for _ in 0..5 {
            rate = step(0.6, rate, fair_share(googol, 0.0, flows));
        }
        assert!(rate * flows < 0.99 * googol);
        rate = step(0.6, rate, fair_share(googol, 0.0, flows));
        assert!((0.99 * googol..=googol).contains(&(rate * flows)));
        assert!((0.0..0.01).contains(&-price(rate * flows, googol)));
    }
}

#[test]
fn formulas_are_those_of_the_paper() {
    assert_eq!(price(15e6, 10e6), 1.0 - 10.0 / 15.0);
    assert_eq!(price(10e6, 10e6), 0.0);
    assert_eq!(price(0.0, 10e6), f64::NEG_INFINITY);
    assert_eq!(fair_share(10e6, 4e6, 3.0), 2e6);
    assert_eq!(fair_share(10e6, 12e6, 1.0), -2e6);
    assert_eq!(step(0.6, 5.0, 10.0), 8.0);
}

#[test]
fn a_start_takes_the_first_suggestion_skips_the_mixed_interval_and_proposes() {
    let mut desk = Desk::new(&[]);
    desk.exchange(2, 0, -f32::MAX, f32::MAX);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(2));
    desk.exchange(2, 1, -1.0, 5e6);
    assert_eq!(desk.rates(), (40e3, 40e3), "the mixed interval is skipped");
    let stale = desk.send();
    desk.exchange(2, 2, -1.0, 1e6);
    let proposed = 0.4 * 40e3 + 0.6 * 1e6;
    assert_eq!(desk.rates(), (40e3, proposed));
    desk.ack(&stale, 2, 3, -1.0, 1e6);
    assert_eq!(desk.rates(), (40e3, proposed), "an ACK overtaken by a newer one");
    let sent = desk.send();
    assert_eq!(
        f64::from(sent.virtual_size / sent.gap / 1e3),
        f64::from((proposed / 8e3) as f32)
    );
    desk.ack(&sent, 2, 4, -0.1, 1e6);
    desk.exchange(2, 5, 0.0, 1e6);
    assert_eq!(desk.rates().0, proposed, "a price of exactly zero approves");
}

#[test]
fn a_rejected_proposal_is_made_anew_and_a_decrease_needs_no_approval() {
    let mut desk = Desk::new(&[]);
    desk.exchange(1, 0, -1.0, f32::MAX);
    desk.exchange(1, 1, -1.0, 1e6);
    desk.exchange(1, 2, -1.0, 1e6);
    desk.exchange(1, 3, 0.2, 5e5);
    desk.exchange(1, 4, 0.2, 5e5);
    assert_eq!(desk.rates(), (40e3, step(0.6, 40e3, 5e5)));
    desk.exchange(1, 5, 0.2, 1e3);
    desk.exchange(1, 6, 0.2, 1e3);
    let lower = step(0.6, 40e3, 1e3);
    assert_eq!(desk.rates(), (lower, lower));
    desk.exchange(1, 7, 0.9, -1e9);
    desk.exchange(1, 8, 0.9, -1e9);
    assert_eq!(desk.rates(), (7680.0, 7680.0), "two packets of 48 B per interval");
    desk.exchange(1, 9, 0.0, f32::MAX);
    desk.exchange(1, 10, 0.0, f32::MAX);
    assert_eq!(desk.rates(), (7680.0, 7680.0), "no share without responsive flows");
}

/// Returns a sender that is stationary at 1 Mb/s. Its bottleneck is hop 1, with price zero.
fn stationary(changes: &[(&str, f64)]) -> Desk {
    let mut desk = Desk::new(&[changes, &[("initial_rate", 1e6)]].concat());
    for epoch in 0..3 {
        desk.exchange(1, epoch, 0.0, 1e6);
    }
    desk
}

fn suggest(desk: &mut Desk, epoch: u8, own_zero: bool, price: f32) {
    let mut sent = desk.send();
    if own_zero {
        sent.mark_own_zero();
    }
    desk.ack(&sent, 3, epoch, price, 9e5);
}

#[test]
fn a_suggestion_counts_when_it_is_seen_in_two_intervals_in_a_row() {
    let mut desk = stationary(&[("confirm", 1.0)]);
    suggest(&mut desk, 7, false, 0.3);
    suggest(&mut desk, 7, false, 0.3);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(1), "only one interval");
    desk.exchange(1, 4, 0.0, 1e6);
    suggest(&mut desk, 8, false, 0.3);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(1), "hop 1 in between");
    let stale = desk.send();
    suggest(&mut desk, 9, false, 0.3);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(3));
    desk.ack(&stale, 1, 5, 0.3, 1e6);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(3), "sent before the change");
    let mut torn = stationary(&[("confirm", 1.0)]);
    suggest(&mut torn, 7, false, 0.3);
    torn.exchange(2, 8, 0.3, 9e5);
    assert_eq!(torn.sender.bottleneck(), Bottleneck::Hop(1), "one report each");
    let mut eager = stationary(&[]);
    suggest(&mut eager, 7, false, 0.3);
    assert_eq!(eager.sender.bottleneck(), Bottleneck::Hop(3));
}

#[test]
fn a_tie_is_followed_near_stationarity_only() {
    let switched = |share: f32, own_zero: bool| {
        let mut desk = stationary(&[]);
        desk.exchange(1, 4, 0.5, share);
        desk.exchange(1, 5, 0.5, share);
        suggest(&mut desk, 8, own_zero, 0.0);
        suggest(&mut desk, 9, own_zero, 0.0);
        desk.sender.bottleneck() == Bottleneck::Hop(3)
    };
    assert!(switched(1.04e6, true));
    assert!(!switched(1.5e6, true));
    assert!(switched(1.5e6, false), "the price of hop 1 is below zero: not equal");
}

#[test]
fn another_link_takes_over_only_with_a_smaller_share() {
    let switched = |share: f32, own_zero: bool| {
        let mut desk = stationary(&[]);
        for epoch in [8, 9] {
            let mut sent = desk.send();
            if own_zero {
                sent.mark_own_zero();
            }
            desk.ack(&sent, 3, epoch, 0.2, share);
        }
        desk.sender.bottleneck() == Bottleneck::Hop(3)
    };
    assert!(switched(0.9e6, true));
    assert!(!switched(1.1e6, true));
    assert!(switched(0.9e6, false));
    assert!(!switched(1.1e6, false));
}

#[test]
fn a_bottleneck_changes_after_eight_reports_of_another_router() {
    let mut desk = stationary(&[]);
    desk.exchange(1, 4, 0.5, 1.5e6);
    desk.exchange(1, 5, 0.5, 1.5e6);
    for epoch in 6..13 {
        suggest(&mut desk, epoch, true, 0.0);
        assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(1));
    }
    suggest(&mut desk, 13, true, 0.0);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(3));
}

/// Verifies the response to a link that has a price just above zero and is no flow's bottleneck. Flows follow this
/// link. Otherwise the link would refuse their proposals for ever.
#[test]
fn a_link_without_a_share_that_alone_rejects_limits_the_flow() {
    let params = params(&[]);
    let loaded = |bottleneck, load: f64| {
        let mut router = router(&params, 1e7);
        let size = 1e7 / 8.0 * 0.1 * load;
        router.on_arrival(
            &params.routers,
            &Arriving::alone(Bytes::ZERO),
            Some(&mut header(bottleneck, size as f32, 0.1)),
        );
        router.on_interval(&params.routers, DELTA, &EMPTY);
        router
    };
    let named = |loads: [(u8, f64); 2]| {
        let mut packet = header(0, 1000.0, 0.01);
        for (bottleneck, load) in loads {
            let packets = &Arriving::alone(Bytes::new(1000));
            loaded(bottleneck, load).on_arrival(&params.routers, packets, Some(&mut packet));
        }
        packet.suggested
    };
    let (own, other) = (1, 9);
    assert_eq!(named([(own, 0.98), (other, 1.01)]), 2);
    assert_eq!(named([(other, 1.01), (own, 0.98)]), 1);
    assert_eq!(named([(own, 0.98), (other, 0.99)]), 1, "no refusal");
    assert_eq!(named([(other, 0.99), (own, 0.98)]), 2, "no refusal");
    assert_eq!(named([(own, 1.01), (other, 1.02)]), 1, "the bottleneck refuses, too");
    assert_eq!(named([(other, 1.02), (own, 1.01)]), 2, "the bottleneck refuses, too");
}

/// Verifies that, with `hysteresis`, the bottleneck reports although another link has a larger price. The other link
/// reports if it is overloaded or has the smaller share. The bottleneck has price -0.25 and share 8 Mb/s.
#[test]
fn hysteresis_requires_a_smaller_share_of_a_fuller_link() {
    let named = |switch: f64, price: f32, share: f32, first: bool| {
        let params = params(&[("hysteresis", switch)]);
        let mut packet = header(if first { 2 } else { 1 }, 1000.0, 0.01);
        let (mut other, mut own) = (router(&params, 1e7), router(&params, 1e7));
        (other.price, other.share) = (price, share);
        (own.price, own.share) = (-0.25, 8e6);
        for one in if first {
            [&mut other, &mut own]
        } else {
            [&mut own, &mut other]
        } {
            one.on_arrival(&params.routers, &Arriving::alone(Bytes::new(1000)), Some(&mut packet));
        }
        assert!(packet.price >= price, "approval covers the whole path");
        packet.suggested == packet.bottleneck
    };
    for first in [true, false] {
        assert!(!named(0.0, -0.02, 9e6, first), "as printed, the fuller link reports");
        assert!(named(1.0, -0.02, 9e6, first), "fuller, but with the larger share");
        assert!(!named(1.0, -0.02, 7e6, first), "fuller and with the smaller share");
        assert!(!named(1.0, 0.1, 9e6, first), "overloaded");
        assert!(
            !named(1.0, 0.01, f32::MAX, first),
            "without a share, and it alone refuses"
        );
        assert!(named(1.0, -0.3, 7e6, first), "emptier");
    }
}

#[test]
fn a_link_without_a_share_takes_eight_reports() {
    let mut desk = stationary(&[]);
    for epoch in 4..11 {
        let mut sent = desk.send();
        sent.mark_own_zero();
        desk.ack(&sent, 3, epoch, 0.01, f32::MAX);
        assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(1));
    }
    let mut sent = desk.send();
    sent.mark_own_zero();
    desk.ack(&sent, 3, 11, 0.01, f32::MAX);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(3));
}

#[test]
fn a_proposal_outlives_a_change_of_bottleneck() {
    let mut desk = stationary(&[]);
    desk.exchange(1, 4, -0.5, 2e6);
    desk.exchange(1, 5, -0.5, 2e6);
    let proposed = step(0.6, 1e6, 2e6);
    assert_eq!(desk.rates(), (1e6, proposed));
    suggest(&mut desk, 8, false, 0.3);
    suggest(&mut desk, 9, false, 0.3);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(3));
    assert_eq!(desk.rates(), (1e6, proposed));
    desk.exchange(3, 10, 0.0, 2e6);
    desk.exchange(3, 11, 0.0, 2e6);
    assert_eq!(desk.rates().0, proposed, "the new bottleneck approves it");
}

#[test]
fn without_acks_the_rate_halves_every_rtt_and_the_path_is_forgotten() {
    let mut desk = stationary(&[("min_rate", 1e3)]);
    desk.params.sender.initial_rate = 3e5;
    desk.now += Duration::from_ms(999);
    desk.send();
    assert_eq!(desk.rates().0, 1e6);
    desk.now += Duration::from_ms(1);
    for expected in [5e5, 3e5, 3e5] {
        assert_eq!(desk.send().bottleneck, 0);
        assert_eq!(desk.rates(), (expected, expected));
        desk.send();
        assert_eq!(desk.rates().0, expected, "once per RTT");
        desk.now += Duration::from_ms(50);
    }
    desk.exchange(2, 0, 0.0, 1e6);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(2));
}

#[test]
fn packets_shrink_with_the_rate() {
    let size = |changes: &[(&str, f64)]| Desk::new(changes).sender.packet_size(&params(changes));
    assert_eq!(size(&[]), Bytes::new(50));
    assert_eq!(size(&[("initial_rate", 1e3)]), Bytes::new(48));
    assert_eq!(size(&[("initial_rate", 1e6)]), Bytes::new(1000));
    assert_eq!(size(&[("packets_per_interval", 0.0)]), Bytes::new(1000));
}

#[test]
fn fifty_constant_flows_are_counted_to_one_and_a_half() {
    let params = params(&[]);
    for round in 0..20_u32 {
        let mut router = router(&params, 1e9);
        for flow in 0..50_u32 {
            // Periods from 9 to 11 ms; phases and packet sizes differ between flows.
            let period = 9.0 + 2.0 * f64::from((flow * 17 + round) % 50) / 50.0;
            let mut at = period * f64::from((flow * 29 + round * 7) % 50) / 50.0;
            while at < 100.0 {
                let size = 100 + 13 * u64::from(flow);
                router.on_arrival(
                    &params.routers,
                    &Arriving::alone(Bytes::new(size)),
                    Some(&mut header(1, size as f32, (period / 1e3) as f32)),
                );
                at += period;
            }
        }
        router.on_interval(&params.routers, DELTA, &EMPTY);
        let flows = 1e9 / f64::from(router.share);
        assert!((flows - 50.0).abs() <= 1.5, "{flows}");
    }
}

#[test]
fn a_clamped_count_is_at_least_one() {
    for (clamp, share) in [(0.0, 1e8), (1.0, 1e7)] {
        let params = params(&[("clamp_n", clamp)]);
        let mut router = router(&params, 1e7);
        router.on_arrival(
            &params.routers,
            &Arriving::alone(Bytes::new(100)),
            Some(&mut header(1, 100.0, 0.01)),
        );
        router.on_interval(&params.routers, DELTA, &EMPTY);
        assert!((router.share / share - 1.0).abs() < 1e-6, "{}", router.share);
        router.on_interval(&params.routers, DELTA, &EMPTY);
        assert_eq!(router.share, f32::MAX, "no responsive flow");
    }
}

/// Verifies the additions per packet that the paper counts. For a packet of a responsive flow, there are additions to
/// hop, proposed bytes and gap. For any other packet, there are additions to hop and proposed bytes. The state of a
/// router consists of these sums and its last report.
#[test]
fn a_packet_touches_three_sums_or_two() {
    let params = params(&[]);
    let sums = |header: Option<&mut Header>| {
        let mut router = router(&params, 1e7);
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(40)), header);
        (router.responsive, router.unresponsive, router.gaps)
    };
    let (mut own, mut other, mut ack) = (
        header(1, 9.0, 0.5),
        header(2, 9.0, 0.5),
        header(1, 9.0, 0.5).reflected(),
    );
    assert_eq!(sums(Some(&mut own)), (9 << 8, 0, 1 << 43));
    assert_eq!(sums(Some(&mut other)), (0, 9 << 8, 0));
    assert_eq!(sums(None), (0, 40 << 8, 0));
    assert_eq!((own.hop, other.hop), (1, 1));
    let before = ack;
    assert_eq!(sums(Some(&mut ack)), (0, 40 << 8, 0));
    assert_eq!(ack, before, "ACKs are not changed");
    assert!(size_of::<Router>() <= 48);
}

#[test]
fn hops_beyond_the_255th_only_count() {
    let params = params(&[]);
    let mut router = router(&params, 1e7);
    let mut far = Header {
        hop: 255,
        ..header(0, 9.0, 0.5)
    };
    let before = far;
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(40)), Some(&mut far));
    assert_eq!((far, router.unresponsive), (before, 9 << 8));
}

proptest! {
    #[test]
    fn arriving_bytes_are_responsive_or_not(packets in proptest::collection::vec((0_u8..4, 0_u16.., any::<bool>()), 0..99)) {
        let params = params(&[]);
        let mut router = router(&params, 1e7);
        let mut bytes = 0;
        for (bottleneck, size, own) in packets {
            let mut header = header(bottleneck, size.into(), 0.01);
            router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(size.into())), own.then_some(&mut header));
            bytes += u64::from(size);
        }
        prop_assert_eq!(router.responsive + router.unresponsive, bytes << 8);
    }

    /// Expects a report of the router with the largest price. Among routers with price zero, the router with the
    /// smallest share reports. Among equal shares, the first router reports.
    #[test]
    fn the_path_names_its_tightest_router(
        loads in proptest::collection::vec((prop_oneof![0.0..2.0, 0.985..1.015], 1_u8..6), 1..9),
    ) {
        let params = params(&[]);
        let mut packet = header(0, 1000.0, 0.01);
        let mut path = Vec::new();
        for (load, flows) in loads {
            let mut router = router(&params, 1e7);
            for _ in 0..flows {
                let size = 1e7 / 8.0 * load * 0.1 / f64::from(flows);
                router.on_arrival(&params.routers, &Arriving::alone(Bytes::ZERO), Some(&mut header(1, size as f32, 0.1)));
            }
            router.on_interval(&params.routers, DELTA, &EMPTY);
            router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(1000)), Some(&mut packet));
            path.push((router.price, router.share));
        }
        let largest = path.iter().map(|report| report.0).fold(-f32::MAX, f32::max);
        let zero = |price: f32| f64::from(price).abs() <= params.eps_p;
        let tight = |report: &&(f32, f32)| if zero(largest) { zero(report.0) } else { report.0 == largest };
        let least = path.iter().filter(tight).map(|report| report.1).fold(f32::MAX, f32::min);
        let expected = if zero(largest) {
            path.iter().position(|report| zero(report.0) && report.1 == least)
        } else {
            path.iter().position(|report| report.0 == largest)
        };
        prop_assert_eq!(usize::from(packet.suggested), expected.unwrap() + 1);
        prop_assert_eq!(usize::from(packet.hop), path.len());
        prop_assert_eq!(packet.price, largest, "one approval covers the path");
        prop_assert_eq!(packet.share, path[expected.unwrap()].1);
    }
}

#[test]
fn the_wire_layout_is_that_of_figure_35() {
    let full = Header {
        source_port: 0x0102,
        destination_port: 0x0304,
        flags: 0b1100_1001,
        bottleneck: 5,
        hop: 6,
        suggested: 7,
        seq: 0x0809_0a0b,
        price: -2.0,
        share: 1.0,
        virtual_size: 0.5,
        gap: 0.25,
    };
    assert!(full.is_ack() && full.own_zero() && full.epoch() == 9);
    let bytes = [
        1,
        2,
        3,
        4,
        0b1100_1001,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        0xc0,
        0,
        0,
        0,
        0x3f,
        0x80,
        0,
        0,
        0x3f,
        0,
        0,
        0,
        0x3e,
        0x80,
        0,
        0,
    ];
    let mut wire = [0; 28];
    crate::Header::encode(&full, &mut wire);
    assert_eq!(wire, bytes);
    assert_eq!(<Header as crate::Header>::decode(&wire), Ok(full));
    for (at, bad) in [
        (12, 0x7fc0_0000_u32),
        (16, 0x7fc0_0000),
        (20, 0xbf80_0000),
        (24, 0x7f80_0000),
    ] {
        let mut wire = bytes;
        wire[at..at + 4].copy_from_slice(&bad.to_be_bytes());
        assert!(<Header as crate::Header>::decode(&wire).is_err(), "byte {at}");
    }
}

#[test]
fn an_initial_rate_below_the_smallest_is_refused() {
    let refused = try_both::<JetMax>(&[("initial_rate", 999.0)]);
    assert_eq!(refused.map_err(|e| e.name).err(), Some("initial_rate"));
}
