//! Headers of packets: sizes on the wire, payload, goodput and completion times.

use levelflow_laws::LAWS;
use levelflow_sim::{Fate, Stay};
use serde_json::{Value, json};

use crate::common::{Run, assert_close, column, try_start};

/// Sizes of the headers before the header of a law, bytes, from docs/reference/wire-format.md.
pub const ENCAPSULATIONS: [(&str, u64); 4] = [
    ("none", 0),
    ("ethernet+ipv4+udp", 14 + 20 + 8 + 24),
    ("ipv6", 14 + 40 + 8 + 24),
    ("quic", 14 + 20 + 8 + 24 + 33),
];
/// Length of the history in an ACK, bytes.
const HISTORY: u64 = 16;
const PACKET: u64 = 1000;

/// Returns the size of the headers of a law's packets.
fn headers(law: &str, (name, before): (&str, u64)) -> u64 {
    let law = LAWS.iter().find(|other| other.name == law).unwrap();
    match name {
        "none" => 0,
        _ => before + law.signalling.header_bytes() as u64,
    }
}

/// Runs a flow on an idle link with a round-trip time of 40 ms. Also returns the stays of all packets.
fn traced(encapsulation: &str, mbps: f64, flow: Value) -> (Run, Vec<Stay>) {
    let mut flow = flow;
    for (key, value) in [("name", "x"), ("from", "A"), ("to", "B")] {
        flow[key] = json!(value);
    }
    let mut scenario = json!({
        "name": "headers", "duration": "20 s", "encapsulation": encapsulation, "flow": [flow],
        "link": [{ "from": "A", "to": "B", "capacity": format!("{mbps} Mb/s"), "delay": "20 ms", "duplex": true,
                   "buffer": "50 kB" }],
    });
    if matches!(scenario["flow"][0]["law"].as_str(), Some("dctcp" | "prague")) {
        scenario["link"][0]["queue"] = json!({ "red": { "ecn": true } }); // these laws need marks
    }
    let mut sim = try_start(&scenario).unwrap();
    let stays = crate::common::trace(&mut sim);
    sim.record_end();
    (Run::of(sim.summary().unwrap(), sim.recorder.take()), stays)
}

/// A sender at line rate delivers `n = ceil(size/(packet - headers))` packets with `size + n headers` bytes. The
/// completion time is the propagation delay plus the transmission time of these bytes.
#[test]
fn a_transfer_takes_the_time_of_its_payload_and_headers() {
    for case in ENCAPSULATIONS {
        for size in [1, 900, 1000, 12_345, 1_000_000_u64] {
            let flow = json!({ "law": { "cbr": { "rate": "8 Mb/s" } }, "size": format!("{size} B") });
            let (run, _) = traced(case.0, 8.0, flow);
            let headers = headers("cbr", case);
            let wire = size + size.div_ceil(PACKET - headers) * headers;
            let of = |name| column(&run.completions, name)[0];
            assert_eq!(of("bytes"), size as f64);
            assert_close(of("fct_s"), 20e-3 + wire as f64 * 1e-6, 1e-9);
            assert_close(of("slowdown"), 1.0, 1e-9);
            let flow = &run.summary.flows[0];
            assert_eq!(
                (flow.delivered_bytes, flow.goodput_bytes),
                (wire, Some(size)),
                "{case:?}"
            );
        }
    }
}

/// A transfer with handshake takes 1.5 round trips, the transmission times of the opening packet and its ACK, and the
/// time of its data at the rate of the router.
#[test]
fn a_handshake_has_the_size_of_its_headers() {
    for case in ENCAPSULATIONS {
        let (run, _) = traced(
            case.0,
            8.0,
            json!({ "law": "rcp", "size": "100 packets", "start": "10 s" }),
        );
        let headers = headers("rcp", case);
        let control = if headers == 0 { 40 } else { headers + HISTORY };
        let expected = 60e-3 + (2 * control + 100 * PACKET) as f64 * 1e-6;
        assert!(
            (column(&run.completions, "fct_s")[0] - expected).abs() < 1e-3,
            "{case:?}"
        );
        assert_eq!(column(&run.completions, "bytes"), [(100 * (PACKET - headers)) as f64]);
    }
}

/// Each data packet of each law has room for its headers and one byte, and each ACK for its headers and its history.
/// Goodput counts the rest of each data packet that arrives for the first time.
#[test]
fn goodput_is_the_payload_of_every_packet() {
    for law in LAWS {
        for case in ENCAPSULATIONS {
            let flow = json!({ "law": law.name, "count": 3 });
            let (run, stays) = traced(case.0, 0.4, flow);
            let headers = headers(law.name, case);
            let arrived = stays.iter().filter(|stay| stay.fate == Fate::Delivered);
            let (acks, data): (Vec<&Stay>, Vec<&Stay>) = arrived.partition(|stay| stay.ack);
            let least = if headers == 0 { 40 } else { headers + HISTORY };
            assert!(acks.iter().all(|ack| u64::from(ack.size) == least.max(40)), "{case:?}");
            let payload = |stay: &&&Stay| u64::from(stay.size) > headers;
            let full: u64 = data.iter().map(|stay| u64::from(stay.size)).sum();
            let flow = &run.summary.flows[0];
            assert_eq!(flow.delivered_bytes, full, "{} {case:?}", law.name);
            assert!(data.iter().filter(payload).count() > 20, "{} {case:?}", law.name);
            let goodput = flow.goodput_bytes.unwrap();
            let others = flow.delivered_bytes - goodput;
            assert!(others >= headers * data.len() as u64, "{} {case:?}", law.name);
            if !law.signalling.is_explicit() || law.name == "abc" {
                continue;
            }
            // The other laws retransmit no data, so only opening packets have no payload.
            let opening = data.iter().filter(|stay| u64::from(stay.size) == least).count() as u64;
            let carried: u64 = data.iter().map(|stay| u64::from(stay.size) - headers).sum();
            assert!(
                goodput <= carried && goodput + opening * HISTORY.max(40) >= carried,
                "{} {case:?}",
                law.name
            );
        }
    }
}

/// At 30 kb/s, the parameters of these laws give packets below 98 B. Their senders send the smallest packets that have
/// room for payload.
#[test]
fn slow_senders_send_one_byte_of_payload() {
    for law in ["jetmax", "level", "sperc"] {
        for case in &ENCAPSULATIONS[1..] {
            let rate = json!({ law: { "min_rate": "1 kb/s" } });
            let (_, stays) = traced(
                case.0,
                0.1,
                json!({ "law": rate, "count": 3, "start": { "uniform": ["0 s", "2 s"] } }),
            );
            let smallest = stays
                .iter()
                .filter(|stay| !stay.ack)
                .map(|stay| u64::from(stay.size))
                .min();
            assert_eq!(smallest, Some(headers(law, *case) + 1), "{law} {case:?}");
        }
    }
}

/// Slots reserves the bytes on the wire of a whole transfer. With any headers, a lone transfer takes one slot.
#[test]
fn a_slot_has_room_for_headers() {
    let slowdown = |encapsulation| {
        let (run, _) = traced(encapsulation, 8.0, json!({ "law": "slots", "size": "50 kB" }));
        column(&run.completions, "slowdown")[0]
    };
    let without = slowdown("none");
    for (name, _) in &ENCAPSULATIONS[1..] {
        assert_close(slowdown(name), without, 0.02);
    }
}
