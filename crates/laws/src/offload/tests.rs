//! Tests that compare routers with a data path that uses only the words of the law.

use std::vec::Vec;

use proptest::prelude::*;

use levelflow_units::{Duration, Rate, Time};

use super::*;
use crate::law::{Arriving, PortInfo, PortView};
use crate::{AnyHeader, AnyRouter, AnyRouterParams, WireSignalling, emkc, jetmax, level, maxnet, rcp, xcp};

/// Maps the bits of floats to integers in the same order. 0 and -0 map to the same integer.
fn order(bits: u32) -> u32 {
    match bits {
        0 | 0x8000_0000 => 0x8000_0000,
        _ if bits >> 31 == 1 => !bits,
        _ => bits | 0x8000_0000,
    }
}

/// Computes [`fixed`](crate::bytes::fixed) with integer arithmetic.
fn fixed(bits: u32, shift: i32) -> u64 {
    let exponent = (bits >> 23) as i32;
    let mantissa = u64::from(bits & 0x007f_ffff | 0x0080_0000);
    match exponent - 150 + shift {
        _ if exponent == 0 || bits >> 31 == 1 => 0,
        41.. => u64::MAX,
        up @ 0..=40 => mantissa << up,
        down @ -63..0 => mantissa >> -down,
        _ => 0,
    }
}

#[derive(Debug)]
struct DataPath {
    law: u8,
    words: Words,
    count: Counts,
    /// Index of the first counter that is not reset after an interval.
    kept: usize,
    /// Pools of XCP: positive pool, its allotment per unit, negative pool, its allotment per unit.
    pools: [f64; 4],
    /// Number of intervals started since the last packet.
    idle: u64,
    /// Thresholds of Level, for the interval of the last packet and for the previous interval.
    thresholds: [f32; 2],
}

fn get(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(header[at..at + 4].try_into().unwrap())
}

fn put(header: &mut [u8], at: usize, value: u64) {
    header[at..at + 4].copy_from_slice(&(value as u32).to_be_bytes());
}

impl DataPath {
    fn new(law: u8, words: Words) -> Self {
        let mut path = Self {
            law,
            words,
            count: Counts::default(),
            kept: 3,
            pools: [0.0; 4],
            idle: 0,
            thresholds: [0.0; 2],
        };
        if law == 3 {
            path.count[3] = words[4];
        }
        path.load(words);
        path
    }

    fn load(&mut self, words: Words) {
        self.words = words;
        self.idle += 1;
        self.pools = [0, 1, 2, 3].map(|i| f64::from_bits(words[i]));
    }

    fn collect(&mut self) -> Counts {
        let mut counted = self.count;
        counted[21] = self.idle;
        let end = match self.law {
            3 | 5 => self.kept,
            8 => 0,
            _ => 8,
        };
        self.count[..end].fill(0);
        counted
    }

    fn packet(&mut self, now: Time, size: u64, header: Option<&mut [u8]>) {
        match self.law {
            1 => self.jetmax(size, header),
            2 => self.emkc(size, header),
            3 => self.rcp(size, header),
            4 => self.maxnet(size, header),
            8 => self.level(now, size, header),
            _ => self.xcp(now.as_ps(), size, header),
        }
        self.idle = 0;
    }

    fn add(&mut self, at: usize, value: u64) {
        self.count[at] += value & 0xffff_ffff;
        self.count[at + 1] += value >> 32;
    }

    fn jetmax(&mut self, size: u64, header: Option<&mut [u8]>) {
        let header = match header {
            Some(header) if header[4] & 0x80 == 0 => header,
            _ => return self.add(2, size << 8),
        };
        let proposed = fixed(get(header, 20), 8);
        if header[6] == 255 {
            return self.add(2, proposed);
        }
        header[6] += 1;
        let [price, share, epoch, zero, ..] = self.words.map(|word| word as u32);
        let is_zero = |bits: u32| bits & 0x7fff_ffff <= zero;
        if header[6] == header[5] {
            self.add(0, proposed);
            self.add(4, fixed(get(header, 24), 44));
            header[4] |= if is_zero(price) { 0x40 } else { 0 };
        } else {
            self.add(2, proposed);
        }
        let (their_price, their_share) = (get(header, 12), get(header, 16));
        let (positive, finite) = (
            |bits| order(bits) > order(0),
            |bits| order(bits) < order(f32::MAX.to_bits()),
        );
        let limits = if header[7] == 0 {
            true
        } else if !(is_zero(price) && is_zero(their_price)) {
            order(price) > order(their_price)
        } else if !finite(share) {
            positive(price) && !positive(their_price)
        } else if !finite(their_share) {
            positive(price) || !positive(their_price)
        } else {
            order(share) < order(their_share)
        };
        if order(price) > order(their_price) {
            put(header, 12, price.into());
        }
        if limits {
            put(header, 16, share.into());
            header[7] = header[6];
            header[4] = header[4] & 0xf0 | epoch as u8 & 0x0f;
        }
    }

