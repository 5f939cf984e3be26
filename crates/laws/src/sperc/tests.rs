mod networks;

use std::vec::Vec;

use levelflow_units::{Bytes, Duration};

use super::*;
use crate::Header as _;
use crate::law::{Arriving, Bottleneck, Feedback, FlowInfo, Kind, Outgoing, PortView, RouterLaw, SenderLaw};
use crate::testing::{Both, Network, at, both, close, ms, port};

const DATA: Bytes = Bytes::new(1000);

/// Returns default parameters, with routers that allocate the whole capacity.
fn params() -> Both<Sperc> {
    both(&[("gamma", 1.0)])
}

fn update(elsewhere: f32) -> Header {
    Header {
        target: 1,
        elsewhere,
        ..Header::PLAIN
    }
}

/// Updates the first hop. Returns its label, its limit and its ignore bit. `header` becomes the next update.
fn forward(router: &mut Router, header: &mut Header) -> (Label, f64, bool) {
    header.hop = 0;
    router.on_arrival(&params().routers, &Arriving::alone(DATA), Some(header));
    header.allocation = match header.label() {
        Label::Satisfied => header.elsewhere,
        _ => header.limit,
    };
    (header.label(), header.limit.into(), header.is_ignored())
}

fn tick(router: &mut Router, times: u32) {
    for _ in 0..times {
        let timeout = router.timeout;
        router.on_interval(&params().routers, timeout, &PortView::IDLE);
    }
}

fn sums(router: &Router) -> (u32, u32, f64) {
    (router.sums.flows, router.sums.satisfied, router.sums.allocated())
}

#[test]
fn a_router_allocates_the_capacity_left_by_satisfied_flows() {
    let mut router = Router::new(&params().routers, &port(1, 12e6));
    let [mut a, mut b, mut c] = [update(f32::MAX), update(2e6), update(f32::MAX)];
    assert_eq!(forward(&mut router, &mut a), (Label::Unsatisfied, 12e6, false));
    assert_eq!(forward(&mut router, &mut b), (Label::Satisfied, 6e6, false), "12/2 > 2");
    assert_eq!(
        forward(&mut router, &mut c),
        (Label::Unsatisfied, 5e6, false),
        "(12 - 2)/(3 - 1)"
    );
    assert_eq!(
        forward(&mut router, &mut a),
        (Label::Unsatisfied, 5e6, false),
        "a repeated update is counted once"
    );
    b.elsewhere = 3e6;
    assert_eq!(forward(&mut router, &mut b), (Label::Satisfied, 4e6, false), "12/3 > 3");
    assert_eq!(sums(&router), (3, 1, 3e6));
    b.elsewhere = 4e6;
    assert_eq!(
        forward(&mut router, &mut b),
        (Label::Unsatisfied, 4e6, false),
        "at most 4"
    );
    assert_eq!(sums(&router), (3, 0, 0.0));
}

#[test]
fn a_limit_below_what_a_satisfied_flow_had_lately_is_ignored() {
    let mut router = Router::new(&params().routers, &port(1, 12e6));
    let [mut a, mut b] = [update(5e6), update(f32::MAX)];
    assert_eq!(forward(&mut router, &mut a), (Label::Satisfied, 12e6, false));
    assert_eq!(forward(&mut router, &mut b), (Label::Unsatisfied, 7e6, false));
    let mut c = update(f32::MAX);
    assert_eq!(
        forward(&mut router, &mut c),
        (Label::Unsatisfied, 3.5e6, true),
        "3.5 < MaxSat"
    );
    a.elsewhere = 1e6;
    tick(&mut router, 1);
    assert_eq!(
        forward(&mut router, &mut a),
        (Label::Satisfied, 4e6, true),
        "MaxSat is still 5"
    );
    tick(&mut router, 1);
    assert_eq!(forward(&mut router, &mut b), (Label::Unsatisfied, 5.5e6, false));
}

#[test]
fn the_timeout_is_one_to_two_of_the_longest_rounds() {
    let mut router = Router::new(&params().routers, &port(1, 12e6));
    let mut header = update(f32::MAX);
    header.period = 0.35;
    forward(&mut router, &mut header);
    assert_eq!(router.timeout, Duration::from_ms(400));
    router.on_interval(&params().routers, Duration::from_ms(100), &PortView::IDLE);
    assert_eq!(
        router.interval(&params().routers),
        Duration::from_ms(300),
        "100 ms of the timeout have passed"
    );
    // After two windows, the longest round is 30 ms.
    header.period = 0.03;
    for _ in 0..40 {
        forward(&mut router, &mut header);
        tick(&mut router, 1);
    }
    assert_eq!(router.timeout, Duration::from_ms(50));
}

