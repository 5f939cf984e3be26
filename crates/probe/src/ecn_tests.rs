//! The test for L4S in virtual time, over lines with queue disciplines of the registry.

use std::collections::hash_map::RandomState;
use std::net::SocketAddr;

use levelflow_path::scheduler::{Ecn, FlowKey};
use levelflow_path::{Hop, HopLaw, Propagation, Settings as Line};
use levelflow_scenario::queue_of;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::ecn::{EcnProbe, EcnWay};
use crate::l4s::L4s;
use crate::message::{Arrived, Bounds, CONTROL_BYTES, MAX_MESSAGE_BYTES, Message, Session};
use crate::probe::{Channel, Outcome};
use crate::{Idle, Limits, Loaded, Marking, Queue, Reflector, Sample};

const AROUND: usize = 42;
const CAPACITY_BPS: f64 = 20e6;
const ID: u64 = 7;

struct Packet {
    lane: Channel,
    ecn: u8,
    wire: Vec<u8>,
}

/// Classification and marks of packets.
struct Fields;

impl HopLaw<Packet> for Fields {
    fn classify(&self, packet: &Packet) -> FlowKey {
        FlowKey {
            flow: packet.lane as u32,
            ecn: [Ecn::NotCapable, Ecn::Scalable, Ecn::Classic, Ecn::Marked][usize::from(packet.ecn)],
            ..FlowKey::default()
        }
    }

    fn mark(&mut self, packet: &mut Packet) -> bool {
        let marks = packet.ecn == 1 || packet.ecn == 2;
        if marks {
            packet.ecn = 3;
        }
        marks
    }
}

fn address(lane: Channel) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 7000 + lane as u16))
}

fn hop(queue: &str, name: &str) -> Hop<Packet, Fields> {
    let line = Line {
        rate: Rate::new(CAPACITY_BPS),
        buffer: Buffer::Bytes(Bytes::new(250_000)),
        wire: Propagation {
            delay: Duration::from_ms(10),
            ..Propagation::default()
        },
    };
    let mut hop = Hop::under(Fields, line, 1, name);
    hop.set_queue(&queue_of(queue).unwrap(), 1, name);
    hop
}

/// Starts a session with a reflector.
fn session(reflector: &mut Reflector) -> Session {
    let (mut wire, mut answer) = ([0; MAX_MESSAGE_BYTES], [0; CONTROL_BYTES]);
    let tokens = [Channel::Call, Channel::Load].map(|lane| {
        Message::Hello { id: ID }.encode(&mut wire);
        reflector.handle_input(Time::ZERO, address(lane), &wire[..CONTROL_BYTES], 0, &mut answer);
        match Message::decode(&answer) {
            Some(Message::Welcome { token, .. }) => token,
            other => panic!("{other:?}"),
        }
    });
    Session {
        id: ID,
        tokens,
        pings: 0,
        sent: 0,
        pulls: 0,
        most_packets: 0,
        around: AROUND,
    }
}