    fn emkc(&mut self, size: u64, header: Option<&mut [u8]>) {
        self.count[0] += size;
        if let Some(header) = header
            && order(self.words[2] as u32) > order(get(header, 8))
        {
            for (at, word) in (0..16).step_by(4).zip(self.words) {
                put(header, at, word);
            }
        }
    }

    fn maxnet(&mut self, size: u64, header: Option<&mut [u8]>) {
        self.count[0] += size;
        if let Some(header) = header {
            let own = self.words[usize::from(header[5] >> 7)] as u32;
            let theirs = get(header, 4) & 0x00ff_ffff;
            header[5..8].copy_from_slice(&own.max(theirs).to_be_bytes()[1..]);
        }
    }

    fn rcp(&mut self, size: u64, header: Option<&mut [u8]>) {
        self.count[0] += size;
        let Some(header) = header else { return };
        let rtt = f32::from_bits(get(header, 4));
        let [rate, max, gain, rest, _, longest, ..] = self.words;
        if rtt > 0.0 {
            let sample = f64::from(rtt).clamp(1e-6, f64::from_bits(longest));
            if max == 1 {
                self.count[1] = self.count[1].max(sample.to_bits());
            } else {
                let mean = f64::from_bits(gain) * sample + f64::from_bits(rest) * f64::from_bits(self.count[3]);
                self.count[3] = mean.to_bits();
            }
        }
        put(header, 0, rate.min(get(header, 0).into()));
    }

    fn level(&mut self, now: Time, size: u64, header: Option<&mut [u8]>) {
        if self.idle > 0 {
            let before: [u64; 8] = self.count[3..11].try_into().unwrap();
            self.count[11..19].copy_from_slice(&if self.idle == 1 { before } else { [0; 8] });
            self.count[3..11].fill(0);
            self.thresholds = [2, 3].map(|i| f32::from_bits(self.words[i] as u32));
        }
        if self.count[3] == 0 {
            self.count[3] = !now.as_ps();
        }
        let wait = self.count[19].saturating_sub(now.as_ps());
        let wait = (wait + size * self.words[4] / 1024).min(self.words[5]);
        self.count[19] = now.as_ps() + wait;
        let header = match header {
            Some(header) if header[0] & 0x80 == 0 && header[1] < 255 => header,
            _ => return self.count[4] += size << 7,
        };
        header[1] += 1;
        let [lowest, second, new_lowest, new_second, proposal, gap, spare] =
            [4, 8, 12, 16, 20, 24, 28].map(|at| f32::from_bits(get(header, at)));
        let elsewhere = if header[1] == header[2] { second } else { lowest };
        let queued = u64::from(get(header, 31) & 0x00ff_ffff);
        let after = (queued + wait / 64_000).min(0x00ff_ffff) as u32;
        header[32..35].copy_from_slice(&after.to_be_bytes()[1..]);
        let unqueued = Time::from_ps(now.as_ps().saturating_sub(queued * 64_000));
        let into = unqueued.since(Time::from_ps(!self.count[3])).as_secs_f64() as f32;
        self.level_flow(3, self.thresholds[0], gap.min(into), proposal, elsewhere);
        let longest_gap = f32::from_bits((self.count[10] >> 32) as u32);
        let longest_gap = if elsewhere >= self.thresholds[0] && gap > longest_gap {
            gap
        } else {
            longest_gap
        };
        self.count[10] = u64::from(longest_gap.to_bits()) << 32 | (self.count[10] & 0xffff_ffff).max(queued);
        if gap > into {
            self.level_flow(11, self.thresholds[1], gap - into, proposal, elsewhere);
        }
        let level = f32::from_bits(self.words[0] as u32);
        if level < new_lowest || header[3] == 0 {
            put(header, 16, new_lowest.to_bits().into());
            put(header, 12, level.to_bits().into());
            header[3] = header[1];
        } else if level < new_second {
            put(header, 16, level.to_bits().into());
        }
        let left = self.words[1].wrapping_sub(self.count[20]).cast_signed().max(0) as f32;
        let granted = if left < spare { left } else { spare };
        put(header, 28, granted.to_bits().into());
        if header[0] & 0x40 != 0 {
            let increase = if header[2] == 0 { spare } else { granted };
            self.count[20] = self.count[20].wrapping_add(fixed(increase.to_bits(), 0));
        }
    }

