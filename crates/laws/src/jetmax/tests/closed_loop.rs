//! JetMax in a closed loop over one router, law only: no queue, no lost packets.

use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{DELTA, EMPTY, params, router};
use crate::jetmax::{Header, Params, Router, Sender, price};
use crate::law::{Arriving, Bottleneck, Feedback, FlowInfo, Kind, Outgoing, RouterLaw, SenderLaw};

/// Flows over one router whose link carries whatever it is offered, in time slots.
struct Wire {
    params: Params,
    router: Router,
    flows: Vec<Flow>,
    now: Time,
    /// Largest sum of the rates so far, bit/s.
    peak: f64,
}

struct Flow {
    sender: Sender,
    start: Time,
    next: u32,
    due: Time,
    there: Duration,
    back: Duration,
    packets: VecDeque<(Time, Header, Bytes)>,
    acks: VecDeque<(Time, Header)>,
    changes: Vec<(Time, f64)>,
}

impl Wire {
    const SLOT: Duration = Duration::from_us(250);

    fn new(changes: &[(&str, f64)], capacity: f64) -> Self {
        let params = params(changes);
        let router = router(&params, capacity);
        Self {
            params,
            router,
            flows: Vec::new(),
            now: Time::ZERO,
            peak: 0.0,
        }
    }

    fn join(&mut self, rtt: Duration, start: Duration) {
        let start = Time::ZERO + start;
        let there = Duration::from_ms(20);
        self.flows.push(Flow {
            sender: Sender::new(
                &self.params,
                &FlowInfo {
                    packet_size: Bytes::new(1 << 60),
                },
            ),
            start,
            next: 0,
            due: start,
            there,
            back: rtt - there,
            packets: VecDeque::new(),
            acks: VecDeque::new(),
            changes: Vec::new(),
        });
    }

    fn run(&mut self, until: Duration) {
        while self.now < Time::ZERO + until {
            self.now += Self::SLOT;
            for flow in &mut self.flows {
                flow.receive(&self.params, self.now);
                flow.send(&self.params, self.now);
                flow.cross(&self.params, &mut self.router, self.now);
            }
            // Half a slot off the beat of the packets.
            if self.now.as_ps() % DELTA.as_ps() == 7 * Self::SLOT.as_ps() {
                self.router.on_interval(&self.params, DELTA, &EMPTY);
            }
            let load = self
                .flows
                .iter()
                .filter(|flow| flow.next > 0)
                .map(|flow| flow.sender.rate().bps())
                .sum();
            self.peak = self.peak.max(load);
        }
    }
}

impl Flow {
    fn receive(&mut self, params: &Params, now: Time) {
        while let Some((_, header)) = self.acks.pop_front_if(|ack| ack.0 <= now) {
            let before = self.sender.rate();
            let feedback = Feedback::plain(header.seq, Kind::Data, self.there + self.back, header);
            self.sender.on_feedback(params, now, &feedback);
            if self.sender.rate() != before {
                self.changes.push((now, self.sender.rate().bps()));
            }
        }
    }

    fn send(&mut self, params: &Params, now: Time) {
        while self.due <= now && self.start <= now {
            let size = self.sender.packet_size(params);
            let sent = Outgoing {
                number: self.next,
                size,
                kind: Kind::Data,
            };
            let header = self.sender.on_send(params, now, &sent);
            self.packets.push_back((now + self.there, header, size));
            self.next += 1;
            self.due += self.sender.rate().time_to_send(size).expect("it has a rate");
        }
    }

    fn cross(&mut self, params: &Params, router: &mut Router, now: Time) {
        while let Some((_, mut header, size)) = self.packets.pop_front_if(|packet| packet.0 <= now) {
            router.on_arrival(params, &Arriving::alone(size), Some(&mut header));
            self.acks.push_back((now + self.back, header.reflected()));
        }
    }
}

#[test]
fn one_percent_takes_six_steps_at_any_capacity() {
    for capacity in [1e7, 1e10, 1e18] {
        let mut wire = Wire::new(&[], capacity);
        wire.join(Duration::from_ms(220), Duration::ZERO);
        wire.run(Duration::from_secs(8));
        let changes = &wire.flows[0].changes;
        let steps = 1 + changes
            .iter()
            .position(|change| change.1 >= 0.99 * capacity)
            .expect("it gets there");
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
    let mut wire = Wire::new(&[], 1e7);
    wire.join(Duration::from_ms(2020), Duration::ZERO);
    wire.join(Duration::from_ms(220), Duration::from_ms(30_013));
    wire.run(Duration::from_secs(29));
    assert!((wire.flows[0].sender.rate().bps() / 1e7 - 1.0).abs() < 0.015);
    wire.run(Duration::from_secs(60));
    for flow in &wire.flows {
        assert!(
            (flow.sender.rate().bps() / 5e6 - 1.0).abs() < 0.015,
            "{:?}",
            flow.changes
        );
    }
    assert!(wire.peak < 1.02e7, "{}", wire.peak);
}

/// Figure 34(b): a joiner takes its share before the others release it.
#[test]
fn without_proposals_a_joiner_overloads_the_link_by_half() {
    let mut wire = Wire::new(&[("propose", 0.0)], 1e7);
    wire.join(Duration::from_ms(2020), Duration::ZERO);
    wire.run(Duration::from_secs(30));
    assert!(wire.peak < 1.02e7, "{}", wire.peak);
    wire.join(Duration::from_ms(220), Duration::from_ms(30_013));
    wire.run(Duration::from_secs(60));
    assert!((price(wire.peak, 1e7) - 0.33).abs() < 0.02, "{}", wire.peak);
}

/// Figure 33(b): a flow that turns responsive late in an interval counts as a fraction of one.
#[test]
fn without_the_ignore_rule_a_flow_alone_overshoots() {
    let peak = |ignore: f64, phase: u64| {
        let mut wire = Wire::new(&[("propose", 0.0), ("ignore", ignore)], 1e7);
        wire.join(Duration::from_ms(2020), Duration::from_ms(phase * 10));
        wire.run(Duration::from_secs(30));
        wire.peak / 1e7
    };
    let naive = (0..10).map(|phase| peak(0.0, phase)).fold(0.0, f64::max);
    let proper = (0..10).map(|phase| peak(1.0, phase)).fold(0.0, f64::max);
    assert!(naive > 3.0, "{naive}");
    assert!(proper < 1.02, "{proper}");
}

#[test]
fn per_switch_steps_once_per_interval() {
    let mut wire = Wire::new(&[("settle", 1.0), ("interval", 0.1)], 1e9);
    wire.join(Duration::from_ms(40), Duration::ZERO);
    wire.run(Duration::from_secs(4));
    let changes = &mut wire.flows[0].changes;
    changes.retain(|change| change.1 > 41e3);
    let steps = 1 + changes
        .iter()
        .position(|change| change.1 >= 0.99e9)
        .expect("it gets there");
    assert_eq!(steps, 6, "{changes:?}");
    let lasted = (changes[5].0 - changes[0].0).as_secs_f64();
    assert!((lasted - 0.5).abs() < 0.01, "{changes:?}");
    assert!(wire.peak <= 1.001e9, "{}", wire.peak);
}
