//! Replay tests: the outputs of a law depend only on its parameters and inputs.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::collection::vec as list;
use proptest::prelude::*;

use super::{
    CAPACITY, ack, assert_alive, assert_round_trip, check, defaults, encoded, new_router, new_sender, router_defaults,
};
use crate::{
    Arriving, Bottleneck, Header, HeaderOf, Kind, Law, Loss, Opening, Outgoing, PortView, RouterLaw, RouterOf,
    RouterParamsOf, SenderLaw,
};

/// Generates valid headers: headers of senders with a few changed bytes, and random bytes.
fn headers<L: Law>() -> BoxedStrategy<HeaderOf<L>> {
    let params = defaults::<L>();
    let mut sender = new_sender::<L>(&params);
    let sent = Outgoing {
        number: 0,
        size: Bytes::new(1000),
        kind: Kind::Data,
    };
    let plain = encoded(&sender.on_send(&params, Time::ZERO, &sent));
    let near = list((0..HeaderOf::<L>::WIRE.max(1), any::<u8>()), 0..6).prop_map(move |changes| {
        let mut wire = plain.clone();
        for (at, byte) in changes.into_iter().filter(|_| !plain.is_empty()) {
            wire[at] = byte;
        }
        wire
    });
    prop_oneof![3 => near, 1 => list(any::<u8>(), HeaderOf::<L>::WIRE)]
        .prop_filter_map("not a header", |wire| HeaderOf::<L>::decode(&wire).ok())
        .boxed()
}

#[derive(Debug, Clone)]
enum TestPort<H> {
    Arrival(u32, Option<H>),
    Departure(H),
    Interval { us: u32, queue: u32, dropped: u32 },
}

fn port_inputs<L: Law>() -> impl Strategy<Value = Vec<TestPort<HeaderOf<L>>>> {
    let input = prop_oneof![
        4 => (any::<u32>(), proptest::option::weighted(0.8, headers::<L>())).prop_map(|(s, h)| TestPort::Arrival(s, h)),
        1 => headers::<L>().prop_map(TestPort::Departure),
        1 => (1_u32..10_000_000, any::<u32>(), any::<u32>())
            .prop_map(|(us, queue, dropped)| TestPort::Interval { us, queue, dropped }),
    ];
    list(input, 0..60)
}

/// Output of a router: the header of the packet, if any, the target and the signal.
type Seen<H> = (Option<H>, Rate, f64);

fn drive_port<L: Law>(
    router: &mut RouterOf<L>,
    params: &RouterParamsOf<L>,
    inputs: &[TestPort<HeaderOf<L>>],
) -> Vec<Seen<HeaderOf<L>>> {
    let step = |input: &TestPort<HeaderOf<L>>| {
        let mut left = None;
        match *input {
            TestPort::Arrival(size, header) => {
                left = header;
                router.on_arrival(params, &Arriving::alone(Bytes::new(size.into())), left.as_mut());
            }
            TestPort::Departure(header) => router.on_departure(params, Bytes::new(1000), left.insert(header)),
            TestPort::Interval { us, queue, dropped } => {
                let port = PortView {
                    queue: Bytes::new(queue.into()),
                    packets: queue / 1000,
                    in_service: Bytes::new((queue % 1000).into()),
                    dropped: Bytes::new(dropped.into()),
                };
                router.on_interval(params, Duration::from_us(us.into()), &port);
            }
        }
        left.iter().for_each(assert_round_trip);
        assert!(!router.signal().is_nan(), "{router:?}");
        (left, router.target(), router.signal())
    };
    inputs.iter().map(step).collect()
}

/// Verifies that a replay of logged inputs reproduces the outputs and the state of a router. A replay can also continue
/// from a copy made halfway. The inputs include invalid feedback.
pub fn router_replay<L: Law>() {
    let params = router_defaults::<L>();
    check(port_inputs::<L>(), |inputs| {
        let mut whole = new_router::<L>(&params, CAPACITY);
        let mut half = whole.clone();
        let seen = drive_port::<L>(&mut whole, &params, &inputs);
        let (first, second) = inputs.split_at(inputs.len() / 2);
        let mut again = drive_port::<L>(&mut half, &params, first);
        let mut copy = half.clone();
        again.extend(drive_port::<L>(&mut copy, &params, second));
        drive_port::<L>(&mut half, &params, second);
        assert_eq!(again, seen);
        assert!(copy == whole && half == whole, "{copy:?}, {half:?}, {whole:?}");
    });
}