    fn level_flow(&mut self, at: usize, threshold: f32, gap: f32, proposal: f32, elsewhere: f32) {
        let add = |sum: &mut u64, value: f32, shift| *sum = sum.saturating_add(fixed(value.to_bits(), shift));
        let [_, _, proposed, gaps, gaps_below, below, extremes] = &mut self.count[at..at + 7] else {
            unreachable!()
        };
        let mut largest = f32::from_bits(*extremes as u32);
        let mut least = f32::from_bits((*extremes >> 32) as u32 ^ f32::MAX.to_bits());
        add(proposed, proposal * gap, 4);
        add(gaps, gap, 44);
        if elsewhere < threshold {
            add(gaps_below, gap, 44);
            add(below, elsewhere * gap, 4);
            largest = if elsewhere > largest { elsewhere } else { largest };
        } else if elsewhere < least {
            least = elsewhere;
        }
        *extremes = u64::from(least.to_bits() ^ f32::MAX.to_bits()) << 32 | u64::from(largest.to_bits());
    }

    fn xcp(&mut self, now: u64, size: u64, header: Option<&mut [u8]>) {
        let [.., queue, window, max, longest] = self.words;
        self.count[0] += size;
        self.count[4] = self.count[4].min(queue);
        if now >= self.count[5] {
            self.count[3] = self.count[4];
            self.count[4] = queue;
            self.count[5] = now.checked_add(window).unwrap_or(now);
        }
        let Some(header) = header else { return };
        let [gap, rtt] = [4, 8].map(|at| f64::from(f32::from_bits(get(header, at))));
        if rtt == 0.0 {
            return put(header, 16, 0);
        }
        let clamped = rtt.clamp(1e-6, f64::from_bits(longest));
        let gap = gap.min(clamped);
        self.count[1] = (f64::from_bits(self.count[1]) + gap).to_bits();
        self.count[2] = if max == 1 {
            self.count[2].max(clamped.to_bits())
        } else {
            (f64::from_bits(self.count[2]) + gap * clamped).to_bits()
        };
        let asked = f64::from(f32::from_bits(get(header, 16)));
        let delta = self.grant(gap, size as f64, asked);
        if let Some(delta) = delta {
            put(header, 16, delta.to_bits().into());
        }
    }

    fn grant(&mut self, gap: f64, size: f64, asked: f64) -> Option<f32> {
        let [pos, pos_unit, neg, neg_unit] = self.pools;
        let mut granted = (pos_unit * gap).min(pos);
        let mut reclaimed = (neg_unit * size).min(neg);
        let own = granted - reclaimed;
        let delta = (asked >= own).then(|| own.clamp(f32::MIN.into(), f32::MAX.into()) as f32);
        if delta.is_none() {
            let asked = asked.max(-reclaimed);
            reclaimed = (reclaimed + (own - asked)).min(neg);
            granted = asked + reclaimed;
        }
        for (left, taken) in [(0, granted), (2, reclaimed)] {
            self.pools[left] = (self.pools[left] - taken).max(0.0);
            if self.pools[left] == 0.0 {
                self.pools[left + 1] = 0.0;
            }
        }
        delta
    }
}

#[derive(Debug, Clone)]
struct Packet {
    after: u64,
    size: u64,
    ack: bool,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Interval {
    packets: Vec<Packet>,
    queue: u64,
    view: PortView,
}

/// Generates floats for a header. Edge cases are frequent.
fn floats() -> impl Strategy<Value = u32> {
    let edges = [
        0.0,
        -0.0,
        f32::MIN,
        f32::MAX,
        f32::INFINITY,
        f32::MIN_POSITIVE,
        1e-45,
        1e-5,
        -1e-5,
        1.0,
        0.01,
        1e-8,
        100.0,
        1e6,
        -1e6,
        2e7,
    ];
    prop_oneof![
        2 => prop::sample::select(edges.to_vec()).prop_map(f32::to_bits),
        3 => (0.0..1.0f32).prop_map(f32::to_bits),
        2 => (500.0..2000.0f32).prop_map(f32::to_bits),
        1 => (1e3..1e8f32).prop_map(f32::to_bits),
        1 => any::<u32>(),
    ]
}

fn packets(law: u8) -> impl Strategy<Value = Packet> {
    let header = (prop::collection::vec(floats(), 9), prop::array::uniform4(0..4u8)).prop_map(move |(words, small)| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        match law {
            1 => bytes[4..8].copy_from_slice(&[small[0] << 6 | small[1], small[1], small[2], small[3]]),
            4 => bytes[..2].copy_from_slice(&[42, 8]),
            5 => bytes[..4].copy_from_slice(&[0, 20, 0x33, 0]),
            8 => {
                bytes[..4].copy_from_slice(&[(small[0] << 6), small[1], small[2], small[3]]);
                if small[3] > 0 {
                    let queued = [0, 1, 125_000, 0x00ff_fffe_u32][usize::from(small[1])];
                    bytes[32..35].copy_from_slice(&queued.to_be_bytes()[1..]);
                }
            }
            _ => {}
        }
        if law == 1 && small == [3; 4] {
            bytes[6] = 255;
        }
        bytes
    });
    (0..3_000_000_000_u64, 64..1500_u64, prop::bool::weighted(0.1), header).prop_map(|(after, size, ack, bytes)| {
        Packet {
            after,
            size,
            ack,
            bytes,
        }
    })
}

