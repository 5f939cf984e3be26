//! Comparison of two flows with the same losses. The first flow trusts its ACKs, as in the simulator. The second flow
//! decodes and validates them, as on a real network. The law must receive the same events in both flows.

use std::collections::VecDeque;

use levelflow_laws::{Any, AnyHeader, AnyParams, AnySender, FlowInfo, Protocol, SenderLaw};
use levelflow_units::Time;
use levelflow_wire::shim::Shim;
use proptest::prelude::*;

use super::{NoLog, PACKET, ms, params, with};
use crate::{Ack, History, LONGEST_ACK, Limits, MAX_PACKETS, Received, Receiver, Rules, Sender, WireSender};

const LIMITS: Limits = Limits {
    max_rate: None,
    catch_up: Limits::VIRTUAL_TIME,
    control: 100,
    headers: 0,
    least: 0,
};

/// An ACK as the simulator passes it and as encoded bytes, with its arrival time.
struct Pending {
    at: Time,
    trusted: Ack<AnyHeader>,
    wire: Vec<u8>,
}

/// Sends 300 packets over a path with a round-trip time of 20 ms. `lost` lists the losses. Compares the laws of two
/// flows after each step.
#[expect(clippy::too_many_lines, reason = "one connection, step by step")]
fn run(params: &AnyParams, mut lost: impl Iterator<Item = bool>) {
    let transport = Any::transport(params);
    let (size, info) = (300 * PACKET.get(), FlowInfo::of(PACKET));
    let rules = Rules::<Any> {
        params,
        transport: &transport,
        limits: &LIMITS,
    };
    let mut trusting: Sender<Any> = Sender::new(AnySender::new(params, &info), &transport, Time::ZERO)
        .with_recovery(&transport, true, MAX_PACKETS)
        .with_size(size);
    let mut wary = WireSender::<NoLog>::new(params.clone(), FlowInfo::of(PACKET), 9)
        .with_limits(LIMITS)
        .with_transfer(Some(size), None, true);
    let (mut history, mut receiver) = (
        History::default(),
        Receiver::new(params.law().signalling.number).unwrap(),
    );
    let mut acks: VecDeque<Pending> = VecDeque::new();
    for step in 0..200_000 {
        let (now, stamp) = (Time::ZERO + ms(step), step * 1_000_000);
        while acks.front().is_some_and(|ack| ack.at <= now) {
            let ack = acks.pop_front().unwrap();
            let (shim, header, rest) = Shim::decode(&ack.wire).unwrap();
            trusting.handle_ack(&rules, now, &ack.trusted);
            wary.handle_ack(now, stamp, &shim, header, rest).unwrap();
            assert_eq!(trusting.law(), wary.law());
        }
        trusting.handle_timeout(&rules, now);
        wary.handle_timeout(now);
        while let Some(packet) = trusting.poll_transmit(&rules, now, ()) {
            let mut wire = [0; LONGEST_ACK];
            let prefix = wary.poll_transmit(now, stamp, &mut wire).unwrap().prefix;
            let (shim, header, _) = Shim::decode(&wire[..prefix]).unwrap();
            assert_eq!((shim.number, shim.kind), (packet.number, packet.kind));
            if lost.next().unwrap() {
                continue;
            }
            history.on_arrival(packet.number);
            let mut out = [0; LONGEST_ACK];
            let acked = receiver.ack(
                now,
                Received {
                    shim: &shim,
                    header,
                    size: PACKET,
                    marked: false,
                },
                LONGEST_ACK,
                &mut out,
            );
            let (_, length) = acked.unwrap();
            let trusted = Ack {
                number: packet.number,
                kind: packet.kind,
                rtt: ms(20),
                header: packet.header,
                marked: false,
                history: history.below(packet.number),
            };
            if !lost.next().unwrap() {
                acks.push_back(Pending {
                    at: now + ms(20),
                    trusted,
                    wire: out[..length].to_vec(),
                });
            }
        }
        assert!(wary.poll_transmit(now, stamp, &mut [0; LONGEST_ACK]).is_none());
        assert_eq!(trusting.law(), wary.law());
        if trusting.is_done(now) {
            assert!(wary.is_done(now));
            return;
        }
    }
    panic!("{} does not finish", params.law().name);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    // **Invariant** (The transport): with the same losses, a law receives the same inputs in simulation and on the
    // wire.
    #[test]
    fn a_law_receives_the_same_input_in_simulation_and_on_the_wire(losses in prop::collection::vec(prop::bool::weighted(0.1), 600)) {
        let no_sack = |law| with(law, &[("sack", 0.0)]);
        for law in [params("newreno"), params("cubic"), params("bbr"), no_sack("reno"), no_sack("newreno")] {
            run(&law, losses.iter().copied().chain(std::iter::repeat(false)));
        }
    }
}
