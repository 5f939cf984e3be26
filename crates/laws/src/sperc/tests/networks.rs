//! Random networks, simulated in rounds. In each round, each flow updates each of its hops once.

use std::vec::Vec;

use levelflow_units::{Duration, Time};
use proptest::prelude::*;

use super::{DATA, params};
use crate::law::{Arriving, Feedback, FlowInfo, Kind, Outgoing, PortView, RouterLaw, SenderLaw};
use crate::sperc::{Header, Params, Router, Sender, Sperc};
use crate::testing::{Both, max_min, port};

const ROUND: Duration = Duration::from_ms(10);
/// Number of rounds until all hops count all flows. The handshake packet of a flow updates only one hop.
const OPENING: usize = 2;

struct Flow {
    sender: Sender,
    path: Vec<usize>,
    number: u32,
}

struct Rounds {
    params: Both<Sperc>,
    routers: Vec<Router>,
    flows: Vec<Flow>,
    now: Time,
    /// True if ACKs arrive at the end of the round.
    late: bool,
}

impl Rounds {
    fn new(targets: &[f64], paths: &[Vec<usize>], timeout: u64, late: bool) -> Self {
        let mut params = params();
        params.sender = Params {
            timeout: ROUND * timeout,
            initial_rate: 1e3,
            min_rate: 1.0,
            packets_per_timeout: 0.0,
            ..params.sender
        };
        params.routers.timeout = ROUND * timeout;
        params.routers.window = Duration::from_secs(1);
        let flow = |path: &Vec<usize>| Flow {
            sender: Sender::new(&params, &FlowInfo::of(DATA)),
            path: path.clone(),
            number: 0,
        };
        Self {
            routers: targets
                .iter()
                .map(|target| Router::new(&params.routers, &port(1, *target)))
                .collect(),
            flows: paths.iter().map(flow).collect(),
            params,
            now: Time::ZERO,
            late,
        }
    }

    /// Runs a round. For each packet, `loses` returns the last hop that the packet passes before it is lost. A hop
    /// beyond the path loses the ACK instead. `None` means no loss.
    fn round(&mut self, mut loses: impl FnMut() -> Option<usize>) {
        let mut acks: Vec<(usize, Feedback<Header>)> = Vec::new();
        for index in 0..self.flows.len() {
            let opened = self.flows[index].number > 0;
            let packets = if opened { self.flows[index].path.len() } else { 1 };
            for _ in 0..packets {
                let kind = if opened { Kind::Data } else { Kind::Syn };
                let Some(ack) = self.send(index, kind, loses()) else {
                    continue;
                };
                if self.late {
                    acks.push((index, ack));
                } else {
                    self.flows[index].sender.on_feedback(&self.params, self.now, &ack);
                }
            }
        }
        for (index, ack) in acks {
            self.flows[index].sender.on_feedback(&self.params, self.now, &ack);
        }
        for router in &mut self.routers {
            router.on_interval(&self.params.routers, ROUND, &PortView::IDLE);
        }
        self.now += ROUND;
    }

    fn send(&mut self, index: usize, kind: Kind, lost: Option<usize>) -> Option<Feedback<Header>> {
        let flow = &mut self.flows[index];
        let packet = Outgoing {
            number: flow.number,
            size: DATA,
            kind,
        };
        flow.number += 1;
        let mut header = flow.sender.on_send(&self.params, self.now, &packet);
        for (hop, link) in flow.path.iter().enumerate() {
            self.routers[*link].on_arrival(&self.params.routers, &Arriving::alone(DATA), Some(&mut header));
            if lost == Some(hop) {
                return None;
            }
        }
        let ack = Feedback::plain(packet.number, kind, Duration::from_ms(1), header);
        lost.is_none().then_some(ack)
    }

    /// Returns the largest relative error of the rates.
    fn distance(&self, fair: &[f64]) -> f64 {
        let rates = self.flows.iter().map(|flow| flow.sender.rate().bps());
        rates
            .zip(fair)
            .map(|(rate, fair)| (rate / fair - 1.0).abs())
            .fold(0.0, f64::max)
    }
}

fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<usize>>)> {
    (2_usize..9).prop_flat_map(|links| {
        let path = prop::collection::vec(0..links, 1..6).prop_map(|mut path| {
            path.sort_unstable();
            path.dedup();
            path
        });
        (
            prop::collection::vec(1e6..20e6, links),
            prop::collection::vec(path, 1..25),
        )
    })
}

proptest! {
    #[test]
    fn rates_are_max_min_fair_after_six_rounds_for_each_level(
        (targets, paths) in networks(),
        timeout in 1_u64..4,
        late in any::<bool>(),
    ) {
        let (fair, levels) = max_min(&targets, &paths);
        let mut net = Rounds::new(&targets, &paths, timeout, late);
        for _ in 0..OPENING + 6 * levels {
            net.round(|| None);
        }
        for _ in 0..20 {
            prop_assert!(net.distance(&fair) < 1e-5, "{} after {} rounds", net.distance(&fair), OPENING + 6 * levels);
            net.round(|| None);
        }
    }

    /// Verifies that rates become exact after losses. The sums are exact two epochs after the last loss, and an epoch
    /// is four timeouts. MaxSat is exact two timeouts later. Losses lengthen rounds, and rounds lengthen timeouts.
    #[test]
    fn losses_have_no_lasting_effect(
        (targets, paths) in networks(),
        late in any::<bool>(),
        losses in prop::collection::vec((any::<bool>(), 0_usize..6), 1..40),
    ) {
        let (fair, levels) = max_min(&targets, &paths);
        let mut net = Rounds::new(&targets, &paths, 3, late);
        let mut draws = losses.iter().cycle();
        for _ in 0..30 {
            net.round(|| draws.next().and_then(|(lost, at)| lost.then_some(*at)));
        }
        (0..10).for_each(|_| net.round(|| None));
        let timeouts = net.routers.iter().map(|router| router.timeout.as_ps() / ROUND.as_ps());
        for _ in 0..10 * timeouts.max().unwrap() as usize + 6 * levels {
            net.round(|| None);
        }
        prop_assert!(net.distance(&fair) < 1e-5, "{}", net.distance(&fair));
    }
}
