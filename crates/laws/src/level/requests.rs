//! Tests of requests: sender, router and receiver.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration};

use super::tests::{DATA, params, pass, unsent};
use super::{Header, Level, Receiver, Router, Sender};
use crate::law::{Arriving, Feedback, FlowInfo, Kind, Outgoing, PortView, RouterLaw, SenderLaw};
use crate::testing::{Both, at, close, port};

/// Sender that receives its ACKs from the test.
struct Desk {
    params: Both<Level>,
    sender: Sender,
    number: u32,
}

impl Desk {
    fn new() -> Self {
        let params = params();
        let sender = Sender::new(&params, &FlowInfo::of(DATA));
        Self {
            params,
            sender,
            number: 0,
        }
    }

    /// Sends a packet at `seconds`, and processes the ACK 10 ms later. The only router of the path has this level and
    /// this spare capacity. Returns the requested increase, and then rate and proposal.
    fn request(&mut self, seconds: f64, level: f32, spare: f32) -> (Option<f32>, f64, f64) {
        let packet = Outgoing {
            number: self.number,
            size: DATA,
            kind: Kind::Data,
        };
        let mut header = self.sender.on_send(&self.params, at(seconds), &packet);
        let requested = header.is_request().then_some(header.spare);
        header.report(1, level);
        header.spare = header.spare.min(spare);
        let rtt = Duration::from_ms(10);
        let feedback = Feedback::plain(self.number, Kind::Data, rtt, header.reflected(&mut Receiver::default()));
        self.sender.on_feedback(&self.params, at(seconds) + rtt, &feedback);
        self.number += 1;
        (requested, self.sender.rate().bps(), self.sender.proposal().bps())
    }
}

#[test]
fn a_sender_requests_spare_capacity_and_rises_by_the_granted_part() {
    let mut desk = Desk::new();
    assert_eq!(
        desk.request(0.0, 2e6, 1e6),
        (Some(40e3), 40e3, 40e3),
        "announces itself"
    );
    assert_eq!(desk.request(0.05, 2e6, 1e6), (None, 40e3, 1.04e6));
    assert_eq!(desk.request(0.1, 2e6, 1e6), (Some(1e6), 1.04e6, 1.04e6));
    assert_eq!(desk.request(0.15, 2e6, 5e6), (None, 1.04e6, 2e6));
    assert_eq!(desk.request(0.2, 2e6, 0.5e6), (Some(0.96e6), 1.54e6, 1.54e6), "a part");
    assert_eq!(
        desk.request(0.25, 2e6, 0.0),
        (None, 1.54e6, 1.54e6),
        "nothing to request"
    );
    assert_eq!(desk.request(0.3, 1e6, 0.0), (None, 1e6, 1e6), "falls at once");
}

#[test]
fn a_smaller_level_limits_an_earlier_grant() {
    let mut desk = Desk::new();
    desk.request(0.0, 5e6, 9e6);
    desk.request(0.05, 5e6, 9e6);
    assert_eq!(desk.request(0.1, 1e6, 9e6), (Some(4.96e6), 1e6, 1e6));
}

/// Verifies that a sender restarts at its initial rate after a pause of more than an interval, and requests its old
/// rate in the first packet.
#[test]
fn a_sender_requests_its_rate_again_after_a_pause() {
    let mut desk = Desk::new();
    for seconds in [0.0, 0.05, 0.1, 0.2] {
        desk.request(seconds, 2e6, 9e6);
    }
    assert_eq!(desk.sender.rate().bps(), 2e6);
    assert_eq!(desk.request(0.5, 2e6, 1e6), (Some(1.96e6), 1.04e6, 1.04e6));
}

/// Sends packets of a flow with this proposal in bit/s through `router` for three intervals.
fn propose(router: &mut Router, params: &Both<Level>, proposal: f32) {
    pass(router, params, &[(0.0, 0.01, Header { proposal, ..unsent() })], 3);
}

/// Sends a request through a router. Returns the granted increase.
fn grant(router: &mut Router, params: &Both<Level>, increase: f32) -> f64 {
    let mut header = Header { limit: 1, ..unsent() };
    header.request(1, increase);
    router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
    header.spare.into()
}

