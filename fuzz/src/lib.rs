//! Fuzz targets: functions of arbitrary bytes. They panic when a parser, a decoder or the engine is wrong.

pub mod bytes;
pub mod files;
pub mod frames;
pub mod logs;
pub mod queues;
pub mod quic;
pub mod scenarios;
pub mod transfers;

use levelflow_laws::{AnyHeader, SIGNALLINGS, on_the_wire};
use levelflow_units::{Bytes, Duration, Frequency, Packets, Rate, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, SHIM_BYTES, Shim};

/// Fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name, which is also the name of its corpus and of its test.
    pub name: &'static str,
    /// Number of random inputs in a test. A target takes a few seconds.
    pub inputs: u64,
    /// Function of arbitrary bytes.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident, $inputs:literal, $run:expr;)+) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), inputs: $inputs, run: $run }),+];
    };
}

targets! {
    headers_decode_and_encode, 200_000, headers;
    datagrams_decode_and_encode, 200_000, |bytes| {
        datagrams(bytes);
        datagrams(&damaged_datagram(bytes));
    };
    frames_are_split_and_marked, 50_000, |bytes| {
        frames::any(bytes);
        frames::any(&frames::damaged(bytes));
    };
    flows_survive_their_network, 30_000, transfers::flow;
    measurements_survive_their_network, 30_000, |bytes| {
        transfers::message(bytes);
        transfers::measurement(bytes);
        transfers::l4s(bytes);
    };
    buffers_of_quic_lose_their_shims, 10_000, |bytes| {
        quic::buffers(bytes);
        quic::buffers(&quic::damaged_buffer(bytes));
    };
    keys_are_read_or_refused, 10_000, quic::keys;
    logs_are_replayed_or_refused, 30_000, |bytes| {
        logs::any(bytes);
        logs::driven(bytes);
    };
    scenario_text_is_read_or_refused, 20_000, |bytes| {
        scenarios::text(bytes);
        scenarios::text(&scenarios::damaged_text(bytes));
    };
    scenario_structure_is_run_or_refused, 40_000, |bytes| {
        scenarios::structure(&scenarios::damaged_structure(bytes));
    };
    traces_are_read_or_refused, 1_000, |bytes| {
        files::traces(bytes);
        files::traces(&files::damaged_trace(bytes));
    };
    schedules_are_read_or_refused, 30_000, |bytes| {
        files::schedules(bytes);
        files::schedules(&files::damaged_schedule(bytes));
    };
    options_of_queues_get_another_limit_or_are_refused, 100_000, |bytes| {
        queues::options(bytes);
        queues::options(&queues::attributes(bytes));
    };
    state_files_are_read_or_refused, 50_000, |bytes| {
        files::states(bytes);
        queues::undo(bytes);
        queues::undo(&queues::damaged_undo(bytes));
    };
    quantities_print_what_they_read, 200_000, |bytes| {
        quantities(bytes);
        quantities(&bytes::quantity(bytes));
    };
}

/// Decodes bytes as a header of every signalling. Either the bytes are rejected, or re-encoding gives the same header.
///
/// # Panics
/// When the property above is violated.
pub fn headers(bytes: &[u8]) {
    for own in SIGNALLINGS {
        let Ok(header) = AnyHeader::decode(own, bytes) else {
            continue;
        };
        let mut wire = [0; 64];
        let length = header.encode(&mut wire);
        assert_eq!(length, own.header_bytes());
        assert_eq!(AnyHeader::decode(own, &wire[..length]), Ok(header), "{}", own.name);
        if let Some(shorter) = length.checked_sub(1) {
            assert!(AnyHeader::decode(own, &wire[..shorter]).is_err(), "{}", own.name);
        }
    }
}

/// Decodes a datagram. Either the datagram is rejected, or it is a chain of shims and headers. Re-encoding a decoded
/// header does not make it longer.
///
/// # Panics
/// When the property above is violated.
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
        let signalling = on_the_wire().find(|known| known.number == shim.signalling);
        if let Some(header) = signalling.and_then(|signalling| AnyHeader::decode(signalling, own).ok()) {
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

/// Makes a chain of shims and headers with damaged bytes.
#[must_use]
pub fn damaged_datagram(bytes: &[u8]) -> Vec<u8> {
    let mut choices = bytes::Choices::new(bytes);
    let mut wire = Vec::new();
    for more in [true, choices.below(2) == 0, false] {
        let own = SIGNALLINGS[choices.below(SIGNALLINGS.len())];
        let shim = Shim {
            kind: *choices.of(&[
                levelflow_laws::Kind::Data,
                levelflow_laws::Kind::Ack,
                levelflow_laws::Kind::Syn,
            ]),
            marked: choices.below(2) == 0,
            more,
            unacknowledged: choices.below(2) == 0,
            signalling: own.number,
            header: own.header_bytes() as u8,
            flow: choices.below(9) as u32,
            number: choices.below(9) as u32,
            time: choices.below(9) as u64,
        };
        let start = wire.len();
        wire.resize(start + SHIM_BYTES + own.header_bytes(), choices.below(256) as u8);
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

/// Parses text as every kind of quantity. Either the text is rejected with a one-line error, or printing and parsing
/// preserve the value.
///
/// # Panics
/// When the property above is violated.
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
