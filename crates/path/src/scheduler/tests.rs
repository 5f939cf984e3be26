use std::collections::{BTreeMap, VecDeque};

use levelflow_laws::aqm::codel::{Codel, CodelParams};
use levelflow_laws::aqm::{QUEUES, Queue, QueueInfo, Verdict, queue_params};
use levelflow_laws::{Arriving, Parameters, PortInfo, PortView};
use levelflow_units::{Buffer, Rate};
use proptest::collection::vec as list;
use proptest::prelude::*;

use super::*;

fn info(name: &str) -> &'static QueueInfo {
    QUEUES.iter().find(|q| q.name == name).unwrap()
}

fn has(name: &str, parameter: &str) -> bool {
    info(name).params.iter().any(|row| row.name == parameter)
}

/// Returns the parameters of a discipline. `changes` are in base units. All other parameters have their defaults.
fn params(name: &str, changes: &[(&str, f64)]) -> AnyQueueParams {
    let info = info(name);
    assert!(changes.iter().all(|(row, _)| has(name, row)));
    let value = |row: &levelflow_laws::ParamSpec| {
        let change = changes.iter().find(|(name, _)| *name == row.name);
        change.map_or(row.default, |&(_, value)| value)
    };
    queue_params(name, &info.params.iter().map(value).collect::<Vec<_>>()).unwrap()
}

fn scheduler(name: &str, changes: &[(&str, f64)]) -> Scheduler<u32> {
    Scheduler::new(&params(name, changes), Stream::new(1, "queue", "test")).unwrap()
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn flow(flow: u32) -> FlowKey {
    FlowKey {
        flow,
        source: flow,
        destination: 0,
        ecn: Ecn::NotCapable,
    }
}

fn packet(came: Time, size: u32, class: FlowKey, packet: u32) -> Queued<u32> {
    Queued {
        came,
        size,
        class,
        packet,
    }
}

fn take(scheduler: &mut Scheduler<u32>, now: Time) -> Option<(Queued<u32>, bool)> {
    match scheduler.dequeue(now) {
        Next::Packet(queued, marked) => Some((queued, marked)),
        Next::Shut(_) | Next::Nothing => None,
    }
}

/// Disciplines that schedule several queues.
fn several() -> Vec<&'static str> {
    let names = QUEUES.iter().map(|queue| queue.name);
    names.filter(|name| params(name, &[]).schedules()).collect()
}

#[test]
fn every_discipline_that_schedules_has_a_scheduler() {
    for name in several() {
        let found = Scheduler::<u32>::new(&params(name, &[]), Stream::new(1, "queue", "test"));
        assert!(found.is_some(), "{name} has `SCHEDULES`: add it to `Scheduler::new`");
    }
}

/// CoDel target in seconds. It is so large that no packet exceeds it.
const PATIENT: (&str, f64) = ("target", 100.0);