#[test]
fn flows_that_vanish_are_forgotten_after_two_epochs_and_others_are_not() {
    let mut router = Router::new(&params().routers, &port(1, 12e6));
    let [mut stays, mut vanishes] = [update(1e6), update(2e6)];
    forward(&mut router, &mut stays);
    forward(&mut router, &mut vanishes);
    for _ in 0..8 {
        assert_eq!(sums(&router), (2, 2, 3e6));
        tick(&mut router, 1);
        forward(&mut router, &mut stays);
    }
    assert_eq!(sums(&router), (1, 1, 1e6));
    forward(&mut router, &mut vanishes);
    assert_eq!(sums(&router), (2, 2, 3e6), "expired, so counted as new");
    forward(&mut router, &mut vanishes);
    assert_eq!(sums(&router), (2, 2, 3e6));
}

/// Flow over a path of routers, without propagation delay.
struct Desk {
    params: Both<Sperc>,
    sender: Sender,
    routers: Vec<Router>,
    number: u32,
    seconds: f64,
}

impl Desk {
    fn new(capacities: &[f64]) -> Self {
        let params = params();
        Self {
            sender: Sender::new(&params, &FlowInfo::of(DATA)),
            routers: capacities
                .iter()
                .map(|capacity| Router::new(&params.routers, &port(1, *capacity)))
                .collect(),
            params,
            number: 0,
            seconds: 0.0,
        }
    }

    /// Sends a packet that passes the first `reach` routers. Returns its ACK.
    fn send(&mut self, kind: Kind, reach: usize) -> Feedback<Header> {
        self.seconds += 0.01;
        let packet = Outgoing {
            number: self.number,
            size: DATA,
            kind,
        };
        self.number += 1;
        let mut header = self.sender.on_send(&self.params, at(self.seconds), &packet);
        for router in &mut self.routers[..reach] {
            let arriving = Arriving {
                now: at(self.seconds),
                ..Arriving::alone(DATA)
            };
            router.on_arrival(&self.params.routers, &arriving, Some(&mut header));
        }
        Feedback::plain(packet.number, kind, Duration::from_ms(5), header)
    }

    fn on_report(&mut self, ack: &Feedback<Header>) -> f64 {
        self.sender.on_feedback(&self.params, at(self.seconds + 0.005), ack);
        self.sender.rate().bps()
    }

    /// Sends a packet and processes its ACK.
    fn exchange(&mut self) -> f64 {
        let kind = if self.number == 0 { Kind::Syn } else { Kind::Data };
        let ack = self.send(kind, self.routers.len());
        self.on_report(&ack)
    }

    fn exchanges(&mut self, count: usize) {
        for _ in 0..count {
            self.exchange();
        }
    }
}

#[test]
fn a_sender_rises_when_every_hop_has_allocated_a_rate() {
    let mut desk = Desk::new(&[10e6, 4e6, 8e6]);
    let rates: Vec<f64> = (0..8).map(|_| desk.exchange()).collect();
    assert_eq!(rates[..3], [400e3; 3], "one of three hops has not reported");
    assert_eq!(rates[3..], [4e6; 5]);
    assert_eq!(desk.sender.bottleneck(), Bottleneck::Hop(2));
    assert_eq!(sums(&desk.routers[0]), (1, 1, 4e6));
    assert_eq!(sums(&desk.routers[1]), (1, 0, 0.0));
    assert_eq!(sums(&desk.routers[2]), (1, 1, 4e6));
}

#[test]
fn at_most_one_update_to_a_hop_is_in_flight() {
    let mut desk = Desk::new(&[10e6, 4e6]);
    desk.exchanges(6);
    let acks: Vec<_> = (0..5).map(|_| desk.send(Kind::Data, 2)).collect();
    let targets: Vec<u8> = acks.iter().map(|ack| ack.header.target).collect();
    assert_eq!(
        targets,
        [2, 0, 0, 0, 0],
        "hop 1 was updated before, then the round is over"
    );
    for ack in &acks {
        desk.on_report(ack);
    }
    assert_eq!(desk.send(Kind::Data, 2).header.target, 1);
}

#[test]
fn the_end_of_a_flow_frees_its_part_of_every_hop() {
    let mut desk = Desk::new(&[10e6, 4e6, 8e6]);
    desk.exchanges(10);
    desk.send(Kind::Fin, 3);
    for router in &desk.routers {
        assert_eq!(sums(router), (0, 0, 0.0));
    }
}

#[test]
fn a_flow_that_ends_before_its_last_ack_frees_its_part_in_any_epoch() {
    for late in [false, true] {
        let mut desk = Desk::new(&[10e6, 4e6, 8e6]);
        desk.exchanges(10);
        if !late {
            desk.routers.iter_mut().for_each(|router| tick(router, 4));
        }
        let acks: Vec<_> = (0..6).map(|_| desk.send(Kind::Data, 3)).collect();
        assert_eq!(acks.iter().map(|ack| ack.header.target).max(), Some(3));
        if late {
            desk.routers.iter_mut().for_each(|router| tick(router, 4));
        }
        desk.send(Kind::Fin, 3);
        desk.routers.iter_mut().for_each(|router| tick(router, 4));
        for router in &desk.routers {
            assert_eq!(sums(router), (0, 0, 0.0));
        }
    }
}

