use levelflow_units::Rate;
use proptest::collection::vec as list;
use proptest::prelude::*;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::*;
use levelflow_laws::bytes::DecodeError;
use levelflow_laws::{Delivery, Flight, Kind, LAWS, SIGNALLINGS};

fn times() -> impl Strategy<Value = Time> {
    (0..1_u64 << 62).prop_map(Time::from_ps)
}

fn durations() -> impl Strategy<Value = Duration> {
    (0..1_u64 << 62).prop_map(Duration::from_ps)
}

fn sizes() -> impl Strategy<Value = Bytes> {
    (0..1_u64 << 48).prop_map(Bytes::new)
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(std::vec![Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack])
}

fn starts() -> impl Strategy<Value = Record<'static>> {
    let role = prop_oneof![
        (
            0..LAWS.len(),
            1_u64..=65_535,
            any::<u64>(),
            prop::option::of(0..u64::MAX)
        )
            .prop_map(|(law, packet, seed, size)| {
                let packet_size = Bytes::new(packet);
                let size = size.map(Bytes::new);
                let flow = FlowInfo {
                    packet_size,
                    seed,
                    size,
                };
                Role::Sender(&LAWS[law], flow)
            }),
        (0..SIGNALLINGS.len(), any::<u32>(), 1.0..1e12).prop_map(|(own, id, bps)| {
            let capacity = Rate::clamped(bps);
            Role::Router(&SIGNALLINGS[own], PortInfo { id, capacity })
        }),
        (0..SIGNALLINGS.len()).prop_map(|own| Role::Receiver(&SIGNALLINGS[own])),
    ];
    (role, list(0.0..=1.0, MOST_PARAMS)).prop_map(|(role, shares)| {
        let pairs = role.table().iter().zip(shares);
        let values: Vec<f64> = pairs
            .map(|(row, share): (_, f64)| {
                (row.range.0 + share * (row.range.1 - row.range.0)).clamp(row.range.0, row.range.1)
            })
            .collect();
        Record::Start(Start::new(role, &values))
    })
}

#[expect(clippy::too_many_lines, reason = "a strategy per record")]
fn records() -> impl Strategy<Value = Record<'static>> {
    let [before, after] = HEADERS;
    let header = Stamped { before, after };
    let words = any::<[u32; 3]>();
    prop_oneof![
        starts(),
        (times(), any::<u32>(), sizes(), kinds()).prop_map(|(now, number, size, kind)| Record::Send {
            now,
            packet: Outgoing { number, size, kind },
            header: before,
        }),
        (times(), words, kinds(), durations(), any::<[bool; 3]>()).prop_map(
            |(now, [number, acked, outstanding], kind, rtt, [marked, gap, measured])| Record::Feedback {
                now,
                feedback: Feedback {
                    number,
                    kind,
                    rtt,
                    header: before,
                    marked,
                    acked,
                    spurious: acked / 2,
                    outstanding,
                    gap,
                    delivery: measured.then_some(Delivery {
                        total: acked,
                        prior: number,
                        interval: rtt,
                        app_limited: gap,
                    }),
                },
            }
        ),
        (times(), words).prop_map(|(now, [number, next, outstanding])| Record::Loss {
            now,
            loss: Loss {
                number,
                next,
                outstanding
            },
        }),
        (times(), words, any::<bool>()).prop_map(|(now, [number, outstanding, lost], app_limited)| Record::Flight {
            now,
            flight: Flight {
                number,
                outstanding,
                lost,
                app_limited
            },
        }),
        (times(), durations(), durations(), any::<bool>()).prop_map(|(now, idle, timeout, app_limited)| {
            Record::Restart {
                now,
                restart: Restart {
                    idle,
                    timeout,
                    app_limited,
                },
            }
        }),
        (times(), any::<u32>()).prop_map(|(now, next)| Record::Timeout { now, next }),
        (times(), sizes(), sizes(), any::<u32>(), any::<bool>()).prop_map(move |(now, size, queue, packets, own)| {
            Record::Arrival {
                packet: Arriving {
                    now,
                    size,
                    queue,
                    packets,
                },
                header: own.then_some(header),
            }
        }),
        sizes().prop_map(move |size| Record::Departure { size, header }),
        (durations(), sizes(), any::<u32>(), sizes(), sizes()).prop_map(
            |(elapsed, queue, packets, in_service, dropped)| {
                Record::Interval {
                    elapsed,
                    port: PortView {
                        queue,
                        packets,
                        in_service,
                        dropped,
                    },
                }
            }
        ),
        (1e-3..1e15).prop_map(|bps| Record::Capacity {
            capacity: Rate::new(bps).unwrap(),
        }),
        any::<[u64; 22]>().prop_map(|counted| Record::Absorb { counted }),
        (times(), kinds(), sizes()).prop_map(move |(now, kind, size)| Record::Reflect {
            arrived: Arrived { now, kind, size },
            header,
        }),
        any::<u64>().prop_map(|digest| Record::State { digest }),
    ]
}

const HEADERS: [&[u8]; 2] = [&[1, 2, 0xff, 4, 5, 6, 7, 8], &[9, 10, 11, 0xff, 13, 14, 15, 16]];

