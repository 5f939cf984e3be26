use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use super::{Header, Router, Sender, Slots};
use crate::testing::{Both, both, close, ms, port};
use crate::{Arriving, Feedback, FlowInfo, Header as _, Kind, Outgoing, PortView, RouterLaw, SenderLaw};

const C: f64 = 10e6;
const DATA: Bytes = Bytes::new(1000);
const RTT: Duration = Duration::from_ms(50);

fn router(params: &Both<Slots>) -> Router {
    Router::new(&params.routers, &port(1, C))
}

fn request(bits: f32) -> Header {
    Header {
        rtt: 0.0,
        request: bits,
        grant: bits,
        wait: 0.0,
        rate: f32::MAX,
    }
}

/// Passes a request to a router. Returns the header after the router.
fn pass_request(router: &mut Router, params: &Both<Slots>, now: Time, bits: f32) -> Header {
    let mut header = request(bits);
    let packet = Arriving {
        now,
        ..Arriving::alone(Bytes::new(40))
    };
    router.on_arrival(&params.routers, &packet, Some(&mut header));
    header
}

/// Passes one control interval of other traffic to the router. `load` is its rate divided by the capacity.
fn load(router: &mut Router, params: &Both<Slots>, load: f64) {
    let interval = router.interval(&params.routers);
    let bytes = Rate::clamped(load * C).bytes_in(interval) as u64;
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(bytes)), None);
    router.on_interval(&params.routers, interval, &PortView::IDLE);
}

#[test]
fn eq_2_to_4_for_several_requests() {
    let params = both(&[]);
    let mut router = router(&params);
    let rate = 0.98 * C;
    // The whole horizon is free: half of 100 ms of data may be granted.
    let first = pass_request(&mut router, &params, Time::ZERO, 1e9);
    close(first.grant.into(), 0.05 * rate, 1e-6);
    assert_eq!(first.wait, 0.0);
    close(first.rate.into(), rate, 1e-6);
    // 40 ms later, the first slot lasts another 10 ms. Half of the free 90 ms may be granted.
    let second = pass_request(&mut router, &params, ms(40), 1e9);
    close(second.wait.into(), 0.01, 1e-6);
    close(second.grant.into(), 0.045 * rate, 1e-6);
    let third = pass_request(&mut router, &params, ms(40), 1e9);
    close(third.wait.into(), 0.055, 1e-6);
    close(third.grant.into(), 0.0225 * rate, 1e-6);
    // Half of the free 22.5 ms is less than the smallest limit, a fifth of the horizon.
    let fourth = pass_request(&mut router, &params, ms(40), 1e9);
    close(fourth.wait.into(), 0.0775, 1e-6);
    close(fourth.grant.into(), 0.02 * rate, 1e-6);
    assert_eq!(pass_request(&mut router, &params, ms(40), 8000.0).grant, 8000.0);
}

#[test]
fn a_path_gets_its_longest_wait_smallest_grant_and_lowest_rate() {
    let params = both(&[]);
    let mut routers = [router(&params), Router::new(&params.routers, &port(2, C / 2.0))];
    pass_request(&mut routers[0], &params, Time::ZERO, 98e3);
    let mut header = request(1e9);
    for router in &mut routers {
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
    }
    close(header.wait.into(), 0.01, 1e-6);
    close(header.grant.into(), 0.05 * 0.98 * C / 2.0, 1e-6);
    close(header.rate.into(), 0.98 * C / 2.0, 1e-6);
}

#[test]
fn eq_1_leaves_the_capacity_that_other_traffic_uses() {
    let params = both(&[]);
    let mut router = router(&params);
    let mut after = |other: f64| {
        load(&mut router, &params, other);
        router.signal() / C
    };
    close(after(0.3), 0.98 * 0.7, 1e-9);
    close(after(2.0), 0.6, 1e-9);
    close(after(0.0), 0.98, 1e-9);
}

