//! Tests that the kernel program, which the kernel executes on generated packets, agrees with the laws.

use std::collections::BTreeMap;

use aya::programs::{TestRun, TestRunOptions};
use levelflow_laws::{
    AnyHeader, AnyRouterParams, AnySender, Arriving, Feedback, FlowInfo, Kind, LAWS, Outgoing, PortView, SenderLaw,
    Unit,
};
use levelflow_units::{Duration, Rate, Time};
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::*;
use levelflow_path::port::{self, PacketClass};

const ETHERNET: usize = 14;
/// Shortest packet on which the kernel executes programs; it has a complete IP header.
const SHORTEST: usize = ETHERNET + 40;
/// Length of `struct __sk_buff`, and offsets of the fields that tests set.
const CONTEXT: usize = 192;
const WIRE_LENGTH: usize = 160;
const SEGMENTS: usize = 164;
const SEGMENT: usize = 176;

fn be16(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// Returns the offset of the UDP header and the range of the payload, for frames that the program processes.
fn datagram(frame: &[u8]) -> Option<(usize, std::ops::Range<usize>)> {
    let ip = frame.get(ETHERNET..)?;
    let (udp, end) = match (be16(frame, 12), ip.first()? >> 4) {
        (0x0800, 4) if ip.len() >= 20 && ip[0] >= 0x45 => {
            let whole = be16(ip, 6) & 0x3fff == 0;
            (whole && ip[9] == 17).then(|| (usize::from(ip[0] & 15) * 4, be16(ip, 2)))?
        }
        (0x86dd, 6) if ip.len() >= 40 => match ip[6] {
            17 => (40, 40 + be16(ip, 4)),
            0 if *ip.get(40)? == 17 => (48 + 8 * usize::from(*ip.get(41)?), 40 + be16(ip, 4)),
            _ => return None,
        },
        _ => return None,
    };
    let length = ip.get(udp..udp + 8).map(|header| be16(header, 4))?;
    let fits = length >= 8 + SHIM_BYTES && udp + length <= end && end <= ip.len();
    fits.then_some((ETHERNET + udp, ETHERNET + udp + 8..ETHERNET + udp + length))
}

/// Returns the ones' complement sum of a datagram and its pseudo header, in 16-bit words; 0xffff for a valid checksum.
fn sum(frame: &[u8], udp: usize, end: usize) -> u32 {
    let addresses = if frame[12] == 8 { 26..34 } else { 22..54 };
    let words = |bytes: &[u8]| -> u64 {
        bytes
            .chunks(2)
            .map(|c| u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0)))
            .sum()
    };
    let mut sum = words(&frame[addresses]) + words(&frame[udp..end]) + 17 + (end - udp) as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

#[derive(Debug, Clone)]
struct Frame {
    bytes: Vec<u8>,
    /// Payload size of the segments that the device will create; 0 for no segmentation.
    segment: usize,
}