#[derive(Debug, Clone)]
enum Flow<H> {
    Send {
        after_us: u32,
        size: u32,
    },
    Ack {
        after_us: u32,
        age: u32,
        rtt_us: u32,
        header: H,
    },
    Lost {
        age: u32,
    },
    TimedOut,
}

fn flow_inputs<L: Law>() -> impl Strategy<Value = Vec<Flow<HeaderOf<L>>>> {
    let send = (0_u32..2_000_000, 1_u32..).prop_map(|(after_us, size)| Flow::Send { after_us, size });
    let ack = (0_u32..2_000_000, 0_u32..8, any::<u32>(), headers::<L>()).prop_map(|(after_us, age, rtt_us, header)| {
        Flow::Ack {
            after_us,
            age,
            rtt_us,
            header,
        }
    });
    let lost = (0_u32..8).prop_map(|age| Flow::Lost { age });
    let trouble = prop_oneof![4 => lost, 1 => Just(Flow::TimedOut)];
    list(prop_oneof![4 => send, 4 => ack, 1 => trouble], 0..60)
}

/// Output of a sender: the header of the packet, if any, the rate, the proposal and the bottleneck.
type Observed<H> = (Option<H>, Rate, Rate, Bottleneck);

/// Applies inputs to a sender. Packet numbers continue from `*next`, and times from `*now`.
fn drive_flow<L: Law>(
    (sender, next, now): &mut (L::Sender, u32, Time),
    params: &L::Params,
    inputs: &[Flow<HeaderOf<L>>],
) -> Vec<Observed<HeaderOf<L>>> {
    let opens = L::transport(params).opening == Opening::Handshake;
    let kind = |number| if opens && number == 0 { Kind::Syn } else { Kind::Data };
    let step = |input: &Flow<HeaderOf<L>>| {
        let mut wrote = None;
        match *input {
            Flow::Send { after_us, size } => {
                *now += Duration::from_us(after_us.into());
                let sent = Outgoing {
                    number: *next,
                    size: Bytes::new(size.into()),
                    kind: kind(*next),
                };
                *next += 1;
                assert_round_trip(wrote.insert(sender.on_send(params, *now, &sent)));
            }
            Flow::Ack {
                after_us,
                age,
                rtt_us,
                header,
            } => {
                *now += Duration::from_us(after_us.into());
                let number = next.saturating_sub(age);
                let sent = Outgoing {
                    number,
                    size: Bytes::ZERO,
                    kind: kind(number),
                };
                sender.on_feedback(
                    params,
                    *now,
                    &ack::<L>(&sent, Duration::from_us(rtt_us.into()), &header),
                );
            }
            Flow::Lost { age } => {
                let loss = Loss {
                    number: next.saturating_sub(age),
                    next: *next,
                    outstanding: age,
                };
                sender.on_loss(params, *now, &loss);
            }
            Flow::TimedOut => sender.on_timeout(params, *now, *next),
        }
        assert_alive::<L>(params, sender, input);
        (wrote, sender.rate(), sender.proposal(), sender.bottleneck())
    };
    inputs.iter().map(step).collect()
}

/// Verifies that a replay of logged inputs reproduces the outputs and the state of a sender, like [`router_replay`].
pub fn sender_replay<L: Law>() {
    let params = defaults::<L>();
    check(flow_inputs::<L>(), |inputs| {
        let sender = new_sender::<L>(&params);
        let mut whole = (sender, 0, Time::ZERO);
        let mut half = whole.clone();
        let uninterrupted = drive_flow::<L>(&mut whole, &params, &inputs);
        let (first, second) = inputs.split_at(inputs.len() / 2);
        let mut again = drive_flow::<L>(&mut half, &params, first);
        let mut copy = half.clone();
        again.extend(drive_flow::<L>(&mut copy, &params, second));
        drive_flow::<L>(&mut half, &params, second);
        assert_eq!(again, uninterrupted);
        assert!(copy == whole && half == whole, "{copy:?}, {half:?}, {whole:?}");
    });
}
