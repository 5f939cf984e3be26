use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::collection::vec as list;

use super::{Codel, CodelParams};
use crate::aqm::{Queue, Verdict};
use crate::conformance::check;
use crate::{Arriving, Parameters, PortInfo, PortView};

const PACKET: Bytes = Bytes::new(1000);

fn params() -> CodelParams {
    let values: Vec<f64> = CodelParams::TABLE.iter().map(|row| row.default).collect();
    CodelParams::read(&values).unwrap()
}

fn codel(params: &CodelParams) -> Codel {
    let port = PortInfo {
        id: 1,
        capacity: Rate::ZERO,
    };
    let mut codel = Codel::new(params, &port);
    codel.on_arrival(params, &Arriving::alone(PACKET), 0.0);
    codel
}

fn at(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn port(packets: u32) -> PortView {
    PortView {
        queue: Bytes::new(u64::from(packets) * PACKET.get()),
        packets,
        ..PortView::IDLE
    }
}

/// Returns the drop times, in ms. Each ms, one packet leaves with a queueing delay of `waited(ms)` us.
fn drops(codel: &mut Codel, params: &CodelParams, ms: core::ops::Range<u64>, waited: impl Fn(u64) -> u64) -> Vec<u64> {
    let dropped = |&ms: &u64| {
        let verdict = codel.on_departure(params, at(1000 * ms), Duration::from_us(waited(ms)), &port(9));
        assert_ne!(verdict, Verdict::Drop, "the queue decides between mark and drop");
        verdict == Verdict::Notify
    };
    ms.filter(dropped).collect()
}

#[test]
fn drops_come_at_the_sums_of_interval_over_sqrt_count() {
    let params = params();
    let measured = drops(&mut codel(&params), &params, 0..2000, |_| 20_000);
    // Packets are late from 0 ms on. Therefore the first drop is at 100 ms. Due times do not depend on which packets
    // are dropped.
    let mut expected = Vec::from([100]);
    let mut planned = 100.0;
    for count in 1..1000 {
        planned += 100.0 / f64::from(count).sqrt();
        expected.push(planned.ceil() as u64);
    }
    expected.retain(|&ms| ms < 2000);
    assert!(expected.len() > 90, "{} drops", expected.len());
    assert_eq!(measured, expected);
}

#[test]
fn a_packet_in_time_or_with_at_most_one_behind_it_begins_the_interval_anew() {
    let params = params();
    let punctual = |ms| if ms == 99 { 4999 } else { 5000 };
    assert_eq!(drops(&mut codel(&params), &params, 0..205, punctual), [200]);

    let mut codel = codel(&params);
    for ms in 0..1000 {
        let behind = u32::from(ms % 100 != 99) * 8 + 1;
        let verdict = codel.on_departure(&params, at(1000 * ms), Duration::from_secs(1), &port(behind));
        assert_eq!(verdict, Verdict::Pass, "{ms} ms");
    }
}

#[test]
fn dropping_resumes_its_count_within_16_intervals() {
    let params = params();
    // Drops are due at 100, 200, 270.7, 328.4, 378.4 and 423.2 ms. Each drop after the first adds 1 to the count. If
    // late packets follow, the next drop is due at 463.9 ms. Packets are late again from `end` on. The next drop is at
    // `end + 100`, and the time of the drop after it depends on the count.
    let cases = [
        (430, 500, 5.0),
        (430, 1960, 5.0),
        (430, 1970, 1.0),
        (425, 1920, 5.0),
        (425, 1930, 1.0),
        (425, 9000, 1.0),
    ];
    for (begin, end, count) in cases {
        let waited = |ms| if (begin..end).contains(&ms) { 0 } else { 20_000 };
        let drops = drops(&mut codel(&params), &params, 0..end + 300, waited);
        assert_eq!(drops[..6], [100, 200, 271, 329, 379, 424]);
        let second = end as f64 + 100.0 + 100.0 / f64::sqrt(count);
        assert_eq!(drops[6..8], [end + 100, second.ceil() as u64], "pause until {end} ms");
    }
}

/// Reference implementation: `deque` (section 5.5) and `dodequeue` (section 5.6) of the RFC, which drop packets in a
/// loop.
#[derive(Default)]
struct Rfc8289 {
    queue: VecDeque<(u32, Time, Bytes)>,
    largest: Bytes,
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: Vec<u32>,
}

impl Rfc8289 {
    fn dodequeue(&mut self, params: &CodelParams, now: Time) -> (Option<(u32, Bytes)>, bool) {
        let Some((number, since, size)) = self.queue.pop_front() else {
            self.first_above_time = None;
            return (None, false);
        };
        let bytes: Bytes = self.queue.iter().map(|packet| packet.2).sum();
        let mut ok_to_drop = false;
        if now - since < params.target || bytes <= self.largest {
            self.first_above_time = None;
        } else if let Some(time) = self.first_above_time {
            ok_to_drop = now >= time;
        } else {
            self.first_above_time = Some(now + params.interval);
        }
        (Some((number, size)), ok_to_drop)
    }

    fn deque(&mut self, params: &CodelParams, now: Time) -> Option<(u32, Bytes)> {
        let law = |t: Time, count: u32| {
            let gap = params.interval.as_ps() as f64 / f64::from(count).sqrt();
            t + Duration::from_ps(gap as u64)
        };
        let (mut packet, mut ok_to_drop) = self.dodequeue(params, now);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.dropped.extend(packet.map(|p| p.0));
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(params, now);
                if ok_to_drop {
                    self.drop_next = law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.dropped.extend(packet.map(|p| p.0));
            (packet, _) = self.dodequeue(params, now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            let recent = now < self.drop_next + params.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

/// Compares each drop with the reference implementation, for bursts over a link that sends 1000 bytes per ms.
#[test]
fn the_same_packets_are_dropped_as_by_the_code_of_the_rfc() {
    let params = params();
    let burst = (0..200_000_u64, 1..200_u32, 100..1500_u64);
    check(list(burst, 1..60), |bursts| {
        let (mut rfc, mut ours) = (Rfc8289::default(), codel(&params));
        rfc.largest = PACKET;
        let (mut queue, mut dropped) = (VecDeque::new(), Vec::new());
        let (mut now, mut free_at, mut number) = (Time::ZERO, Time::ZERO, 0);
        for (gap, count, size) in bursts {
            now += Duration::from_us(gap);
            while free_at <= now && !queue.is_empty() {
                let expected = rfc.deque(&params, free_at);
                let left = deque(&mut ours, &params, free_at, &mut queue, &mut dropped);
                assert_eq!(left, expected);
                let Some((_, size)) = left else { break };
                free_at += Duration::from_us(size.get());
            }
            free_at = free_at.max(now);
            for _ in 0..count {
                let packet = (number, now, Bytes::new(size));
                rfc.queue.push_back(packet);
                rfc.largest = rfc.largest.max(packet.2);
                ours.on_arrival(&params, &Arriving::alone(packet.2), 0.0);
                queue.push_back(packet);
                number += 1;
            }
        }
        assert_eq!(dropped, rfc.dropped);
    });
}

/// Returns number and size of the next packet that `codel` passes.
fn deque(
    codel: &mut Codel,
    params: &CodelParams,
    now: Time,
    queue: &mut VecDeque<(u32, Time, Bytes)>,
    dropped: &mut Vec<u32>,
) -> Option<(u32, Bytes)> {
    while let Some((number, since, size)) = queue.pop_front() {
        let behind = PortView {
            queue: queue.iter().map(|packet| packet.2).sum(),
            packets: queue.len() as u32,
            ..PortView::IDLE
        };
        match codel.on_departure(params, now, now - since, &behind) {
            Verdict::Pass => return Some((number, size)),
            _ => dropped.push(number),
        }
    }
    None
}
