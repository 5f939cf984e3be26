//! Generic tests that every law must pass. The macro `laws!` generates them for each law in the list of `lib.rs`.

mod replay;
mod scale;

use std::fmt::Debug;
use std::iter;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::collection::vec as list;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::bytes::DecodeError;
use crate::header::{Field, Layout, Values, Writer};
use crate::offload::{Offload, Words};
use crate::params::{Problem, Raw, Shown, Unit};
use crate::{
    Arrived, Arriving, Feedback, FlowInfo, Header, HeaderOf, Kind, Law, Outgoing, ParamSpec, Parameters, PortInfo,
    PortView, ReceiverOf, RouterLaw, RouterOf, RouterParamsOf, SenderLaw, Signal, Signalling, WireSignalling,
};

/// Expands to the tests of one law.
macro_rules! suite {
    ($law:ty) => {
        // **Invariant** (Laws): every registered law passes the conformance suite, which is generated from the list of
        // laws. The suite verifies the parameter table, the wire layout, the writer of each field, decoding of
        // arbitrary bytes and replay. It also verifies scale invariance of the laws that claim it. See
        // `headers_survive_the_wire`, `header_layouts_match_their_records`, `any_bytes_decode_or_are_refused`,
        // `any_parameters_in_range_keep_rates_finite`, `scale_does_not_matter_where_claimed`.
        #[test]
        fn the_table_is_well_formed() {
            crate::conformance::table::<$law>();
        }
        // **Invariant** (Laws): a value outside its range is rejected, never clamped.
        #[test]
        fn parameters_outside_their_range_are_refused() {
            let info = <$law as crate::Law>::INFO;
            crate::conformance::ranges(info.params);
            crate::conformance::ranges(info.signalling.params);
        }
        #[test]
        fn any_parameters_in_range_keep_rates_finite() {
            crate::conformance::corners::<$law>();
        }
        #[test]
        fn headers_survive_the_wire() {
            crate::conformance::wire::<$law>();
        }
        #[test]
        fn header_layouts_match_their_records() {
            crate::conformance::layout::<$law>();
        }
        #[test]
        fn any_bytes_decode_or_are_refused() {
            crate::conformance::bytes::<$law>();
        }
        #[test]
        fn a_replayed_router_ends_in_the_same_state() {
            crate::conformance::router_replay::<$law>();
        }
        #[test]
        fn a_replayed_sender_ends_in_the_same_state() {
            crate::conformance::sender_replay::<$law>();
        }
        #[test]
        fn scale_does_not_matter_where_claimed() {
            crate::conformance::scale::<$law>();
        }
    };
}
pub use replay::{router_replay, sender_replay};
pub use scale::scale;
pub(crate) use suite;

const CAPACITY: f64 = 1e6;
const PORT: PortInfo = PortInfo {
    id: 7,
    capacity: Rate::ZERO,
};

pub fn check<V: Debug>(inputs: impl Strategy<Value = V> + 'static, test: impl Fn(V)) {
    run(&inputs.boxed(), &test);
}

