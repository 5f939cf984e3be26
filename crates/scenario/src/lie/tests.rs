use levelflow_laws::{LAWS, jetmax, rcp, xcp};
use serde_json::json;

use super::*;

fn law(name: &str) -> &'static LawInfo {
    LAWS.iter().find(|law| law.name == name).unwrap()
}

fn read(name: &str, fields: &Value) -> Fallible<LieSpec> {
    let lie: Lie = serde_json::from_value(json!({ "sender": fields })).unwrap();
    lie.read(&Place::from("flow x"), law(name), Rate::ZERO)
}

fn lied(name: &str, fields: &Value, header: AnyHeader) -> AnyHeader {
    forged(header, &read(name, fields).unwrap().sender)
}

const HONEST: jetmax::Header = jetmax::Header {
    source_port: 0,
    destination_port: 0,
    flags: 0x47,
    bottleneck: 1,
    hop: 2,
    suggested: 2,
    seq: 7,
    price: -0.5,
    share: 1e6,
    virtual_size: 1000.0,
    gap: 0.25,
};

#[test]
fn a_lie_changes_only_its_field() {
    let lie = |fields| lied("jetmax", &fields, AnyHeader::JetMax(HONEST));
    let changed = AnyHeader::JetMax(jetmax::Header { gap: 250.0, ..HONEST });
    assert_eq!(lie(json!({"gap": "* 1000"})), changed);
    let changed = AnyHeader::JetMax(jetmax::Header {
        price: 0.75,
        seq: 14,
        ..HONEST
    });
    assert_eq!(lie(json!({"price": 0.75, "seq": "*2"})), changed);
    let changed = AnyHeader::JetMax(jetmax::Header { flags: 0x4c, ..HONEST });
    assert_eq!(lie(json!({"epoch": 12})), changed, "other bits of the flags stay");
}

#[test]
fn a_product_stays_in_the_range_of_its_field() {
    let header = AnyHeader::Rcp(rcp::Header { rate: 1e30, rtt: 3.0 });
    let changed = AnyHeader::Rcp(rcp::Header {
        rate: f32::INFINITY,
        rtt: 100.0,
    });
    assert_eq!(
        lied("rcp", &json!({"rate": "* 1e30", "rtt": "* 1000"}), header),
        changed
    );
}

#[test]
fn a_header_that_routers_reject_is_not_sent() {
    let header = AnyHeader::Xcp(xcp::Header {
        gap: 0.0,
        rtt: 0.0,
        reverse_feedback: 0.0,
        delta_throughput: 1.0,
    });
    assert_eq!(lied("xcp", &json!({"gap": 1.0}), header), header);
}

#[test]
fn a_lie_without_meaning_is_refused_in_one_line() {
    for (name, fields, message) in [
        (
            "cubic",
            json!({"gap": 1}),
            "flow x, sender: cubic has no header, so its hosts cannot falsify one",
        ),
        (
            "rcp",
            json!({"rtt": -1}),
            "flow x, sender, rtt: -1 is out of range; allowed: 0 to 100 s",
        ),
        (
            "jetmax",
            json!({"epoch": 16}),
            "flow x, sender, epoch: 16 is out of range; allowed: 0 to 15",
        ),
        ("jetmax", json!({"gapp": 1}), "gap"),
    ] {
        let text = read(name, &fields).unwrap_err().to_string();
        assert!(text.contains(message) && !text.contains('\n'), "{text}");
    }
    for wrong in [json!("1000"), json!("x 2"), json!(true)] {
        let error = serde_json::from_value::<Lie>(json!({"sender": {"gap": wrong}})).unwrap_err();
        assert!(error.to_string().contains("needs a number, or a factor"), "{error}");
    }
}

/// The header registry has every field of every law, so a lie about any of them is accepted.
#[test]
fn hosts_can_falsify_every_field_of_every_header() {
    for info in LAWS {
        for field in info.signalling.header.fields {
            let place = Place::from("flow x");
            let read = Forgery::read(&place, info, field.name, Falsehood::Factor(2.0));
            assert_eq!(
                read.is_ok(),
                !matches!(field.values, Values::Only { .. }),
                "{} {}",
                info.name,
                field.name
            );
        }
        assert!(info.signalling.header_bytes() <= MAX_HEADER_BYTES);
    }
}

#[test]
fn a_lie_is_written_as_it_is_read() {
    let text = json!({"sender": {"gap": "* 1000", "hop": 3.0}, "withheld": 0.5});
    let lie: Lie = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(lie).unwrap(), text);
}
