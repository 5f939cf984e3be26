//! Replays of logs of laws.

use std::sync::{Arc, Mutex};

use levelflow_laws::{
    AnyReceiver, AnyRouter, AnySender, Arrived, Arriving, Feedback, FlowInfo, Kind, LAWS, LawInfo, Loss, Outgoing,
    PortInfo, PortView, RouterLaw, SIGNALLINGS, SenderLaw, SignallingInfo, params, router_params,
};
use levelflow_sim::replay::{Replay, replay};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{
    Log, LoggedReceiver, LoggedRouter, LoggedSender, MAGIC, Reader, Record, Role, Sink, Start,
};

#[derive(Debug, Clone)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Sink for Page {
    fn write(&mut self, record: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(record);
    }
}

/// Returns the log of two senders, a router and two receivers of one law. Each sender sends a hundred packets, and some
/// packets are lost.
fn logged(law: &'static LawInfo) -> Vec<u8> {
    let page = Page(Arc::new(Mutex::new(MAGIC.to_vec())));
    let values: Vec<f64> = law.params.iter().map(|row| row.default).collect();
    let params = params(law.name, &values).unwrap();
    let of_routers: Vec<f64> = law.signalling.params.iter().map(|row| row.default).collect();
    let routers = router_params(law.signalling.name, &of_routers).unwrap();
    let log = |instance, role, values: &[f64]| Some(Log::start(page.clone(), instance, &Start::new(role, values)));
    let flow = FlowInfo::of(Bytes::new(1000));
    let port = PortInfo {
        id: 3,
        capacity: Rate::clamped(1e7),
    };
    let router = AnyRouter::new(&routers, &port);
    let mut router = LoggedRouter::with_log(router, log(0, Role::Router(law.signalling, port), &of_routers));
    let mut senders = [1, 2]
        .map(|i| LoggedSender::with_log(AnySender::new(&params, &flow), log(i, Role::Sender(law, flow), &values)));
    let mut receivers =
        [3, 4].map(|i| LoggedReceiver::with_log(AnyReceiver::default(), log(i, Role::Receiver(law.signalling), &[])));
    for number in 0..100 {
        for (i, sender) in senders.iter_mut().enumerate() {
            let now = Time::ZERO + Duration::from_us(u64::from(number) * 7_000 + i as u64 * 1_000);
            let size = sender.packet_size(&params);
            let kind = Kind::Data;
            let mut header = sender.on_send(&params, now, &Outgoing { number, size, kind });
            let packet = Arriving {
                now,
                queue: Bytes::new(40 * u64::from(number % 7)),
                ..Arriving::alone(size)
            };
            router.on_arrival(&routers, &packet, Some(&mut header));
            router.on_departure(&routers, size, &mut header);
            let next = number + 1;
            match number % 25 {
                11 => {
                    let loss = Loss {
                        number,
                        next,
                        outstanding: 1,
                    };
                    sender.on_loss(&params, now, &loss);
                }
                23 => sender.on_timeout(&params, now, next),
                _ => {
                    let arrived = Arrived { now, kind, size };
                    let header = receivers[i].reflect(&arrived, &header);
                    let feedback = Feedback::plain(number, kind, Duration::from_us(6_543), header);
                    sender.on_feedback(&params, now + Duration::from_us(500), &feedback);
                }
            }
        }
        let ack = Arriving {
            now: Time::ZERO + Duration::from_us(u64::from(number) * 7_000 + 2_000),
            ..Arriving::alone(Bytes::new(40))
        };
        router.on_arrival(&routers, &ack, None);
        if number % 10 == 9 {
            router.on_interval(&routers, Duration::from_us(70_000 + u64::from(number)), &PortView::IDLE);
        }
    }
    drop((router, senders, receivers));
    Arc::try_unwrap(page.0).unwrap().into_inner().unwrap()
}

fn of(bytes: &[u8]) -> Replay {
    replay(bytes).unwrap_or_else(|e| panic!("{e}"))
}

// **Invariant** (Laws): the replay of a log of a law's inputs gives the same states, bit by bit. This also holds for a
// log from a real network. With `real_time_and_replay_agree_bit_by_bit`.
#[test]
fn a_log_of_any_law_comes_out_the_same() {
    for law in LAWS {
        let log = logged(law);
        let done = of(&log);
        assert_eq!((&done.difference, done.truncated_at), (&None, None), "{}", law.name);
        let counts: Vec<_> = done.instances.iter().map(|i| (i.role, i.headers, i.states)).collect();
        assert_eq!(counts[0], ("router", 400, 11), "{}", law.name);
        assert_eq!(counts[1], ("sender", 100, 93), "{}", law.name);
        assert_eq!(counts[4], ("receiver", 92, 93), "{}", law.name);
    }
}