/// Verifies that proposals and grants add up to at most the middle between target and capacity. A grant counts for
/// three intervals. Then, the proposals of the flow contain it.
#[test]
fn a_router_grants_what_proposals_and_grants_leave() {
    let params = params();
    let mut router = Router::new(&params.routers, &port(1, 10e6));
    propose(&mut router, &params, 3e6);
    close(grant(&mut router, &params, 4e6), 4e6, 1e-6);
    close(grant(&mut router, &params, 4e6), 2.75e6, 1e-3);
    assert_eq!(grant(&mut router, &params, 4e6), 0.0);
    let mut spare = std::vec![];
    for _ in 0..4 {
        router.on_interval(&params.routers, params.interval, &PortView::IDLE);
        let mut header = unsent();
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
        spare.push(f64::from(header.spare));
    }
    assert!(spare[0] < 1e3, "{spare:?}");
    close(spare[1], 3e6, 1e-3);
    close(spare[2], 9.75e6, 1e-3);
}

/// Verifies that the initial rates of new flows reduce later grants, even if nothing is left.
#[test]
fn new_flows_take_their_initial_rates_from_later_grants() {
    let params = params();
    let mut router = Router::new(&params.routers, &port(1, 10e6));
    for (increase, left) in [(3e6, 6.75e6), (8e6, 0.0)] {
        let mut first = unsent();
        first.request(1, increase);
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut first));
        close(1.0 + grant(&mut router, &params, 0.0), 1.0, 1e-9);
        let mut next = unsent();
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut next));
        close(1.0 + f64::from(next.spare), 1.0 + left, 1e-6);
    }
}

/// Verifies that the estimate of other traffic follows a peak at once, and decreases by 1/32 of the difference per
/// interval.
#[test]
fn a_peak_of_other_traffic_is_forgotten_slowly() {
    let params = params();
    let mut router = Router::new(&params.routers, &port(1, 10e6));
    let mut levels = Vec::new();
    for n in 0..12 {
        if n == 1 {
            let packet = Arriving {
                now: at(0.1),
                ..Arriving::alone(Bytes::new(50_000))
            };
            router.on_arrival(&params.routers, &packet, None);
        }
        router.on_interval(&params.routers, params.interval, &PortView::IDLE);
        levels.push(router.target().bps() - router.signal());
    }
    let peak = levels[2];
    close(peak, 4e6, 1e-6);
    let bound = |n: i32| 4e6 * (31.0_f64 / 32.0).powi(n);
    assert!(bound(9) < levels[11] && levels[11] < bound(4), "{levels:?}");
}

/// Sends a request of 1 Mb/s, of which the path grants a half. If it is not lost, its ACK is lost. Returns the rate
/// after the ACK of the next packet.
fn rate_after_a_loss(request_lost: bool) -> f64 {
    let mut desk = Desk::new();
    let mut receiver = Receiver::default();
    desk.request(0.0, 2e6, 1e6);
    desk.request(0.05, 2e6, 1e6);
    for (number, seconds) in [(2, 0.1), (3, 0.15)] {
        let packet = Outgoing {
            number,
            size: DATA,
            kind: Kind::Data,
        };
        let mut header = desk.sender.on_send(&desk.params, at(seconds), &packet);
        assert_eq!(header.is_request(), number == 2);
        header.report(1, 2e6);
        header.spare = header.spare.min(0.5e6);
        let ack = (number == 3 || !request_lost).then(|| header.reflected(&mut receiver));
        if let Some(header) = ack.filter(|_| number == 3) {
            let rtt = Duration::from_ms(10);
            let feedback = Feedback::plain(number, Kind::Data, rtt, header);
            desk.sender.on_feedback(&desk.params, at(seconds) + rtt, &feedback);
        }
    }
    desk.sender.rate().bps()
}

#[test]
fn the_receiver_repeats_a_decision_and_the_loss_of_a_request_ends_it() {
    close(rate_after_a_loss(false), 0.54e6, 1e-6);
    close(rate_after_a_loss(true), 40e3, 1e-6);
}

/// Verifies that a new flow counts with its initial rate until its first ACK arrives. Other flows keep the rest.
#[test]
fn a_new_flow_leaves_its_share_to_others_until_its_first_ack() {
    let mut desk = Desk::new();
    let packet = Outgoing {
        number: 0,
        size: DATA,
        kind: Kind::Data,
    };
    let first = Header {
        flags: 0,
        ..desk.sender.on_send(&desk.params, at(0.0), &packet)
    };
    let params = params();
    let mut router = Router::new(&params.routers, &port(1, 10e6));
    let flows = [(0.0, 0.01, first), (0.001, 0.01, unsent()), (0.002, 0.01, unsent())];
    pass(&mut router, &params, &flows, 6);
    close(router.signal(), (9.5e6 - 40e3) / 2.0, 1e-5);
    desk.request(0.05, 2e6, 1e6);
    let second = desk.sender.on_send(&desk.params, at(0.1), &packet);
    assert_eq!((second.limit, second.lowest, second.second), (1, 2e6, f32::MAX));
}