#[test]
fn a_flow_whose_first_update_is_lost_counts_twice_until_the_old_count_is_forgotten() {
    let mut desk = Desk::new(&[10e6, 4e6]);
    desk.exchanges(2);
    desk.send(Kind::Data, 2);
    desk.exchanges(8);
    assert_eq!(desk.routers[1].sums.flows, 2);
    assert_eq!(desk.sender.rate().bps(), 2e6, "never more than the capacity");
    for _ in 0..8 {
        desk.routers.iter_mut().for_each(|router| tick(router, 1));
        desk.exchanges(4);
    }
    assert!(desk.routers.iter().all(|router| router.sums.flows == 1));
    assert_eq!(desk.exchange(), 4e6);
}

#[test]
fn in_equilibrium_a_lost_update_or_ack_changes_nothing() {
    for reach in 0..=2 {
        let mut desk = Desk::new(&[10e6, 4e6]);
        desk.exchanges(9);
        desk.send(Kind::Data, reach);
        for _ in 0..8 {
            assert_eq!(desk.exchange(), 4e6);
        }
        assert_eq!(sums(&desk.routers[0]), (1, 1, 4e6));
        assert_eq!(sums(&desk.routers[1]), (1, 0, 0.0));
    }
}

#[test]
fn on_a_path_of_more_hops_than_it_keeps_a_sender_stays_at_its_smallest_rate() {
    let rate = |hops| {
        let mut desk = Desk::new(&std::vec![1e6; hops]);
        (0..4 * hops).map(|_| desk.exchange()).last()
    };
    assert_eq!(rate(MAX_HOPS), Some(1e6));
    assert_eq!(rate(MAX_HOPS + 1), Some(8320.0), "two packets of 52 B in 100 ms");
}

#[test]
fn without_acks_a_sender_slows_down_to_its_smallest_rate() {
    let mut desk = Desk::new(&[10e6]);
    desk.exchanges(5);
    assert_eq!(desk.sender.rate().bps(), 10e6);
    for _ in 0..90 {
        desk.send(Kind::Data, 0);
    }
    assert_eq!(desk.sender.rate().bps(), 10e6);
    for _ in 0..90 {
        desk.send(Kind::Data, 0);
    }
    assert_eq!(desk.sender.rate().bps(), 8320.0);
}

#[test]
fn until_each_hop_has_allocated_a_rate_a_sender_sends_little_more_than_updates() {
    let mut desk = Desk::new(&[10e6, 4e6, 8e6]);
    desk.exchange();
    let sent = |desk: &mut Desk| {
        let before = (desk.sender.rate().bps(), desk.sender.packet_size(&desk.params));
        desk.send(Kind::Data, 3);
        before
    };
    let asks: Vec<_> = (0..5).map(|_| sent(&mut desk)).collect();
    let small = Bytes::new(52);
    assert_eq!(asks[..3], [(400e3, small); 3]);
    assert_eq!(asks[3..], [(8320.0, small); 2], "all hops have been updated");
}

#[test]
fn equal_flows_share_a_link_equally_and_newcomers_wait_for_no_one() {
    let mut net = Network::<Sperc>::new(params(), &[10e6]);
    for i in 0..5 {
        net.flow(DATA, &[0], Duration::from_ms(20 + 10 * i), ms(100 * i));
    }
    net.run(ms(1000));
    for flow in &net.flows {
        close(flow.rate(), 2e6, 1e-6);
    }
}

#[test]
fn two_bottlenecks_are_shared_fairly() {
    let mut net = Network::<Sperc>::new(params(), &[10e6, 4e6]);
    for (path, start) in [(&[0][..], 0), (&[0, 1], 300), (&[1], 900)] {
        net.flow(DATA, path, Duration::from_ms(30), ms(start));
    }
    net.run(ms(2000));
    for (flow, fair) in [8e6, 2e6, 2e6].into_iter().enumerate() {
        close(net.flows[flow].rate(), fair, 1e-6);
    }
}

#[test]
fn the_wire_layout_is_that_of_the_readme() {
    let mut header = Header {
        hop: 2,
        target: 3,
        epoch: 4,
        period: 1.0,
        ..Header::PLAIN
    };
    header.mark(Label::Satisfied, true);
    header.leave_behind(16, Label::Satisfied, 7);
    let mut wire = [0xff; Header::WIRE];
    header.encode(&mut wire);
    assert_eq!(wire[..4], [0xa0, 2, 3, 4]);
    assert_eq!(wire[16..20], 1.0_f32.to_be_bytes());
    assert_eq!(wire[20..28], [0x80, 0, 0, 0, 0xc0, 0, 0, 0]);
}

/// Verifies the size, because a larger header would enlarge the packets of all laws in the simulator.
#[test]
fn a_header_takes_no_more_memory_than_that_of_jetmax() {
    assert_eq!(size_of::<Header>(), size_of::<crate::jetmax::Header>());
}
