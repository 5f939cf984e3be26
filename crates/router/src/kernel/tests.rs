//! Tests that the kernel program agrees with the laws. The kernel executes the program on generated packets.

mod frames;

use std::collections::BTreeMap;

use aya::programs::{TestRun, TestRunOptions};
use levelflow_laws::{
    AnyHeader, AnyRouterParams, AnySender, Arriving, Feedback, FlowInfo, Kind, Outgoing, PortView, SIGNALLINGS,
    SenderLaw, Unit,
};
use levelflow_units::{Duration, Rate, Time};
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::*;
use frames::*;
use levelflow_path::port::{self, PacketClass};

/// Length of `struct __sk_buff`, bytes.
const CONTEXT: usize = 192;
/// Offsets of the fields of `struct __sk_buff` that tests set, bytes.
const WIRE_LENGTH: usize = 160;
const SEGMENTS: usize = 164;
const SEGMENT: usize = 176;

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

/// Verifies that the program and the law agree for a number of intervals. Returns false if the program cannot be
/// loaded.
fn agree(law: &str, changes: &BTreeMap<String, serde_json::Value>, intervals: usize) -> bool {
    let params = levelflow_scenario::signalling_params(law, changes).unwrap();
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
            .load_words(&offloaded.words(&params, Bytes::new(exact.queue)))
            .unwrap();
    }
    assert!(changed > 10 * intervals, "{law}: only {changed} packets were stamped");
    true
}

// **Invariant** (The router in the kernel): the kernel program is equivalent to the law. For generated packets (valid,
// truncated, malformed or foreign), it writes the same values, changes no other byte and drops no packet. After each
// interval, its state is bit-identical to that of the law after one call per packet. See
// `floats_in_integers_are_those_of_the_processor`.
/// Verifies agreement for each value of every enumerated parameter, and for both values of every Boolean parameter.
#[test]
fn a_law_in_the_kernel_is_the_law() {
    for own in SIGNALLINGS.iter().filter(|own| own.routers.kernel.is_some()) {
        if !agree(own.name, &BTreeMap::new(), 40) {
            return;
        }
        for row in own.params {
            let values: Vec<serde_json::Value> = match row.unit {
                Unit::Choice(words) => words.iter().map(|word| (*word).into()).collect(),
                Unit::Switch => vec![(row.default == 0.0).into()],
                _ => Vec::new(),
            };
            for value in values {
                let changes = BTreeMap::from([(row.name.to_owned(), value)]);
                let params = levelflow_scenario::signalling_params(own.name, &changes).unwrap();
                if AnyRouter::new(&params, &port(10e6)).lacks(&params).is_none() {
                    agree(own.name, &changes, 40);
                }
            }
        }
    }
}

// **Invariant** (The router in the kernel): while user space closes an interval of Level, arriving packets are counted
// in the previous interval.
/// The program compares these packets with the threshold of the previous interval.
#[test]
fn between_two_updates_packets_count_in_the_earlier_interval() {
    let params = levelflow_scenario::signalling_params("level", &BTreeMap::new()).unwrap();
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
        program.load_words(&offloaded.words(&params, Bytes::ZERO)).unwrap();
    }
}

/// Returns the shim and the header of a new sender that has received no feedback. No payload follows.
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

/// Sends datagrams, or segments of a datagram, without a payload after the header. If the header's length is odd, every
/// second segment begins at an odd byte.
#[test]
fn a_header_with_nothing_behind_it_is_stamped() {
    for own in SIGNALLINGS.iter().filter(|own| own.routers.kernel.is_some()) {
        let params = levelflow_scenario::signalling_params(own.name, &BTreeMap::new()).unwrap();
        let info = port(10e6);
        let Ok(mut program) = Program::load(&params, &info) else {
            return levelflow_net_testing::skip("bare headers in the kernel", "root", "the program can't be loaded");
        };
        let mut exact = Exact::new(&params, &info);
        let bare = bare(own.name);
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
        assert_eq!((traffic.stamped, traffic.packets), (11, 11), "{}", own.name);
        assert_eq!(traffic, exact.traffic, "{}", own.name);
    }
}

/// Sends packets of two laws through one program. Both senders receive the same rate, and each sender multiplies the
/// rate by its weight.
#[test]
fn two_laws_share_a_router_in_the_kernel() {
    let rows = |weight: f64| BTreeMap::from([("weight".to_owned(), weight.into())]);
    let params = levelflow_scenario::signalling_params("rcp", &BTreeMap::new()).unwrap();
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
fn signallings_without_a_kernel_form_are_rejected() {
    let allowed = levelflow_scenario::settings::law_names(|law| law.signalling.routers.kernel.is_some());
    for (law, changes, ending) in [
        ("kelly", BTreeMap::new(), format!("allowed: {allowed}")),
        (
            "rcp",
            BTreeMap::from([("rtt".to_owned(), "interval".into())]),
            "rtt = \"interval\" has no kernel form; allowed: other values, or a relay".to_owned(),
        ),
    ] {
        let params = levelflow_scenario::signalling_params(law, &changes).unwrap();
        let error = Program::load(&params, &port(1e6)).unwrap_err();
        assert_eq!(error.status(), 2);
        assert!(error.to_string().ends_with(&ending), "{error}");
    }
}