/// Tests a line whose directions have this queue. `rewrite` changes the ECN fields of packets to the reflector.
fn test(queue: &str, rewrite: fn(u8) -> u8) -> ([EcnWay; 2], f64) {
    let limits = Limits {
        max_rate: Rate::new(1e9).unwrap(),
        time: Duration::from_secs(200),
    };
    let mut reflector = Reflector::new(limits, RandomState::new());
    let (mut up, mut down) = (hop(queue, "up"), hop(queue, "down"));
    let (mut wire, mut answer) = ([0; MAX_MESSAGE_BYTES], [0; CONTROL_BYTES]);
    let session = session(&mut reflector);
    let idle = 0.02 + 2.0 * 138.0 * 8.0 / CAPACITY_BPS;
    let idle_trips = Idle::of(&[Some(idle)]).unwrap();
    let mut now = Time::ZERO;
    let mut probe = EcnProbe::new(now, session, [CAPACITY_BPS; 2], &idle_trips);
    let size = |packet: &Packet| Bytes::new((packet.wire.len() + AROUND) as u64);
    while probe.outcome().is_none() {
        let next = [up.poll_timeout(), down.poll_timeout(), reflector.poll_timeout()];
        let next = next.into_iter().flatten().min().unwrap_or(Time::NEVER);
        now = now.max(next.min(probe.poll_timeout()));
        assert!(now < Time::ZERO + Duration::from_secs(150), "{}", probe.doing());
        probe.handle_timeout(now);
        while let Some((lane, length, ecn)) = probe.poll_transmit(now, &mut wire) {
            let wire = wire[..length].to_vec();
            let packet = Packet { lane, ecn, wire };
            let _ = up.handle_input(now, size(&packet), packet);
        }
        reflector.handle_timeout(now);
        while let Some((_, length, ecn)) = reflector.poll_transmit(now, &mut wire) {
            let wire = wire[..length].to_vec();
            let packet = Packet {
                lane: Channel::Load,
                ecn,
                wire,
            };
            let _ = down.handle_input(now, size(&packet), packet);
        }
        while let Some((at, packet)) = up.poll_output(now) {
            let (from, seen) = (address(packet.lane), rewrite(packet.ecn));
            if let Some((length, ecn)) = reflector.handle_input(at, from, &packet.wire, seen, &mut answer) {
                let wire = answer[..length].to_vec();
                let reply = Packet {
                    lane: packet.lane,
                    ecn,
                    wire,
                };
                let _ = down.handle_input(at, size(&reply), reply);
            }
        }
        while let Some((at, packet)) = down.poll_output(now) {
            probe.handle_input(at, packet.lane, &packet.wire, packet.ecn);
        }
        while up.poll_dropped().is_some() || down.poll_dropped().is_some() {}
    }
    (probe.outcome().unwrap().unwrap(), idle)
}

fn report(ways: &[EcnWay; 2], idle: f64, queue: Queue) -> L4s {
    let loaded = Loaded {
        capacity: CAPACITY_BPS,
        buffer: None,
        queue,
        wait: 0.1,
        trips: None,
        added: 0.1,
        loss: 0.0,
    };
    let measured = Outcome {
        idle: Idle::of(&[Some(idle)]).unwrap(),
        loaded: [loaded; 2],
        garbage: 0,
    };
    L4s::new(ways, &measured)
}

/// Transmission time of a load packet, s.
const PACKET: f64 = 1242.0 * 8.0 / CAPACITY_BPS;

/// Verifies the marking of both directions.
fn verify(queue: &str, right: impl Fn(Marking) -> bool) -> ([EcnWay; 2], f64) {
    let (ways, idle) = test(queue, |ecn| ecn);
    for way in &ways {
        assert!(right(way.marking), "{queue}: {:?}", way.marking);
        for sent in 0..4 {
            assert_eq!(way.fields.most(sent), Some(sent), "{queue}");
        }
    }
    (ways, idle)
}

#[test]
fn the_step_of_dualpi2_is_found_and_its_low_latency_queue() {
    for (queue, step) in [("dualpi2", 1e-3), ("{ dualpi2 = { step = '5 ms' } }", 5e-3)] {
        let (ways, idle) = verify(
            queue,
            |marking| matches!(marking, Marking::Step { at, resolution } if at >= step - PACKET && at <= step + resolution),
        );
        let [plain, scalable] = ways[0].classic.map(Option::unwrap);
        assert!(
            plain - idle > 5e-3 && scalable - idle < 3.0 * PACKET,
            "{queue}: {plain} {scalable}"
        );
        let text = report(&ways, idle, Queue::Aqm).text();
        assert_eq!(text.matches("L4S: a low-latency queue").count(), 2, "{text}");
    }
}

#[test]
fn a_step_and_a_ramp_of_red_are_found_at_their_backlogs() {
    let red = |min: u32, max: u32| {
        format!("{{ red = {{ weight = 1, min = '{min} packets', max = '{max} packets', max_p = 1, gentle = false }} }}")
    };
    let (ways, idle) = verify(
        &red(20, 20),
        |marking| matches!(marking, Marking::Step { at, .. } if (at / PACKET - 20.0).abs() <= 2.0),
    );
    assert_eq!(ways[0].classic[0].is_some(), ways[0].classic[1].is_some());
    let text = report(&ways, idle, Queue::Aqm).text();
    assert_eq!(text.matches("no queue of its own").count(), 2, "{text}");
    // With uniform distances between marks, the fraction of marks is 2 p / (1 + p). It is 0.1 at 12 packets and 0.9 at
    // 43 packets.
    verify(&red(10, 50), |marking| match marking {
        Marking::Ramp { from, to: Some(to) } => {
            (from / PACKET - 12.0).abs() <= 3.0 && (to / PACKET - 43.0).abs() <= 5.0
        }
        _ => false,
    });
}