/// Runs a test. The function is generic only over the inputs, because each instance of a test runner takes long to
/// compile.
fn run<V: Debug>(inputs: &BoxedStrategy<V>, test: &dyn Fn(V)) {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(inputs, |value| {
        test(value);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}

fn defaults<L: Law>() -> L::Params {
    let values: Vec<f64> = L::INFO.params.iter().map(|row| row.default).collect();
    L::Params::read(&values).expect("the defaults do not conflict")
}

/// Returns the default parameters of the routers of a law.
fn router_defaults<L: Law>() -> RouterParamsOf<L> {
    let values: Vec<f64> = L::INFO.signalling.params.iter().map(|row| row.default).collect();
    RouterParamsOf::<L>::read(&values).expect("the defaults do not conflict")
}

/// Verifies the router properties in [`RouterInfo`](crate::RouterInfo).
fn routers<L: Law<Signalling: Signalling<Router: Offload>>>() {
    let (info, params) = (L::INFO.signalling.routers, router_defaults::<L>());
    let row = |name: &str| {
        let mut rows = L::INFO.signalling.params.iter();
        rows.find(|row| row.name == name)
            .expect("a parameter of the signalling")
    };
    assert!(info.interval.is_none_or(|name| row(name).unit == crate::Unit::Duration));
    assert!(info.utilisation.is_none_or(|name| row(name).range.1 <= 1.0));
    let mut router = RouterOf::<L>::new(
        &params,
        &PortInfo {
            id: 7,
            capacity: Rate::clamped(1e7),
        },
    );
    router.on_arrival(&params, &Arriving::alone(Bytes::new(1000)), None);
    router.on_interval(&params, Duration::from_ms(10), &PortView::IDLE);
    let words = router.words(&params, Bytes::new(1000));
    let other = PortInfo {
        id: 7,
        capacity: Rate::clamped(3e6),
    };
    router.on_capacity(&params, other.capacity);
    assert_eq!(router.target(), RouterOf::<L>::new(&params, &other).target());
    assert_eq!(
        info.kernel.is_some(),
        words != Words::default(),
        "words for a data path: {words:?}"
    );
}

pub fn table<L: Law<Signalling: Signalling<Router: Offload>>>() {
    let (info, signalling) = (L::INFO, L::INFO.signalling);
    assert_eq!(signalling.name, <L::Signalling as WireSignalling>::INFO.name);
    assert_eq!(signalling.header, HeaderOf::<L>::LAYOUT);
    assert_eq!(
        signalling.is_explicit(),
        matches!(info.signal, Signal::Price | Signal::Rate | Signal::Change)
    );
    assert!(crate::LAWS.iter().any(|law| law.name == signalling.name) || !signalling.is_explicit());
    if signalling.name == info.name {
        let shared = info
            .params
            .iter()
            .flat_map(|row| signalling.params.iter().map(move |other| (row, other)));
        for (row, other) in shared.filter(|(row, other)| row.name == other.name) {
            assert_eq!(
                std::format!("{row:?}"),
                std::format!("{other:?}"),
                "two tables have different rows for one parameter"
            );
        }
    }
    routers::<L>();
    let namesakes = crate::SIGNALLINGS
        .iter()
        .filter(|other| other.number == signalling.number);
    assert_eq!(
        namesakes.count(),
        1,
        "{} must be the number of exactly one signalling",
        signalling.number
    );
    assert!(!info.title.is_empty() && !info.source.is_empty() && is_name(info.name));
    rows(info.params);
    rows(signalling.params);
    defaults::<L>();
}

/// Verifies a parameter table of a law or a queue discipline.
pub fn rows(table: &[ParamSpec]) {
    for (i, row) in table.iter().enumerate() {
        assert!(is_name(row.name), "{} is not snake_case", row.name);
        assert!(
            table[..i].iter().all(|other| other.name != row.name),
            "{} appears twice",
            row.name
        );
        assert!(
            !row.doc.is_empty() && !row.source.is_empty(),
            "{} lacks its doc or source",
            row.name
        );
        assert_eq!(row.check(row.default), Ok(row.default));
        match row.unit {
            Unit::Switch => assert_eq!(row.range, (0.0, 1.0), "{}", row.name),
            Unit::Choice(words) => assert_eq!(row.range, (0.0, words.len() as f64 - 1.0), "{}", row.name),
            _ => {}
        }
    }
}

pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
}

pub fn ranges(table: &[ParamSpec]) {
    for row in table {
        let (low, high) = row.range;
        for outside in [
            low.next_down(),
            high.next_up(),
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            let problem = row.check(outside).expect_err(row.name).problem;
            assert!(matches!(problem, Problem::Range { .. }), "{}: {outside}", row.name);
        }
        let printed = Shown(row.unit, row.default).to_string();
        let raws = [
            Raw::Number(row.default),
            Raw::Flag(row.default != 0.0),
            Raw::Text(&printed),
        ];
        let fits = match row.unit {
            Unit::Number => 0,
            Unit::Switch => 1,
            _ => 2,
        };
        for (i, raw) in raws.into_iter().enumerate() {
            let expected = if i == fits {
                Ok(row.default)
            } else {
                Err(Problem::Kind(row.unit))
            };
            assert_eq!(row.read(raw).map_err(|e| e.problem), expected, "{}: {raw:?}", row.name);
        }
        assert!(row.read(Raw::Text("\u{0}?")).is_err());
    }
}

/// Verifies that rates are positive at the ends of parameter ranges. One parameter is at an end of its range, and the
/// other parameters have their defaults.
pub fn corners<L: Law>() {
    let of_routers = L::INFO.signalling.params;
    let shared = |row: &&ParamSpec| {
        of_routers
            .iter()
            .any(|other| (other.name, other.range) == (row.name, row.range))
    };
    for row in of_routers
        .iter()
        .chain(L::INFO.params.iter().filter(|row| !shared(row)))
    {
        for extreme in [row.range.0, row.range.1] {
            let value = |own: &ParamSpec| if own.name == row.name { extreme } else { own.default };
            let values = |table: &[ParamSpec]| table.iter().map(value).collect::<Vec<f64>>();
            let Ok(params) = L::Params::read(&values(L::INFO.params)) else {
                continue;
            };
            let Ok(routers) = RouterParamsOf::<L>::read(&values(L::INFO.signalling.params)) else {
                continue;
            };
            let mut router = new_router::<L>(&routers, CAPACITY);
            let mut sender = L::Sender::new(&params, &FlowInfo::of(Bytes::new(1500)));
            for number in 0..200 {
                let sent = Outgoing {
                    number,
                    size: sender.packet_size(&params),
                    kind: Kind::Data,
                };
                let now = Time::from_ps(u64::from(number) * 50_000_000_000);
                let mut header = sender.on_send(&params, now, &sent);
                router.on_arrival(
                    &routers,
                    &Arriving {
                        now,
                        ..Arriving::alone(sent.size)
                    },
                    Some(&mut header),
                );
                router.on_departure(&routers, sent.size, &mut header);
                let port = PortView {
                    queue: Bytes::ZERO,
                    packets: 0,
                    in_service: Bytes::ZERO,
                    dropped: Bytes::ZERO,
                };
                router.on_interval(&routers, Duration::from_ms(50), &port);
                sender.on_feedback(&params, now, &ack::<L>(&sent, Duration::from_ms(20), &header));
                assert_alive::<L>(&params, &sender, row);
                assert!(
                    router.target().bps() >= 0.0 && !router.signal().is_nan(),
                    "{} = {extreme}",
                    row.name
                );
            }
        }
    }
}

fn assert_alive<L: Law>(params: &L::Params, sender: &L::Sender, what: impl Debug) {
    assert!(
        sender.rate().bps() > 0.0 && sender.proposal().bps() > 0.0,
        "{what:?}: {sender:?}"
    );
    assert!(sender.window() > 0, "{what:?}: {sender:?}");
    assert!(sender.packet_size(params) > Bytes::ZERO, "{what:?}: {sender:?}");
}

fn new_router<L: Law>(params: &RouterParamsOf<L>, capacity: f64) -> RouterOf<L> {
    RouterOf::<L>::new(
        params,
        &PortInfo {
            capacity: Rate::clamped(capacity),
            ..PORT
        },
    )
}

fn new_sender<L: Law>(params: &L::Params) -> L::Sender {
    let packet_size = Bytes::new(1000);
    L::Sender::new(params, &FlowInfo::of(packet_size))
}

fn ack<L: Law>(sent: &Outgoing, rtt: Duration, header: &HeaderOf<L>) -> Feedback<HeaderOf<L>> {
    let arrived = Arrived {
        now: Time::ZERO,
        kind: sent.kind,
        size: sent.size,
    };
    let back = <L::Signalling as Signalling>::reflect(&mut ReceiverOf::<L>::default(), &arrived, header);
    Feedback::plain(sent.number, sent.kind, rtt, back)
}

fn encoded<H: Header>(header: &H) -> Vec<u8> {
    let mut wire = vec![0xa5; H::WIRE + 3];
    header.encode(&mut wire);
    assert_eq!(wire.split_off(H::WIRE), [0xa5; 3], "wrote past the header");
    wire
}

fn assert_round_trip<H: Header>(header: &H) {
    let wire = encoded(header);
    let decoded = H::decode(&wire).unwrap_or_else(|e| panic!("{header:?}: {e}"));
    assert_eq!(decoded, *header);
    assert_eq!(encoded(&decoded), wire);
}

/// Returns the field of each header byte.
fn places<H: Header>() -> impl Iterator<Item = &'static Field> {
    let layout = const { &H::LAYOUT };
    layout
        .fields
        .iter()
        .flat_map(|field| iter::repeat_n(field, field.bytes))
}