fn intervals(law: u8) -> impl Strategy<Value = Vec<Interval>> {
    let queues = (0..200_000_u64, 0..100_000_u64, 0..100_u32);
    let interval =
        (prop::collection::vec(packets(law), 0..60), queues).prop_map(|(packets, (queue, dropped, waiting))| {
            Interval {
                packets,
                queue,
                view: PortView {
                    queue: Bytes::new(queue),
                    packets: waiting,
                    in_service: Bytes::new(queue / (u64::from(waiting) + 1)),
                    dropped: Bytes::new(dropped),
                },
            }
        });
    prop::collection::vec(interval, 1..12)
}

fn agree<S: WireSignalling>(params: &AnyRouterParams, intervals: &[Interval]) -> Result<(), TestCaseError> {
    let port = PortInfo {
        id: 7,
        capacity: Rate::new(10e6).unwrap(),
    };
    let mut exact = AnyRouter::new(params, &port);
    let mut offloaded = exact.clone();
    let mut path = DataPath::new(S::INFO.number, offloaded.words(params, Bytes::ZERO));
    let (mut now, mut closed) = (Time::ZERO, Time::ZERO);
    let mut queue = 0;
    for interval in intervals {
        for packet in &interval.packets {
            now += Duration::from_ps(packet.after);
            prop_assert!(packet.bytes.len() >= S::INFO.header_bytes());
            let header = AnyHeader::decode(&S::INFO, &packet.bytes).ok().filter(|_| !packet.ack);
            let arriving = Arriving {
                now,
                queue: Bytes::new(queue),
                ..Arriving::alone(Bytes::new(packet.size))
            };
            let mut own = header;
            exact.on_arrival(params, &arriving, own.as_mut());
            if let Some(own) = &mut own
                && exact.stamps_departures()
            {
                exact.on_departure(params, arriving.size, own);
            }
            let mut bytes = packet.bytes.clone();
            path.packet(now, packet.size, header.map(|_| &mut bytes[..]));
            let mut expected = packet.bytes.clone();
            if let Some(own) = own {
                own.encode(&mut expected);
            }
            prop_assert_eq!(bytes, expected);
        }
        now += Duration::from_us(1);
        offloaded.absorb(params, &path.collect());
        for router in [&mut exact, &mut offloaded] {
            router.on_interval(params, now.since(closed), &interval.view);
        }
        prop_assert_eq!(&exact, &offloaded);
        prop_assert_eq!(
            std::format!("{exact:?}"),
            std::format!("{offloaded:?}"),
            "0 and -0 are equal, but have different bits"
        );
        (closed, queue) = (now, interval.queue);
        path.load(offloaded.words(params, Bytes::new(queue)));
    }
    Ok(())
}

fn params<S: WireSignalling>(changes: &[(&str, f64)]) -> AnyRouterParams {
    let value = |spec: &crate::ParamSpec| {
        let change = changes.iter().find(|(name, _)| *name == spec.name);
        change.map_or(spec.default, |(_, value)| *value)
    };
    let values: Vec<f64> = S::INFO.params.iter().map(value).collect();
    crate::router_params(S::INFO.name, &values).unwrap()
}

macro_rules! a_data_path_leaves_the_state_of_the_law {
    ($($name:ident: $signals:ty, $changes:expr;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(64))]
            $(#[test]
            fn $name(intervals in intervals(<$signals as WireSignalling>::INFO.number)) {
                agree::<$signals>(&params::<$signals>($changes), &intervals)?;
            })+
        }
    };
}

a_data_path_leaves_the_state_of_the_law! {
    jetmax_in_a_data_path: jetmax::Signals, &[];
    emkc_in_a_data_path: emkc::Signals, &[];
    rcp_in_a_data_path: rcp::Signals, &[];
    rcp_by_the_longest_in_a_data_path: rcp::Signals, &[("rtt", 1.0)];
    maxnet_in_a_data_path: maxnet::Signals, &[];
    level_in_a_data_path: level::Signals, &[];
    xcp_in_a_data_path: xcp::Signals, &[];
    xcp_by_the_longest_in_a_data_path: xcp::Signals, &[("rtt", 1.0)];
}