proptest! {
    /// Verifies that backlogged flows get equal shares (Shreedhar and Varghese 1995, theorem 2). The numbers of bytes
    /// sent by two flows differ by at most one quantum plus two maximum-size packets.
    #[test]
    fn flows_that_wait_send_the_same_within_a_quantum(
        sizes in list(list(60_u32..1514, 300), 2..6), quantum in 300.0..3000.0_f64, name in prop::sample::select(vec!["fq_codel", "cake"]),
    ) {
        let mut changes = vec![PATIENT];
        changes.extend((name == "fq_codel").then_some(("quantum", quantum.floor())));
        let mut queues = scheduler(name, &changes);
        for (i, sizes) in sizes.iter().enumerate() {
            sizes.iter().for_each(|&size| queues.enqueue(packet(us(0), size, flow(i as u32), 0)));
        }
        prop_assume!(queues.signal() as usize == sizes.len()); // each flow has its own queue
        let quantum = if name == "fq_codel" { quantum } else { 1514.0 };
        let mut sent = vec![(0_u32, 0_usize); sizes.len()];
        while sent.iter().zip(&sizes).all(|(sent, sizes)| sent.1 < sizes.len()) {
            let (queued, _) = take(&mut queues, us(1)).unwrap();
            let sent_by = &mut sent[queued.class.flow as usize];
            *sent_by = (sent_by.0 + queued.size, sent_by.1 + 1);
            let (least, most) = (sent.iter().min().unwrap().0, sent.iter().max().unwrap().0);
            prop_assert!(f64::from(most - least) <= quantum + 2.0 * 1514.0, "{sent:?}");
        }
    }

    /// Every arriving packet is sent, dropped or queued. The packets of a flow stay in order, and the counters are
    /// correct.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        steps in list((0..9_u32, 60..1514_u32, 0..2000_u64, 0..4_u8, any::<bool>()), 1..400),
        (name, limit) in (prop::sample::select(several()), 1.0..40.0_f64),
    ) {
        let changes = [("limit", limit.floor()), ("target", 0.0005)];
        let mut queues = scheduler(name, &changes[..=usize::from(has(name, "target"))]);
        let held = queues.memory_held();
        let (mut now, mut inside, mut next) = (us(0), BTreeMap::new(), 0);
        let mut last: BTreeMap<(u32, Option<usize>), u32> = BTreeMap::new();
        for (of, size, gap, ecn, arrives) in steps {
            now += Duration::from_us(gap);
            let ecn = [Ecn::NotCapable, Ecn::Classic, Ecn::Scalable, Ecn::Marked][usize::from(ecn)];
            if arrives {
                inside.insert(next, size);
                queues.enqueue(packet(now, size, FlowKey { ecn, ..flow(of) }, next));
                next += 1;
            } else {
                if gap % 3 == 0 {
                    queues.handle_interval(now);
                }
                if let Some((queued, marked)) = take(&mut queues, now) {
                    prop_assert_eq!(inside.remove(&queued.packet), Some(queued.size));
                    prop_assert!(!marked || queued.class.ecn.is_capable());
                    let latency = (queues.classes() == Classes::Latency).then(|| queued.class.ecn.latency_class());
                    let before = last.insert((queued.class.flow, latency), queued.packet);
                    prop_assert!(before.is_none_or(|before| before < queued.packet));
                }
            }
            while let Some(dropped) = queues.poll_dropped() {
                prop_assert_eq!(inside.remove(&dropped.packet), Some(dropped.size));
            }
            let bytes: u32 = inside.values().sum();
            prop_assert_eq!((queues.packets() as usize, queues.bytes().get()), (inside.len(), u64::from(bytes)));
            prop_assert!(inside.len() <= limit as usize && queues.iter().count() == inside.len());
        }
        prop_assert_eq!(queues.memory_held(), held, "memory is allocated once");
    }

    /// FQ-CoDel with one flow treats every packet as a single CoDel queue does.
    #[test]
    fn one_flow_is_under_codel(steps in list((0_u64..30_000, 60_u64..1514, any::<bool>()), 1..600), ecn in any::<bool>()) {
        let changes = [("ecn", f64::from(u8::from(ecn))), ("interval", 0.03)];
        let mut queues = scheduler("fq_codel", &changes);
        let values = [0.005, 0.03, changes[0].1];
        let params = CodelParams::read(&values).unwrap();
        let mut codel = Codel::new(&params, &PortInfo { id: 0, capacity: Rate::ZERO });
        let (mut alone, mut bytes, mut now): (VecDeque<(Time, u64, u32)>, u64, Time) = (VecDeque::new(), 0, us(0));
        for (i, (gap, size, arrives)) in steps.into_iter().enumerate() {
            now += Duration::from_us(gap / 3);
            if arrives {
                codel.on_arrival(&params, &Arriving::alone(Bytes::new(size)), 0.0);
                alone.push_back((now, size, i as u32));
                bytes += size;
                let class = FlowKey { ecn: Ecn::Classic, ..flow(3) };
                queues.enqueue(packet(now, size as u32, class, i as u32));
                continue;
            }
            let mut expected = None;
            while let Some((came, size, number)) = alone.pop_front() {
                bytes -= size;
                let behind = PortView { queue: Bytes::new(bytes), packets: alone.len() as u32, ..PortView::IDLE };
                match codel.on_departure(&params, now, now.since(came), &behind) {
                    Verdict::Pass => expected = Some((number, false)),
                    Verdict::Notify if ecn => expected = Some((number, true)),
                    Verdict::Notify | Verdict::Drop => continue,
                }
                break;
            }
            prop_assert_eq!(take(&mut queues, now).map(|(queued, marked)| (queued.packet, marked)), expected);
            prop_assert_eq!(queues.bytes().get(), bytes);
            while queues.poll_dropped().is_some() {}
        }
    }

    /// A shaper sends at most the bytes that its rate allows, plus one packet. While packets are queued, it sends at
    /// least the bytes that its rate allows, minus two packets.
    #[test]
    fn a_shaper_lets_its_rate_pass(sizes in list(60_u64..1514, 20..200), mbps in 1_u32..50) {
        let rate = f64::from(mbps) * 1e6;
        let mut line = Scheduled::new(scheduler("cake", &[("rate", rate), PATIENT]), Rate::new(1e9), Buffer::Unlimited);
        sizes.iter().enumerate().for_each(|(i, &size)| line.handle_input(us(0), Bytes::new(size), flow(i as u32 % 7), 0).unwrap());
        let mut sent = Vec::new();
        while let Some((left, _)) = line.poll_output(Time::from_ps(u64::MAX - 1)) {
            sent.push((left.at, left.size.as_bits_f64()));
        }
        prop_assert_eq!(sent.len(), sizes.len());
        let mut bits = 0.0;
        for (at, size) in sent {
            let allowed = rate * at.as_secs_f64();
            bits += size;
            prop_assert!(bits <= allowed + 1514.0 * 8.0 && bits >= allowed - 2.0 * 1514.0 * 8.0, "{bits} by {at}, not {allowed}");
        }
    }

    /// Two hosts send the same number of bytes if hosts are isolated. The hosts may be sources or destinations. The
    /// number of flows of each host has no effect.
    #[test]
    fn hosts_get_the_same_whatever_flows_they_have(many in 2_u32..12, sources in any::<bool>(), triple in any::<bool>()) {
        let isolation = if triple { 3.0 } else if sources { 1.0 } else { 2.0 };
        let mut queues = scheduler("cake", &[PATIENT, ("queues", 64.0), ("memory", 1e9), ("isolation", isolation)]);
        // Flow 0 belongs to the first host. All other flows belong to the second host. With triple isolation, each flow
        // has a different host at its other end.
        let class = |i: u32| {
            let (shared, own) = (u32::from(i > 0), if triple { 100 + i } else { 7 });
            let (source, destination) = if sources { (shared, own) } else { (own, shared) };
            FlowKey { source, destination, ..flow(i) }
        };
        for i in 0..=many {
            (0..400).for_each(|_| queues.enqueue(packet(us(0), 1000, class(i), 0)));
        }
        prop_assume!(queues.signal() as u32 == many + 1);
        let mut sent = [0_u32; 2];
        while sent[0] < 390_000 {
            let (queued, _) = take(&mut queues, us(1)).unwrap();
            sent[usize::from(queued.class.flow > 0)] += queued.size;
        }
        let spread = f64::from(sent[0]) / f64::from(sent[1]);
        prop_assert!((spread - 1.0).abs() < 0.03, "{sent:?}");
    }

    /// C sends its configured fraction of the bytes while both queues are backlogged. The tolerance is three packets. L
    /// sends the other bytes.
    #[test]
    fn classic_gets_its_share_beside_low_latency(share in 0.02..0.98_f64, sizes in list(60_u32..1514, 400)) {
        let mut queues = scheduler("dualpi2", &[("share", share), ("step", 100.0)]);
        for (i, &size) in sizes.iter().enumerate() {
            for ecn in [Ecn::Scalable, Ecn::NotCapable] {
                queues.enqueue(packet(us(0), size, FlowKey { ecn, ..flow(0) }, i as u32));
            }
        }
        let (mut sent, mut counts) = ([0.0_f64; 2], [0; 2]);
        while counts.iter().all(|&count| count < sizes.len()) {
            let (queued, _) = take(&mut queues, us(1)).unwrap();
            let classic = usize::from(queued.class.ecn == Ecn::NotCapable);
            (sent[classic], counts[classic]) = (sent[classic] + f64::from(queued.size), counts[classic] + 1);
        }
        let due = share * (sent[0] + sent[1]);
        prop_assert!((sent[1] - due).abs() <= 3.0 * 1514.0, "{sent:?}, {due} expected");
    }
}