/// A flipped bit of a header or digest is detected at its record.
#[test]
fn a_difference_is_found_and_reported() {
    let log = logged(LAWS.iter().find(|law| law.name == "jetmax").unwrap());
    let mut reader = Reader::new(&log).unwrap();
    let (mut number, mut seen) = (0, 0);
    while let Some((_, record)) = reader.next_record().unwrap() {
        number += 1;
        let given = match record {
            Record::Send { header, .. } => header.len(),
            Record::Arrival { header: Some(h), .. } | Record::Departure { header: h, .. } => h.after.len(),
            Record::Reflect { header, .. } => header.after.len(),
            Record::State { .. } => 8,
            _ => continue,
        };
        seen += 1;
        let mut bad = log.clone();
        bad[reader.position() - 1 - seen % given] ^= 1 << (seen % 8);
        let difference = of(&bad).difference.expect("the flipped bit makes a difference");
        assert_eq!(difference.record, number);
        assert_ne!(difference.logged, difference.replayed);
    }
    assert!(seen > 500, "{seen}");
}

/// A data path in the kernel provides the counts for the router.
#[test]
fn counters_of_a_data_path_are_replayed() {
    let page = Page(Arc::new(Mutex::new(MAGIC.to_vec())));
    let kernel: Vec<&SignallingInfo> = SIGNALLINGS.iter().filter(|own| own.routers.kernel.is_some()).collect();
    for (instance, own) in (0..).zip(kernel.iter().copied()) {
        let values: Vec<f64> = own.params.iter().map(|row| row.default).collect();
        let params = router_params(own.name, &values).unwrap();
        let port = PortInfo {
            id: 3,
            capacity: Rate::clamped(1e7),
        };
        let log = Log::start(page.clone(), instance, &Start::new(Role::Router(own, port), &values));
        let mut router = LoggedRouter::with_log(AnyRouter::new(&params, &port), Some(log));
        for i in 1..20 {
            let mut counted = [i; 22];
            counted[..7].copy_from_slice(&[i * 1000, i, 77 * i, 3, 2, 1, 0]);
            counted[21] = i % 3;
            router.absorb(&params, &counted);
            router.on_interval(&params, Duration::from_us(10_000 + i), &PortView::IDLE);
        }
    }
    let done = of(&page.0.lock().unwrap());
    assert_eq!(done.difference, None);
    assert!(done.instances.len() == kernel.len() && done.instances.iter().all(|i| i.states == 20 && i.calls == 38));
}

/// Some flipped bits belong to inputs that the law does not use. Such a flip is no error. No flip causes a panic.
#[test]
fn damaged_logs_are_refused_or_done_again() {
    for law in ["jetmax", "xcp", "cubic", "bbr"] {
        let log = logged(LAWS.iter().find(|own| own.name == law).unwrap());
        for at in (4..log.len()).step_by(311) {
            for bit in [0, 7] {
                let mut bad = log.clone();
                bad[at] ^= 1 << bit;
                if let Err(error) = replay(&bad) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_log_that_ends_early_is_good_up_to_there() {
    let log = logged(LAWS.iter().find(|law| law.name == "rcp").unwrap());
    let whole = of(&log);
    for end in (4..log.len()).step_by(101) {
        let part = of(&log[..end]);
        assert!(part.difference.is_none() && part.records <= whole.records);
        if let Some(at) = part.truncated_at {
            assert!(at < end && end - at < 300);
            assert_eq!(of(&log[..at]).records, part.records);
        }
    }
}

#[test]
fn inputs_that_no_law_receives_are_rejected() {
    use levelflow_wire::journal::MAX_RECORD_BYTES;
    let law = LAWS.iter().find(|law| law.name == "emkc").unwrap();
    let values: Vec<f64> = law.params.iter().map(|row| row.default).collect();
    let log = |records: &[(u32, Record<'_>)]| {
        let mut log = MAGIC.to_vec();
        for (instance, record) in records {
            let mut wire = [0; MAX_RECORD_BYTES];
            let length = record.encode(*instance, &mut wire);
            log.extend_from_slice(&wire[..length]);
        }
        replay(&log).unwrap_err().to_string()
    };
    let start = |role, values: &[f64]| (0, Record::Start(Start::new(role, values)));
    let sender = start(Role::Sender(law, FlowInfo::of(Bytes::new(100))), &values);
    let receiver = start(Role::Receiver(law.signalling), &[]);
    let loss = |now| Record::Loss {
        now: Time::from_ps(now),
        loss: Loss {
            number: 1,
            next: 2,
            outstanding: 0,
        },
    };
    let state = Record::State { digest: 1 };
    for (records, says) in [
        (vec![(0, state)], "has not begun"),
        (vec![sender, sender], "begins twice"),
        (vec![receiver, (0, loss(1))], "not an input of"),
        (vec![sender, (0, loss(2)), (0, loss(1))], "time goes back"),
    ] {
        let error = log(&records);
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
    assert!(
        replay(b"LVF\x01")
            .unwrap_err()
            .to_string()
            .starts_with("not a log of laws")
    );
}