#[expect(clippy::too_many_lines, reason = "one property of a field after another")]
pub fn layout<L: Law>() {
    let Layout {
        fields,
        zero_together,
        doc,
    } = HeaderOf::<L>::LAYOUT;
    let paired = |name| zero_together.is_some_and(|(a, b)| name == a || name == b);
    let routed = L::INFO.signalling.is_explicit();
    assert_eq!((routed, routed), (!fields.is_empty(), !doc.is_empty()));
    assert!(zero_together.is_none_or(|(a, b)| [a, b].iter().all(|n| fields.iter().any(|f| f.name == *n))));
    let params = defaults::<L>();
    let sent = Outgoing {
        number: 0,
        size: Bytes::new(1000),
        kind: Kind::Data,
    };
    let mut sender = new_sender::<L>(&params);
    let sent = encoded(&sender.on_send(&params, Time::ZERO, &sent));
    let mut at = 0;
    for (i, field) in fields.iter().enumerate() {
        let Field {
            name, bytes, values, ..
        } = *field;
        assert!(is_name(name) && fields[..i].iter().all(|f| f.name != name), "{name}");
        assert!((1..=4).contains(&bytes), "{name}");
        let decodes = |value: u32| {
            let mut wire = sent.clone();
            wire[at..at + bytes].copy_from_slice(&value.to_be_bytes()[4 - bytes..]);
            match HeaderOf::<L>::decode(&wire) {
                Ok(_) => true,
                Err(DecodeError::Field { name: refused, .. }) => {
                    assert!(refused == name || paired(name));
                    false
                }
                Err(short) => panic!("{short}"),
            }
        };
        match values {
            Values::Number => assert!(decodes(0) && decodes(u32::MAX), "{name}"),
            Values::Bits(groups) => {
                let all = groups.iter().fold(0, |all, group| {
                    assert_eq!(all & group.mask, 0, "{} overlaps", group.name);
                    all | group.mask
                });
                assert!(u64::from(all) < 1 << (8 * bytes), "{name}");
                assert!(decodes(0) && decodes(u32::MAX), "{name}");
            }
            Values::Only { value, .. } => {
                assert!(
                    (0..256).all(|other| decodes(other) == (other == u32::from(value))),
                    "{name}"
                );
            }
            Values::Float { low, high, .. } => {
                for end in [low, high].into_iter().filter(|end| *end != 0.0 && !paired(name)) {
                    assert!(decodes(end.to_bits()), "{name}: {end}");
                }
                for outside in [low.next_down(), high.next_up(), f32::NAN] {
                    let inside = low <= outside && outside <= high;
                    assert_eq!(decodes(outside.to_bits()), inside, "{name}: {outside}");
                }
            }
        }
        at += bytes;
    }
}