#[test]
fn classic_disciplines_mark_by_the_history_of_the_queue() {
    for queue in [
        "{ codel = { ecn = true } }",
        "{ pie = { ecn = true } }",
        "fq_codel",
        "cake",
    ] {
        let (ways, idle) = verify(queue, |marking| matches!(marking, Marking::Smoothed { .. }));
        let text = report(&ways, idle, Queue::Aqm).text();
        assert_eq!(text.matches("a classic AQM marks ECT(1)").count(), 2, "{text}");
        let text = report(&ways, idle, Queue::Fair).text();
        assert_eq!(text.matches("one queue per flow").count(), 2, "{text}");
    }
}

#[test]
fn a_drop_tail_queue_marks_nothing_and_delays_all_packets() {
    let (ways, idle) = verify("drop_tail", |marking| marking == Marking::None);
    // 250 kB at 20 Mb/s take 100 ms.
    for trip in ways.iter().flat_map(|way| way.classic) {
        assert!((trip.unwrap() - idle - 0.1).abs() < 0.01, "{trip:?}");
    }
    assert_eq!(
        report(&ways, idle, Queue::DropTail)
            .text()
            .matches("no marks: Prague")
            .count(),
        2
    );
    let text = report(&ways, idle, Queue::Unseen).text();
    assert_eq!(text.matches("not saturated").count(), 2, "{text}");
    let lost = ways.map(|way| EcnWay {
        classic: [None, way.classic[1]],
        ..way
    });
    let text = report(&lost, idle, Queue::DropTail).text();
    assert_eq!(
        text.matches("ECN loses all Not-ECT pings and adds").count(),
        2,
        "{text}"
    );
}

#[test]
fn a_path_that_clears_or_drops_ect1_is_named() {
    for (rewrite, most) in [
        ((|ecn| if ecn == 1 { 0 } else { ecn }) as fn(u8) -> u8, 0),
        (|ecn| if ecn == 1 { 2 } else { ecn }, 2),
    ] {
        let (ways, idle) = test("dualpi2", rewrite);
        assert_eq!((ways[0].fields.most(1), ways[1].fields.most(1)), (Some(most), Some(1)));
        assert_eq!((ways[0].fields.most(3), ways[0].fields.most(2)), (Some(3), Some(2)));
        let text = report(&ways, idle, Queue::Aqm).text();
        assert_eq!(text.matches("ECT(1) is rewritten").count(), 1, "{text}");
    }
}

#[test]
fn replies_with_impossible_counts_are_ignored() {
    let bounds = Bounds {
        sent: 3,
        pings: 2,
        size: 1242,
        now: 50,
    };
    let right = Arrived {
        packets: 2,
        bytes: 2 * 1242,
        sent: 3,
        last_sent: 50,
        last_arrived: 90,
        longest: 40,
        marked: 2,
    };
    assert!(bounds.allow(90, 2, &right));
    assert!(!bounds.allow(89, 2, &right) && !bounds.allow(90, 3, &right));
    for wrong in [
        Arrived { packets: 4, ..right },
        Arrived { bytes: 1242, ..right },
        Arrived { sent: 4, ..right },
        Arrived { last_sent: 51, ..right },
        Arrived { marked: 3, ..right },
    ] {
        assert!(!bounds.allow(90, 2, &wrong), "{wrong:?}");
    }
}

#[test]
fn delays_of_opposite_sign_do_not_overflow() {
    let sample = |delay| Sample {
        delay,
        packets: 10,
        marked: 10,
    };
    let marking = Marking::of(&[sample(i64::MIN), sample(i64::MAX)], 1e-3, 0.0);
    assert_ne!(marking, Marking::None);
}