/// A packet of a sparse flow waits only for the packet in service if no other flow is new.
#[test]
fn a_sparse_flow_waits_for_the_packet_in_service_only() {
    for name in ["fq_codel", "cake"] {
        let mut line = Scheduled::new(scheduler(name, &[]), Rate::new(12e6), Buffer::Unlimited);
        let mut sparse = 0;
        for ms in 0..2000_u64 {
            while let Some((left, _)) = line.poll_output(us(1000 * ms)) {
                if left.packet == 1 {
                    sparse += 1;
                    assert!(left.waited <= Duration::from_us(1001), "{name}: {}", left.waited);
                }
            }
            while line.poll_dropped().is_some() {}
            // The transmission of 1500 bytes takes 1 ms, so the bulk flow sends at twice the line rate.
            for _ in 0..2 {
                line.handle_input(us(1000 * ms), Bytes::new(1500), flow(0), 0).unwrap();
            }
            if ms > 100 && ms % 20 == 0 {
                line.handle_input(us(1000 * ms), Bytes::new(200), flow(1), 1).unwrap();
            }
        }
        assert!(sparse > 90, "{sparse}");
    }
}

/// RFC 8290, section 4.1: half of the bytes in the longest queue are dropped, but at most 64 packets.
#[test]
fn overload_drops_half_of_the_longest_queue_or_a_batch() {
    let lost = |bulk: u32| {
        let mut queues = scheduler("fq_codel", &[("limit", f64::from(bulk) + 9.0), PATIENT]);
        (0..10).for_each(|i| queues.enqueue(packet(us(0), 100, flow(1), 10_000 + i)));
        (0..bulk).for_each(|i| queues.enqueue(packet(us(0), 1000, flow(0), i)));
        let dropped: Vec<u32> = std::iter::from_fn(|| queues.poll_dropped())
            .map(|queued| queued.packet)
            .collect();
        assert!(
            dropped.iter().enumerate().all(|(i, &packet)| packet == i as u32),
            "from the head: {dropped:?}"
        );
        dropped.len()
    };
    assert_eq!((lost(20), lost(100), lost(300)), (10, 50, 64));
}

