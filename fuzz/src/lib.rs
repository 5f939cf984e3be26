//! Fuzz targets: functions of arbitrary bytes that panic when a parser, a decoder or the engine is wrong.

pub mod bytes;
pub mod scenarios;

use levelflow_protocols::{AnyHeader, LAWS, params};
use levelflow_units::{Bytes, Duration, Frequency, Packets, Rate, Time};

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
        assert_eq!(length, law.header_bytes);
        assert_eq!(AnyHeader::decode(&params, &wire[..length]), Ok(header), "{}", law.name);
        if let Some(shorter) = length.checked_sub(1) {
            assert!(AnyHeader::decode(&params, &wire[..shorter]).is_err(), "{}", law.name);
        }
    }
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