/// Builds a frame with a datagram, with or without a checksum.
fn frame(six: bool, extra: usize, checksum: bool, payload: &[u8]) -> Vec<u8> {
    let udp_length = 8 + payload.len();
    let mut bytes = vec![2; 12];
    if six {
        bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        let hop = if extra > 0 { 8 } else { 0 };
        bytes.extend(((udp_length + hop) as u16).to_be_bytes());
        bytes.extend([if hop > 0 { 0 } else { 17 }, 64]);
        bytes.extend((0..32).map(|i| i * 7 + 1));
        bytes.extend(&[17, 0, 1, 4, 0, 0, 0, 0][..hop]);
    } else {
        let header = 20 + 4 * extra;
        bytes.extend([0x08, 0, 0x45 + extra as u8, 0]);
        bytes.extend(((header + udp_length) as u16).to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 9, 8, 7, 10, 3, 2, 1]);
        bytes.extend(vec![1; 4 * extra]);
    }
    let udp = bytes.len();
    bytes.extend([0x12, 0x34, 0x56, 0x78]);
    bytes.extend((udp_length as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    if checksum || six {
        let sum = !sum(&bytes, udp, bytes.len()) as u16;
        let sum = if sum == 0 { 0xffff } else { sum };
        bytes[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// Floats of a header, mostly near the minimum or maximum of their range.
fn floats() -> impl Strategy<Value = u32> {
    let edges = [
        0.0,
        -0.0,
        f32::MIN,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        1e-45,
        1e-5,
        -1e-5,
        1.0,
        100.0,
        1e6,
        -1e6,
    ];
    prop_oneof![
        2 => prop::sample::select(edges.to_vec()).prop_map(f32::to_bits),
        4 => (0.0..1.0f32).prop_map(f32::to_bits),
        2 => (500.0..2000.0f32).prop_map(f32::to_bits),
        1 => (1e3..1e8f32).prop_map(f32::to_bits),
        1 => any::<u32>(),
    ]
}

/// Returns a header of the law with plausible values, from four numbers between 0 and 1.
fn usual(law: u8, [a, b, c, d]: [f32; 4]) -> [f32; 8] {
    match law {
        1 => [0.0, 0.0, 0.0, a - b, 1e7 * c, 1500.0 * d, 0.1 * b, 0.0],
        2 => [a, b, 1.0 - 8.0 * c, d, a, 0.0, 0.0, 0.0],
        3 => [2e7 * a, b, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        5 => [
            0.0,
            0.01 * a,
            b,
            0.0,
            if c > 0.5 { f32::INFINITY } else { 1e4 * (d - 0.5) },
            0.0,
            0.0,
            0.0,
        ],
        8 => [0.0, 1e7 * a, 1e7 * b, 2e7 * c, 2e7 * d, 1e7 * c, 0.01 * d, 0.0],
        _ => [a; 8],
    }
}

/// Payloads with shim and header, mostly valid, followed by random bytes.
fn payloads(signalling: u8, header_bytes: u8) -> impl Strategy<Value = Vec<u8>> {
    let parts = (
        prop::collection::vec(floats(), 8),
        prop::array::uniform4(0.0..1.0f32),
        prop::array::uniform4(0..4u8),
        prop::collection::vec(any::<u8>(), 16),
        0..160_usize,
        0..40_u8,
    );
    parts.prop_map(move |(mut words, tame, small, noise, rest, oddity)| {
        if small[2] > 0 {
            words = usual(signalling, tame).map(f32::to_bits).to_vec();
        }
        let mut bytes = vec![b'L', b'V', b'F', 1, small[0] & 1, 0, signalling, header_bytes];
        bytes.extend(noise);
        let at = bytes.len();
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.truncate(at + usize::from(header_bytes));
        match signalling {
            1 => bytes[at + 4..at + 8].copy_from_slice(&[small[0] << 6 | small[1], small[1], small[2], small[3]]),
            4 => bytes[at..at + 2].copy_from_slice(&[42, 8]),
            5 => bytes[at..at + 4].copy_from_slice(&[0, 20, 0x33, 0]),
            8 => {
                bytes[at..at + 4].copy_from_slice(&[small[0] << 6, small[1], small[2], small[3]]);
                if small[2] > 0 {
                    let queued = [0, 1, 125_000, 0x00ff_fffe_u32][usize::from(small[1])];
                    bytes[at + 28..at + 31].copy_from_slice(&queued.to_be_bytes()[1..]);
                }
            }
            _ => {}
        }
        bytes.extend(vec![oddity; rest]);
        match oddity {
            0..=3 => bytes[4] = 3,
            4 => bytes[4] = 4,
            5 => bytes[3] = 2,
            6 => bytes[6] ^= 1,
            7 => bytes[7] += 1,
            8 => bytes[7] = 255,
            9 => bytes.truncate(at + 3),
            10 if signalling == 1 => bytes[at + 6] = 255,
            10 if signalling == 8 => bytes[at + 1] = 255,
            11 => bytes[at + 1] ^= 0x80,
            _ => {}
        }
        bytes
    })
}

fn frames(signalling: u8, header_bytes: u8) -> impl Strategy<Value = Frame> {
    let one = (payloads(signalling, header_bytes), any::<(bool, bool)>(), 0..12_usize).prop_map(
        |(payload, (six, sum), extra)| Frame {
            bytes: frame(six, extra.saturating_sub(8), sum, &payload),
            segment: 0,
        },
    );
    let many = (
        prop::collection::vec(payloads(signalling, header_bytes), 2..9),
        any::<bool>(),
        1..190_usize,
    );
    let many = many.prop_map(|(payloads, six, last)| {
        let mut payload = Vec::new();
        for mut part in payloads {
            part.resize(190, 9);
            payload.extend(part);
        }
        payload.truncate(payload.len() - 190 + last);
        Frame {
            bytes: frame(six, 0, true, &payload),
            segment: 190,
        }
    });
    let broken = (
        payloads(signalling, header_bytes),
        any::<bool>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
    );
    let broken = broken.prop_map(|(payload, six, at, cut, value)| {
        let mut bytes = frame(six, 0, true, &payload);
        let at = at.index(50);
        bytes[at] = value;
        if value < 100 {
            bytes.truncate(SHORTEST + cut.index(bytes.len() - SHORTEST + 1));
        }
        Frame { bytes, segment: 0 }
    });
    let noise = prop::collection::vec(any::<u8>(), SHORTEST..200).prop_map(|bytes| Frame { bytes, segment: 0 });
    prop_oneof![8 => one, 2 => many, 3 => broken, 1 => noise]
}

/// Reference: the law itself, called for each packet.
struct Exact {
    params: AnyRouterParams,
    law: AnyRouter,
    queue: u64,
    traffic: Traffic,
}

impl Exact {
    fn new(params: &AnyRouterParams, info: &PortInfo) -> Self {
        Self {
            params: params.clone(),
            law: AnyRouter::new(params, info),
            queue: 0,
            traffic: Traffic::default(),
        }
    }

    fn packet(&mut self, now: Time, size: usize, payload: &mut [u8]) {
        let arriving = Arriving {
            now,
            queue: Bytes::new(self.queue),
            ..Arriving::alone(Bytes::new(size as u64))
        };
        self.traffic.packets += 1;
        self.traffic.bytes += size as u64;
        match port::header(self.params.signalling(), payload) {
            Ok(mut header) => {
                self.traffic.stamped += 1;
                self.law.on_arrival(&self.params, &arriving, Some(&mut header));
                if self.law.stamps_departures() {
                    self.law.on_departure(&self.params, arriving.size, &mut header);
                }
                header.encode(&mut payload[SHIM_BYTES..]);
            }
            Err(class) => {
                self.law.on_arrival(&self.params, &arriving, None);
                self.traffic.acks += u64::from(class == PacketClass::Ack);
                self.traffic.refused += u64::from(class == PacketClass::Refused);
            }
        }
    }

    /// Returns the expected frame after the router, except for its checksum.
    fn frame(&mut self, now: Time, frame: &Frame) -> Vec<u8> {
        let mut bytes = frame.bytes.clone();
        let Some((_, payload)) = datagram(&bytes) else {
            self.packet(now, frame.bytes.len(), &mut []);
            return bytes;
        };
        let headers = bytes.len() - payload.len();
        let part = if frame.segment == 0 {
            payload.len()
        } else {
            frame.segment
        };
        for part in bytes[payload].chunks_mut(part) {
            self.packet(now, headers + part.len(), part);
        }
        bytes
    }
}

/// Makes the kernel run the program on a frame.
fn pass(program: &mut Program, frame: &Frame) -> Vec<u8> {
    let mut context = [0; CONTEXT];
    let mut out = vec![0; frame.bytes.len() + 64];
    if frame.segment > 0 {
        let payload = datagram(&frame.bytes).unwrap().1;
        let parts = payload.len().div_ceil(frame.segment);
        let wire = frame.bytes.len() + (parts - 1) * (frame.bytes.len() - payload.len());
        for (at, value) in [(WIRE_LENGTH, wire), (SEGMENTS, parts), (SEGMENT, frame.segment)] {
            context[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
        }
    }
    let options = TestRunOptions {
        data_in: Some(&frame.bytes),
        data_out: Some(&mut out),
        ctx_in: Some(&context),
        ..TestRunOptions::new()
    };
    let result = program.classifier().unwrap().test_run(options);
    let result = result.unwrap_or_else(|e| panic!("{e:?}: {frame:02x?}"));
    assert_eq!(result.return_value, u32::MAX, "packets continue to the next program");
    out.truncate(result.data_size_out as usize);
    out
}

fn compare(frame: &Frame, expected: &[u8], mut passed: Vec<u8>) {
    let before = &frame.bytes;
    if let Some((udp, payload)) = datagram(before)
        && passed.len() == before.len()
        && frame.segment == 0
    {
        if be16(before, udp + 6) == 0 {
            assert_eq!(be16(&passed, udp + 6), 0, "a checksum was added");
        } else if sum(before, udp, payload.end) == 0xffff {
            assert_eq!(sum(&passed, udp, payload.end), 0xffff, "checksum of {before:02x?}");
        }
        passed[udp + 6..udp + 8].copy_from_slice(&before[udp + 6..udp + 8]);
    }
    assert_eq!(passed, expected, "{before:02x?}");
}

/// Returns the time at which the program processed the latest packet.
fn seen(program: &Program) -> Time {
    let state: Array<_, [u64; 26]> = program.map("STATE").unwrap();
    Time::from_ps(state.get(&0, F_LOCK).unwrap()[2])
}

fn port(bps: f64) -> PortInfo {
    PortInfo {
        id: 7,
        capacity: Rate::new(bps).unwrap(),
    }
}

/// Verifies that the program and the law agree for a number of intervals; returns false if the program cannot be
/// loaded.
fn agree(law: &str, changes: &BTreeMap<String, serde_json::Value>, intervals: usize) -> bool {
    let params = levelflow_scenario::signalling_params(law, changes).unwrap().0;
    let info = port(10e6);
    let mut program = match Program::load(&params, &info) {
        Ok(program) => program,
        Err(e) => {
            let lacks = if levelflow_net_testing::COMPILED {
                "root"
            } else {
                "clang"
            };
            levelflow_net_testing::skip(&format!("{law} in the kernel"), lacks, e);
            return false;
        }
    };
    let number = params.signalling().number;
    let mut offloaded = AnyRouter::new(&params, &info);
    let mut exact = Exact::new(&params, &info);
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]),
    );
    let mut changed = 0;
    let one = frames(number, params.signalling().header_bytes() as u8);
    for interval in 0..intervals {
        let count = if interval % 5 == 3 { 0 } else { 60 };
        for packet in 0..count {
            if packet == 30 {
                exact.queue = exact.queue * 7919 % 100_003;
                let words = offloaded.words(&params, Bytes::new(exact.queue));
                program.refresh(&words).unwrap();
            }
            let frame = one.new_tree(&mut runner).unwrap().current();
            let passed = pass(&mut program, &frame);
            let expected = exact.frame(seen(&program), &frame);
            changed += usize::from(passed != frame.bytes);
            compare(&frame, &expected, passed);
        }
        let (counted, traffic) = program.collect().unwrap();
        assert_eq!(traffic, std::mem::take(&mut exact.traffic));
        offloaded.absorb(&params, &counted);
        let view = PortView {
            queue: Bytes::new(exact.queue),
            packets: (exact.queue / 1000) as u32,
            ..PortView::IDLE
        };
        for router in [&mut offloaded, &mut exact.law] {
            router.on_interval(&params, Duration::from_ms(5 + interval as u64 % 7), &view);
        }
        assert_eq!(format!("{offloaded:?}"), format!("{:?}", exact.law));
        exact.queue = 1000 + 991 * interval as u64;
        program
            .tell(&offloaded.words(&params, Bytes::new(exact.queue)))
            .unwrap();
    }
    assert!(changed > 10 * intervals, "{law}: only {changed} packets were stamped");
    true
}

/// Verifies agreement for each value of every enumerated parameter, and for the non-default value of every Boolean
/// parameter.
#[test]
fn a_law_in_the_kernel_is_the_law() {
    for law in LAWS.iter().filter(|law| law.signalling.routers.kernel.is_some()) {
        if !agree(law.name, &BTreeMap::new(), 40) {
            return;
        }
        for row in law.signalling.params {
            let values: Vec<serde_json::Value> = match row.unit {
                Unit::Choice(words) => words.iter().map(|word| (*word).into()).collect(),
                Unit::Switch => vec![(row.default == 0.0).into()],
                _ => Vec::new(),
            };
            for value in values {
                let changes = BTreeMap::from([(row.name.to_owned(), value)]);
                let params = levelflow_scenario::signalling_params(law.name, &changes).unwrap().0;
                if AnyRouter::new(&params, &port(10e6)).lacks(&params).is_none() {
                    agree(law.name, &changes, 40);
                }
            }
        }
    }
}

/// Packets that arrive while the law computes still belong to the previous interval, and use its threshold.
#[test]
fn between_two_sets_of_words_packets_count_in_the_interval_before() {
    let params = levelflow_scenario::signalling_params("level", &BTreeMap::new())
        .unwrap()
        .0;
    let info = port(1e12);
    let Ok(mut program) = Program::load(&params, &info) else {
        return levelflow_net_testing::skip("level in the kernel", "root", "the program can't be loaded");
    };
    let mut offloaded = AnyRouter::new(&params, &info);
    let mut exact = Exact::new(&params, &info);
    let send = |program: &mut Program, exact: &mut Exact, count: usize| {
        let frame = Frame {
            bytes: vec![7; 1000],
            segment: 0,
        };
        for _ in 0..count {
            pass(program, &frame);
            exact.frame(seen(program), &frame);
        }
    };
    for (count, late) in [(3, 2), (1, 3), (0, 0), (2, 0), (5, 1), (0, 0), (1, 2), (1, 0)] {
        send(&mut program, &mut exact, count);
        offloaded.absorb(&params, &program.collect().unwrap().0);
        send(&mut program, &mut exact, late);
        for router in [&mut offloaded, &mut exact.law] {
            router.on_interval(&params, Duration::from_ms(7), &PortView::IDLE);
        }
        assert_eq!(
            (offloaded.signal(), offloaded.words(&params, Bytes::ZERO)),
            (exact.law.signal(), exact.law.words(&params, Bytes::ZERO))
        );
        program.tell(&offloaded.words(&params, Bytes::ZERO)).unwrap();
    }
}

/// Returns the shim and the header of a new sender, which has no feedback, without a payload.
fn bare(law: &str) -> Vec<u8> {
    let params = levelflow_scenario::law_params(law, &BTreeMap::new()).unwrap();
    let signalling = params.law().signalling;
    let packet = Outgoing {
        number: 0,
        size: Bytes::new(1000),
        kind: Kind::Data,
    };
    let flow = FlowInfo::of(packet.size);
    let header = AnySender::new(&params, &flow).on_send(&params, Time::ZERO, &packet);
    let mut bytes = vec![0; SHIM_BYTES + signalling.header_bytes()];
    let shim = Shim {
        kind: packet.kind,
        marked: false,
        more: false,
        unacknowledged: false,
        signalling: signalling.number,
        header: signalling.header_bytes() as u8,
        flow: 1,
        number: 0,
        time: 0,
    };
    shim.encode(&mut bytes);
    header.encode(&mut bytes[SHIM_BYTES..]);
    bytes
}

/// Datagrams, or segments of a datagram, that end with their header. If the header's length is odd, every second
/// segment begins at an odd byte.
#[test]
fn a_header_with_nothing_behind_it_is_stamped() {
    for law in LAWS.iter().filter(|law| law.signalling.routers.kernel.is_some()) {
        let params = levelflow_scenario::signalling_params(law.name, &BTreeMap::new())
            .unwrap()
            .0;
        let info = port(10e6);
        let Ok(mut program) = Program::load(&params, &info) else {
            return levelflow_net_testing::skip("bare headers in the kernel", "root", "the program can't be loaded");
        };
        let mut exact = Exact::new(&params, &info);
        let bare = bare(law.name);
        for (six, checksum, parts) in [
            (false, false, 1),
            (false, true, 1),
            (true, true, 1),
            (false, true, 3),
            (true, true, 5),
        ] {
            let frame = Frame {
                bytes: frame(six, 0, checksum, &bare.repeat(parts)),
                segment: if parts > 1 { bare.len() } else { 0 },
            };
            let passed = pass(&mut program, &frame);
            let expected = exact.frame(seen(&program), &frame);
            compare(&frame, &expected, passed);
        }
        let traffic = program.collect().unwrap().1;
        assert_eq!((traffic.stamped, traffic.packets), (11, 11), "{}", law.name);
        assert_eq!(traffic, exact.traffic, "{}", law.name);
    }
}

/// Sends packets of both laws through one program. Both senders receive the same offer, and follow it by their weights.
#[test]
fn two_laws_share_a_router_in_the_kernel() {
    let rows = |weight: f64| BTreeMap::from([("weight".to_owned(), weight.into())]);
    let (params, _) = levelflow_scenario::signalling_params("rcp", &BTreeMap::new()).unwrap();
    let Ok(mut program) = Program::load(&params, &port(10e6)) else {
        return levelflow_net_testing::skip("two laws in the kernel", "root", "the program can't be loaded");
    };
    let mut exact = Exact::new(&params, &port(10e6));
    let mut rates = Vec::new();
    for (law, changes) in [("rcp", BTreeMap::new()), ("rcp_weighted", rows(3.0))] {
        let sent = Frame {
            bytes: frame(false, 0, true, &bare(law)),
            segment: 0,
        };
        let passed = pass(&mut program, &sent);
        let expected = exact.frame(seen(&program), &sent);
        let own = params.signalling();
        let header = AnyHeader::decode(own, &expected[expected.len() - own.header_bytes()..]).unwrap();
        compare(&sent, &expected, passed);
        let params = levelflow_scenario::law_params(law, &changes).unwrap();
        let mut sender = AnySender::new(&params, &FlowInfo::of(Bytes::new(1000)));
        let feedback = Feedback::plain(0, Kind::Syn, Duration::from_ms(20), header);
        sender.on_feedback(&params, Time::ZERO, &feedback);
        rates.push(sender.rate().bps());
    }
    assert!(
        rates[0] > 1000.0 && (rates[1] / rates[0] - 3.0).abs() < 1e-9,
        "{rates:?}"
    );
    assert_eq!(program.collect().unwrap().1.stamped, 2);
}

#[test]
fn what_has_no_kernel_form_is_refused() {
    let allowed = law::names(|law| law.signalling.routers.kernel.is_some());
    for (law, changes, ending) in [
        ("kelly", BTreeMap::new(), format!("allowed: {allowed}")),
        (
            "rcp",
            BTreeMap::from([("rtt".to_owned(), "interval".into())]),
            "rtt = \"interval\" has no kernel form; allowed: other values, or a relay".to_owned(),
        ),
    ] {
        let params = levelflow_scenario::signalling_params(law, &changes).unwrap().0;
        let error = Program::load(&params, &port(1e6)).unwrap_err();
        assert_eq!(error.status(), 2);
        assert!(error.to_string().ends_with(&ending), "{error}");
    }
}