#[test]
fn reserved_data_is_sent_at_the_present_rate() {
    let params = both(&[("floor", 0.1)]);
    let mut router = router(&params);
    pass_request(&mut router, &params, Time::ZERO, 49e3 * 8.0);
    // Half of the capacity is left, so that the remaining data takes twice as long.
    load(&mut router, &params, 0.5);
    close(
        pass_request(&mut router, &params, Time::ZERO, 8.0).wait.into(),
        0.08,
        1e-4,
    );
    close(pass_request(&mut router, &params, ms(60), 8.0).wait.into(), 0.02, 1e-3);
}

#[test]
fn the_horizon_is_the_mean_round_trip_time() {
    let params = both(&[]);
    let mut router = router(&params);
    for rtt in [0.02, 0.06] {
        let mut header = Header { rtt, ..request(0.0) };
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
        assert_eq!(header, Header { rtt, ..request(0.0) }, "no request, no slot");
    }
    router.on_interval(&params.routers, Duration::from_ms(100), &PortView::IDLE);
    let granted = pass_request(&mut router, &params, Time::ZERO, 1e9).grant;
    close(granted.into(), 0.5 * 0.04 * 0.98 * C, 1e-4);
}

proptest! {
    /// Slots do not overlap and have the rate of the router, whatever the requests and the other traffic.
    #[test]
    fn slots_do_not_overlap(
        requests in prop::collection::vec((0_u64..200, 1.0_f32..1e7, prop::option::of(0.0..2.0)), 1..60)
    ) {
        let params = both(&[]);
        let mut router = router(&params);
        let (mut now, mut end) = (0, 0.0_f64);
        for (gap, bits, other) in requests {
            now += gap;
            if let Some(other) = other {
                load(&mut router, &params, other);
            }
            let header = pass_request(&mut router, &params, ms(now), bits);
            let start = now as f64 / 1e3 + f64::from(header.wait);
            prop_assert!(start >= end - 1e-6 * (1.0 + end), "starts at {start}, the slot before ends at {end}");
            prop_assert!(header.grant > 0.0 && header.grant <= bits);
            prop_assert!((f64::from(header.rate) / router.signal() - 1.0).abs() < 1e-6);
            end = start + f64::from(header.grant) / f64::from(header.rate);
        }
    }
}

fn sender(size: Option<u64>) -> Sender {
    let flow = FlowInfo {
        size: size.map(Bytes::new),
        ..FlowInfo::of(DATA)
    };
    Sender::new(&(), &flow)
}

fn send(sender: &mut Sender, now: Time, number: u32, kind: Kind) -> Header {
    let size = if kind == Kind::Data { DATA } else { Bytes::new(40) };
    sender.on_send(&(), now, &Outgoing { number, size, kind })
}

fn reply(sender: &mut Sender, now: Time, number: u32, kind: Kind, header: Header) {
    sender.on_feedback(&(), now, &Feedback::plain(number, kind, RTT, header));
}

fn granted(header: Header, grant: f32, wait: f32) -> Header {
    Header {
        grant,
        wait,
        rate: 8e6,
        ..header
    }
}

#[test]
fn a_transfer_is_sent_in_its_slots() {
    let mut sender = sender(Some(5000));
    let syn = send(&mut sender, ms(0), 0, Kind::Syn);
    assert_eq!((syn.request, syn.grant, syn.rtt), (40e3, 40e3, 0.0));
    reply(&mut sender, ms(50), 0, Kind::Syn, granted(syn, 16e3, 0.03));
    assert_eq!(
        sender.opens_at(),
        ms(50) + Duration::from_secs_f64(0.03_f32.into()).unwrap()
    );
    // The first packet of a slot requests the remaining 24 kbit, and other packets request nothing.
    let first = send(&mut sender, ms(80), 1, Kind::Data);
    assert_eq!((first.request, first.rtt), (24e3, 0.05));
    close(sender.rate().bps(), 8e6, 1e-6);
    assert_eq!(send(&mut sender, ms(81), 2, Kind::Data).request, 0.0);
    // Both packets of the slot are sent. The next slot starts 50 ms after the ACK of its request.
    reply(&mut sender, ms(130), 1, Kind::Data, granted(first, 24e3, 0.05));
    let gap = 8000.0 / sender.pace().bps();
    close(gap, 0.18 - 0.081, 1e-5);
    assert_eq!(
        send(&mut sender, ms(180), 3, Kind::Data).request,
        0.0,
        "all data is granted"
    );
    close(sender.pace().bps(), 8e6, 1e-6);
}