/// Eight flows in the same set of queues have one queue each.
#[test]
fn a_set_has_room_for_eight_flows() {
    let mut queues = scheduler("cake", &[("queues", 8.0)]);
    (0..8).for_each(|i| queues.enqueue(packet(us(0), 1000, flow(i), 0)));
    assert_eq!(queues.signal(), 8.0);
    queues.enqueue(packet(us(0), 1000, flow(8), 0));
    assert_eq!(queues.signal(), 8.0);
}

/// ECT(1) and CE packets are enqueued in L, which is served first. L is marked above the step threshold.
#[test]
fn packets_with_ect1_have_priority_and_are_marked_above_the_step() {
    let mut queues = scheduler("dualpi2", &[]);
    for ecn in [Ecn::NotCapable, Ecn::Classic, Ecn::Scalable, Ecn::Marked] {
        queues.enqueue(packet(us(0), 1000, FlowKey { ecn, ..flow(0) }, 0));
    }
    let mut left = || take(&mut queues, us(1500)).map(|(queued, marked)| (queued.class.ecn, marked));
    assert_eq!(left(), Some((Ecn::Scalable, true)));
    assert_eq!(left(), Some((Ecn::Marked, true)));
    assert_eq!(left(), Some((Ecn::NotCapable, false)));
    assert_eq!(left(), Some((Ecn::Classic, false)));
    assert_eq!(left(), None);
}

/// The packet in service continues at the new rate. It stays in service during an outage.
#[test]
fn a_line_changes_its_rate() {
    let mut line = Scheduled::new(scheduler("fq_codel", &[]), Rate::new(8e6), Buffer::Unlimited);
    (0..3).for_each(|n| line.handle_input(us(0), Bytes::new(1000), flow(0), n).unwrap());
    line.set_rate(us(500), Rate::new(4e6));
    assert_eq!(line.poll_timeout(), Some(us(1500)));
    line.set_rate(us(1000), Some(Rate::ZERO));
    assert_eq!(line.poll_output(us(50_000)), None);
    line.set_rate(us(51_000), Rate::new(8e6));
    let at = |line: &mut Scheduled<u32>| line.poll_output(us(60_000)).map(|(left, _)| left.at);
    assert_eq!(
        [at(&mut line), at(&mut line), at(&mut line)],
        [Some(us(51_250)), Some(us(52_250)), Some(us(53_250))]
    );
    assert!(line.is_empty() && line.poll_timeout().is_none());
}