/// Verifies that a router changed only fields whose writer is the router.
fn assert_router_writes<H: Header>(before: &H, after: &H) {
    let (before, after) = (encoded(before), encoded(after));
    for (field, (old, new)) in places::<H>().zip(before.into_iter().zip(after)) {
        assert!(
            old == new || field.writer == Writer::Router,
            "a router changed the field {}, which is not a router field",
            field.name
        );
    }
}

/// Verifies that encoding and decoding preserve headers: as sent, after each of three routers, and as returned by the
/// receiver.
pub fn wire<L: Law>() {
    let (params, own) = (defaults::<L>(), router_defaults::<L>());
    check(list((1_u32..60_000, 0_u64..200_000), 1..80), |steps| {
        let mut sender = new_sender::<L>(&params);
        let mut routers = [1e5, 1e6, 1e7].map(|capacity| new_router::<L>(&own, capacity));
        let mut now = Time::ZERO;
        for (number, (size, gap)) in (0..).zip(steps) {
            now += Duration::from_us(gap);
            let sent = Outgoing {
                number,
                size: Bytes::new(size.into()),
                kind: Kind::Data,
            };
            let mut header = sender.on_send(&params, now, &sent);
            assert_round_trip(&header);
            for router in &mut routers {
                let before = header;
                router.on_arrival(
                    &own,
                    &Arriving {
                        now,
                        ..Arriving::alone(sent.size)
                    },
                    Some(&mut header),
                );
                assert_round_trip(&header);
                router.on_departure(&own, sent.size, &mut header);
                assert_round_trip(&header);
                assert_router_writes(&before, &header);
                let port = PortView {
                    queue: Bytes::new(gap),
                    packets: 1,
                    in_service: Bytes::new(gap),
                    dropped: Bytes::ZERO,
                };
                router.on_interval(&own, Duration::from_us(gap + 1), &port);
            }
            let ack = ack::<L>(&sent, Duration::from_us(gap), &header);
            assert_round_trip(&ack.header);
            sender.on_feedback(&params, now, &ack);
        }
    });
}

pub fn bytes<L: Law>() {
    let need = HeaderOf::<L>::WIRE;
    check(list(any::<u8>(), 0..=need * 2), |wire| {
        match HeaderOf::<L>::decode(&wire) {
            Ok(header) => assert_round_trip(&header),
            Err(DecodeError::Short { have, need: n }) => assert!(have == wire.len() && n == need && have < need),
            Err(DecodeError::Field { name, allowed }) => assert!(!name.is_empty() && !allowed.is_empty()),
        }
    });
    for have in 0..need {
        let refused = HeaderOf::<L>::decode(&vec![0; have]);
        assert_eq!(refused, Err(DecodeError::Short { have, need }));
    }
}