#[test]
fn a_slot_granted_early_follows_the_current_slot() {
    let mut sender = sender(None);
    let syn = send(&mut sender, ms(0), 0, Kind::Syn);
    assert_eq!(syn.request, f32::MAX, "the size is unknown");
    reply(&mut sender, ms(50), 0, Kind::Syn, granted(syn, 24e3, 0.0));
    let first = send(&mut sender, ms(50), 1, Kind::Data);
    reply(&mut sender, ms(51), 1, Kind::Data, granted(first, 16e3, 0.0));
    assert_eq!(
        send(&mut sender, ms(51), 2, Kind::Data).request,
        0.0,
        "the next slot is granted"
    );
    assert_eq!(send(&mut sender, ms(52), 3, Kind::Data).request, 0.0);
    close(sender.pace().bps(), 8e6, 1e-6);
    assert_eq!(
        send(&mut sender, ms(53), 4, Kind::Data).request,
        f32::MAX,
        "first packet of the next slot"
    );
}

#[test]
fn a_lost_request_is_repeated() {
    let mut sender = sender(Some(100_000));
    let syn = send(&mut sender, ms(0), 0, Kind::Syn);
    reply(&mut sender, ms(50), 0, Kind::Syn, granted(syn, 24e3, 0.0));
    let lost = send(&mut sender, ms(50), 1, Kind::Data);
    assert_eq!(lost.request, 776e3);
    let next = send(&mut sender, ms(51), 2, Kind::Data);
    reply(&mut sender, ms(101), 2, Kind::Data, next);
    assert_eq!(send(&mut sender, ms(101), 3, Kind::Data).request, 776e3);
    // Without a slot, the sender repeats its request after two round-trip times.
    close(8000.0 / sender.pace().bps(), 0.1, 1e-9);
}

#[test]
fn a_repeated_opening_packet_repeats_the_request() {
    let mut sender = sender(Some(5000));
    send(&mut sender, ms(0), 0, Kind::Syn);
    let again = send(&mut sender, ms(1000), 1, Kind::Syn);
    assert_eq!(again.request, 40e3);
    reply(&mut sender, ms(1050), 1, Kind::Syn, granted(again, 40e3, 0.0));
    close(sender.rate().bps(), 8e6, 1e-6);
}

#[test]
fn retransmissions_request_a_slot() {
    let mut sender = sender(Some(1000));
    let syn = send(&mut sender, ms(0), 0, Kind::Syn);
    reply(&mut sender, ms(50), 0, Kind::Syn, granted(syn, 8000.0, 0.0));
    assert_eq!(
        send(&mut sender, ms(50), 1, Kind::Data).request,
        0.0,
        "all data is granted"
    );
    assert_eq!(send(&mut sender, ms(150), 2, Kind::Data).request, 8000.0);
    assert_eq!(send(&mut sender, ms(160), 3, Kind::Fin).request, 0.0);
}

#[test]
fn replies_without_a_grant_change_nothing() {
    let mut sender = sender(Some(1000));
    let syn = send(&mut sender, ms(0), 0, Kind::Syn);
    reply(&mut sender, ms(50), 0, Kind::Syn, syn);
    assert_eq!(sender.opens_at(), Time::ZERO);
    close(40.0 * 8.0 / sender.rate().bps(), 1.0, 1e-9);
}

#[test]
fn the_header_has_20_bytes() {
    let header = Header {
        rtt: 0.5,
        request: 2.0,
        grant: 1.0,
        wait: 0.25,
        rate: 4.0,
    };
    let mut bytes = [0; 20];
    header.encode(&mut bytes);
    let floats = [0.5_f32, 2.0, 1.0, 0.25, 4.0].map(f32::to_be_bytes).concat();
    assert_eq!(&bytes[..], &floats[..]);
    assert_eq!(Header::decode(&bytes).unwrap(), header);
    assert_eq!(header.seen_by_router(), Some(true));
    assert_eq!(request(8.0).seen_by_router(), Some(false));
    assert_eq!(request(0.0).seen_by_router(), None);
}
