//! Fuzz targets: functions of arbitrary bytes that panic when a parser, a decoder or the engine is wrong.

pub mod bytes;
pub mod logs;
pub mod queues;
pub mod scenarios;

use levelflow_laws::{AnyHeader, AnyParams, LAWS, params};
use levelflow_units::{Bytes, Duration, Frequency, Packets, Rate, Time};
use levelflow_wire::shim::{LENGTH, LONGEST, Shim};

/// Bytes are refused as a header of a law, or are one that reads the same after writing; for every law.
///
/// # Panics
/// When they do not.
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

/// Parameters of each law that routers listen to, by its number on the wire.
fn numbered(number: u8) -> Option<AnyParams> {
    let law = LAWS.iter().find(|law| law.number == number && number > 0)?;
    let defaults: Vec<f64> = law.params.iter().map(|p| p.default).collect();
    params(law.name, &defaults).ok()
}

/// A datagram is refused, or is a chain of shims and headers that reads the same after writing, each shorter than the rest.
///
/// # Panics
/// When it is not.
pub fn datagrams(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let Ok((shim, own, after)) = Shim::decode(rest) else {
            return;
        };
        assert_eq!(rest.len(), LENGTH + own.len() + after.len());
        assert_eq!(own.len(), usize::from(shim.header));
        let mut wire = [0; LENGTH];
        shim.encode(&mut wire);
        let mut without_reserved = rest[..LENGTH].to_vec();
        without_reserved[5] &= 0x83;
        assert_eq!(wire[..], without_reserved[..]);
        if let Some(header) = numbered(shim.law).and_then(|params| AnyHeader::decode(&params, own).ok()) {
            let mut wire = [0; LONGEST];
            let length = header.encode(&mut wire);
            assert!(length <= own.len());
        }
        if !shim.more {
            return;
        }
        rest = after;
    }
}

/// A chain of shims and headers, damaged here and there.
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
        wire.resize(start + LENGTH + law.header_bytes(), choices.below(256) as u8);
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

/// Text is refused as a quantity in one line, or is one that reads the same after printing; for every kind.
///
/// # Panics
/// When it does not.
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
