//! Fuzz targets: functions of arbitrary bytes that panic when a parser, a decoder or the engine is wrong.

pub mod bytes;
pub mod logs;
pub mod queues;
pub mod scenarios;

use levelflow_laws::{AnyHeader, AnyParams, LAWS, params};
use levelflow_units::{Bytes, Duration, Frequency, Packets, Rate, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, SHIM_BYTES, Shim};

/// Decodes bytes as a header of every law: they are rejected, or re-encoding them gives the same header.
///
/// # Panics
/// When this property does not hold.
pub fn headers(bytes: &[u8]) {
    for law in LAWS {
        let defaults: Vec<f64> = law.params.iter().map(|p| p.default).collect();
        let params = params(law.name, &defaults).expect("defaults are allowed");
        let Ok(header) = AnyHeader::decode(&params, bytes) else {
            continue;
        };
        let mut wire = [0; 64];
        let length = header.encode(&mut wire);
        assert_eq!(length, law.header_bytes());
        assert_eq!(AnyHeader::decode(&params, &wire[..length]), Ok(header), "{}", law.name);
        if let Some(shorter) = length.checked_sub(1) {
            assert!(AnyHeader::decode(&params, &wire[..shorter]).is_err(), "{}", law.name);
        }
    }
}

/// Default parameters of the law with this number on the wire.
fn numbered(number: u8) -> Option<AnyParams> {
    let law = LAWS.iter().find(|law| law.number == number && number > 0)?;
    let defaults: Vec<f64> = law.params.iter().map(|p| p.default).collect();
    params(law.name, &defaults).ok()
}

/// Decodes a datagram: it is rejected, or is a chain of shims and headers that can be re-encoded in at most their
/// original length.
///
/// # Panics
/// When this property does not hold.
pub fn datagrams(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let Ok((shim, own, after)) = Shim::decode(rest) else {
            return;
        };
        assert_eq!(rest.len(), SHIM_BYTES + own.len() + after.len());
        assert_eq!(own.len(), usize::from(shim.header));
        let mut wire = [0; SHIM_BYTES];
        shim.encode(&mut wire);
        let mut without_reserved = rest[..SHIM_BYTES].to_vec();
        without_reserved[5] &= 0x83;
        assert_eq!(wire[..], without_reserved[..]);
        if let Some(header) = numbered(shim.law).and_then(|params| AnyHeader::decode(&params, own).ok()) {
            let mut wire = [0; MAX_PREFIX_BYTES];
            let length = header.encode(&mut wire);
            assert!(length <= own.len());
        }
        if !shim.more {
            return;
        }
        rest = after;
    }
}

/// Makes a chain of shims and headers, damaged in places.
#[must_use]
pub fn damaged_datagram(bytes: &[u8]) -> Vec<u8> {
    let mut choices = bytes::Choices::new(bytes);
    let mut wire = Vec::new();
    for more in [true, choices.below(2) == 0, false] {
        let law = LAWS[choices.below(LAWS.len())];
        let shim = Shim {
            kind: *choices.of(&[
                levelflow_laws::Kind::Data,
                levelflow_laws::Kind::Ack,
                levelflow_laws::Kind::Syn,
            ]),
            marked: choices.below(2) == 0,
            more,
            unacknowledged: choices.below(2) == 0,
            law: law.number,
            header: law.header_bytes() as u8,
            flow: choices.below(9) as u32,
            number: choices.below(9) as u32,
            time: choices.below(9) as u64,
        };
        let start = wire.len();
        wire.resize(start + SHIM_BYTES + law.header_bytes(), choices.below(256) as u8);
        shim.encode(&mut wire[start..]);
    }
    while choices.are_left() {
        let at = choices.below(wire.len());
        if choices.below(8) == 0 {
            wire.truncate(at.max(1));
        } else {
            wire[at] = choices.below(256) as u8;
        }
    }
    wire
}

/// Parses text as every kind of quantity: it is rejected with a one-line error, or printing and parsing preserve the
/// value.
///
/// # Panics
/// When this property does not hold.
pub fn quantities(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    macro_rules! round_trip {
        ($($type:ty),+) => {$(
            match text.parse::<$type>() {
                Ok(value) => assert_eq!(value.to_string().parse(), Ok(value), "{text:?}"),
                Err(error) => assert!(!error.to_string().contains('\n'), "{text:?}"),
            }
        )+};
    }
    round_trip!(Time, Duration, Bytes, Packets, Rate, Frequency);
}