proptest! {
    #[test]
    fn records_survive_the_log(
        all in list((any::<u32>(), records()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut log = MAGIC.to_vec();
        let mut ends = std::vec![log.len()];
        for (instance, record) in &all {
            let mut wire = [0; MAX_RECORD_BYTES];
            let length = record.encode(*instance, &mut wire);
            log.extend_from_slice(&wire[..length]);
            ends.push(log.len());
        }
        let mut reader = Reader::new(&log).unwrap();
        for (i, expected) in all.iter().enumerate() {
            prop_assert_eq!(reader.position(), ends[i]);
            prop_assert_eq!(reader.next_record(), Ok(Some(*expected)));
        }
        prop_assert_eq!(reader.next_record(), Ok(None));

        let end = MAGIC.len() + cut.index(log.len() - MAGIC.len());
        let mut reader = Reader::new(&log[..end]).unwrap();
        let whole = ends.iter().filter(|&&e| e <= end).count() - 1;
        for expected in &all[..whole] {
            prop_assert_eq!(reader.next_record(), Ok(Some(*expected)));
        }
        let rest = reader.next_record();
        if ends.contains(&end) {
            prop_assert_eq!(rest, Ok(None));
        } else {
            prop_assert!(matches!(rest, Err(DecodeError::Short { .. })), "{:?}", rest);
            prop_assert_eq!(reader.position(), ends[whole]);
        }
    }

    #[test]
    fn any_bytes_are_records_or_refused(bytes in list(any::<u8>(), 0..200), tag in 0_u8..12) {
        let mut log = MAGIC.to_vec();
        log.push(tag);
        log.extend(bytes);
        let mut reader = Reader::new(&log).unwrap();
        while let Ok(Some((instance, record))) = reader.next_record() {
            let mut wire = [0; MAX_RECORD_BYTES];
            let length = record.encode(instance, &mut wire);
            let mut again = MAGIC.to_vec();
            again.extend_from_slice(&wire[..length]);
            prop_assert_eq!(Reader::new(&again).unwrap().next_record(), Ok(Some((instance, record))));
        }
    }
}

#[test]
fn other_files_and_versions_are_no_logs() {
    for bytes in [
        &b""[..],
        b"LV",
        b"LVJ",
        b"LVJ\x01",
        b"LVJ\x07",
        b"LVF\x01",
        b"PK\x03\x04",
    ] {
        assert!(Reader::new(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_start_of_any_law_has_room() {
    let port = PortInfo {
        id: 1,
        capacity: Rate::clamped(1e6),
    };
    let senders = LAWS.iter().map(|law| Role::Sender(law, FlowInfo::of(Bytes::new(1))));
    let routers = SIGNALLINGS.iter().map(|own| Role::Router(own, port));
    for role in senders.chain(routers) {
        let values: Vec<f64> = role.table().iter().map(|row| row.default).collect();
        let length = Record::Start(Start::new(role, &values)).encode(0, &mut [0; MAX_RECORD_BYTES]);
        assert!(length < MAX_RECORD_BYTES / 2, "{}: {length} bytes", role.name());
    }
}

/// Published test vectors of FNV-1a.
#[test]
fn digests_are_those_of_fnv_1a() {
    struct Text(&'static str);
    impl Debug for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }
    assert_eq!(digest(&Text("")), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest(&Text("a")), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(digest(&Text("foobar")), 0x8594_4171_f739_67e8);
    assert_ne!(digest(&0.1_f64), digest(&0.1_f64.next_up()));
}

#[test]
fn a_digest_depends_on_values_and_not_on_names_of_fields() {
    #[derive(Debug)]
    #[allow(dead_code, reason = "read by `Debug` alone")]
    enum Phase {
        Growing,
        Holding(f64),
    }
    #[derive(Debug)]
    #[allow(dead_code, reason = "read by `Debug` alone")]
    struct Before {
        rate: f64,
        phase: Phase,
        last: Option<u32>,
    }
    #[derive(Debug)]
    #[allow(dead_code, reason = "read by `Debug` alone")]
    struct After {
        pace: f64,
        state: Phase,
        newest: Option<u32>,
    }
    let before = |rate, phase, last| digest(&Before { rate, phase, last });
    let after = |pace, state, newest| digest(&After { pace, state, newest });
    assert_eq!(before(0.1, Phase::Growing, None), after(0.1, Phase::Growing, None));
    assert_eq!(
        before(1e-7, Phase::Holding(2.0), Some(3)),
        after(1e-7, Phase::Holding(2.0), Some(3))
    );
    let all = [
        before(0.1, Phase::Growing, None),
        before(0.2, Phase::Growing, None),
        before(0.1, Phase::Holding(0.1), None),
        before(0.1, Phase::Growing, Some(0)),
        before(f64::NAN, Phase::Growing, None),
    ];
    for (i, one) in all.iter().enumerate() {
        assert!(!all[..i].contains(one), "state {i}");
    }
}

#[test]
fn a_log_of_the_version_before_is_refused_with_what_to_do() {
    let error = Reader::new(b"LVJ\x02").unwrap_err().to_string();
    assert!(
        error.contains("version") && error.contains("the Levelflow that wrote it"),
        "{error}"
    );
}
