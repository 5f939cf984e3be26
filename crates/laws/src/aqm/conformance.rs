//! Generic tests that every queue discipline must pass. The macro `queues!` generates them for each discipline in the
//! list of `aqm.rs`.

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::collection::vec as list;
use proptest::prelude::*;

use super::{Queue, Verdict};
use crate::conformance::{check, is_name, rows};
use crate::params::{ParamError, ParamSpec};
use crate::{Arriving, Parameters, PortInfo, PortView};

/// Expands to the tests of one discipline.
macro_rules! suite {
    ($queue:ty) => {
        #[test]
        fn the_table_is_well_formed() {
            crate::aqm::conformance::table::<$queue>();
        }
        #[test]
        fn parameters_outside_their_range_are_refused() {
            crate::conformance::ranges(<$queue as crate::aqm::Queue>::INFO.params);
        }
        #[test]
        fn any_parameters_in_range_keep_the_signal_a_number() {
            crate::aqm::conformance::corners::<$queue>();
        }
        // **Invariant** (Laws): every registered queue discipline passes the conformance suite for disciplines. The
        // suite verifies the table, replay, a finite signal, and no mark for packets that arrive at an idle port. See
        // `any_parameters_in_range_keep_the_signal_a_number`, `an_idle_queue_passes_packets`.
        #[test]
        fn a_replayed_queue_ends_in_the_same_state() {
            crate::aqm::conformance::replay::<$queue>();
        }
        #[test]
        fn an_idle_queue_passes_packets() {
            crate::aqm::conformance::idle::<$queue>();
        }
    };
}
pub(super) use suite;

const PORT: PortInfo = PortInfo {
    id: 7,
    capacity: Rate::ZERO,
};

/// Returns the default parameters. `changed` contains the row index of a parameter, and the value that replaces its
/// default.
fn params<Q: Queue>(changed: Option<(usize, f64)>) -> Result<Q::Params, ParamError> {
    let mut values: Vec<f64> = Q::INFO.params.iter().map(|row| row.default).collect();
    if let Some((row, value)) = changed {
        values[row] = value;
    }
    Q::Params::read(&values)
}

fn defaults<Q: Queue>() -> Q::Params {
    params::<Q>(None).expect("the defaults fit together")
}

fn new<Q: Queue>(params: &Q::Params, bps: f64) -> Q {
    let capacity = Rate::clamped(bps);
    Q::new(params, &PortInfo { capacity, ..PORT })
}

pub fn table<Q: Queue>() {
    let info = Q::INFO;
    assert!(!info.title.is_empty() && !info.source.is_empty() && !info.signal.is_empty() && is_name(info.name));
    rows(info.params);
    match info.params.iter().position(|row| row.name == "ecn") {
        Some(row) => {
            assert_eq!(info.params[row].unit, crate::Unit::Switch);
            for on in [false, true] {
                let params = params::<Q>(Some((row, f64::from(u8::from(on))))).expect("a switch fits the defaults");
                assert_eq!(Q::ecn(&params), on, "`ecn` must return the switch `ecn`");
            }
        }
        None => assert!(
            !Q::ecn(&defaults::<Q>()),
            "`ecn` returns true: add a switch `ecn` to the parameters"
        ),
    }
    let is_rate = |row: &ParamSpec| row.name == "rate" && row.unit == crate::Unit::Rate;
    match info.params.iter().position(is_rate) {
        Some(row) => {
            let limit = |bps: f64| Q::rate(&params::<Q>(Some((row, bps))).expect("a rate fits the defaults"));
            assert_eq!(limit(3e6), Rate::new(3e6));
            if info.params[row].range.0 == 0.0 {
                assert_eq!(limit(0.0), None);
            }
        }
        None => assert_eq!(Q::rate(&defaults::<Q>()), None, "`rate` needs a parameter `rate`"),
    }
}

#[derive(Debug, Clone)]
enum Input {
    Arrival {
        after: u64,
        size: u64,
        packets: u32,
        draw: f64,
    },
    Departure {
        after: u64,
        waited: u64,
        packets: u32,
    },
    Interval {
        after: u64,
        packets: u32,
    },
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    // Times from a picosecond to ten seconds.
    let after = || prop_oneof![1..1_000_000_u64, 1..10_000_000_000_000_u64];
    let packets = || prop_oneof![Just(0), 1..100_u32, any::<u32>()];
    let input = prop_oneof![
        4 => (after(), 1..10_000_u64, packets(), 0.0..1.0).prop_map(|(after, size, packets, draw)| {
            Input::Arrival { after, size, packets, draw }
        }),
        4 => (after(), any::<u64>(), packets()).prop_map(|(after, waited, packets)| {
            Input::Departure { after, waited, packets }
        }),
        1 => (after(), packets()).prop_map(|(after, packets)| Input::Interval { after, packets }),
    ];
    list(input, 0..100)
}

/// Output of a discipline: the signal, and the verdict, if any. The signal is compared by its bits, because NaN does
/// not equal itself.
type Seen = (u64, Option<Verdict>);

fn drive<Q: Queue>((queue, now): &mut (Q, Time), params: &Q::Params, inputs: &[Input]) -> Vec<Seen> {
    let bytes = |packets: u32| Bytes::new(u64::from(packets) * 1000);
    let port = |packets| PortView {
        queue: bytes(packets),
        packets,
        ..PortView::IDLE
    };
    let quiet = queue.signal().is_nan();
    let step = |input: &Input| {
        let mut verdict = None;
        match *input {
            Input::Arrival {
                after,
                size,
                packets,
                draw,
            } => {
                *now += Duration::from_ps(after);
                let packet = Arriving {
                    now: *now,
                    size: Bytes::new(size),
                    queue: bytes(packets),
                    packets,
                };
                let other = (!Q::DRAWS).then(|| queue.clone().on_arrival(params, &packet, 0.0));
                let found = queue.on_arrival(params, &packet, draw);
                assert!(
                    other.is_none_or(|other| other == found),
                    "`on_arrival` uses `draw`: set `DRAWS` to true"
                );
                verdict = Some(found);
            }
            Input::Departure { after, waited, packets } => {
                *now += Duration::from_ps(after);
                let waited = Duration::from_ps(waited % now.as_ps());
                let said = queue.on_departure(params, *now, waited, &port(packets));
                assert!(
                    Q::ACTS_ON_DEPARTURE || said == Verdict::Pass,
                    "`on_departure` returns {said:?}: set `ACTS_ON_DEPARTURE` to true"
                );
                verdict = Some(said);
            }
            Input::Interval { after, packets } => {
                *now += Duration::from_ps(after);
                queue.on_interval(params, Duration::from_ps(after), &port(packets));
            }
        }
        assert_eq!(queue.signal().is_nan(), quiet, "{queue:?} after {input:?}");
        (queue.signal().to_bits(), verdict)
    };
    inputs.iter().map(step).collect()
}

/// Verifies the signal at the ends of parameter ranges. One parameter is at an end of its range, and the other
/// parameters have their defaults. Ports have a low capacity, a high capacity, or capacity zero.
pub fn corners<Q: Queue>() {
    let extremes = (0..Q::INFO.params.len()).flat_map(|row| {
        let (low, high) = Q::INFO.params[row].range;
        [Some((row, low)), Some((row, high))]
    });
    let all: Vec<Q::Params> = [None]
        .into_iter()
        .chain(extremes)
        .filter_map(|c| params::<Q>(c).ok())
        .collect();
    assert!(all.iter().all(|params| Q::interval(params) != Some(Duration::ZERO)));
    check(inputs(), |inputs| {
        for params in &all {
            for bps in [0.0, 1e3, 1e12] {
                drive(&mut (new::<Q>(params, bps), Time::ZERO), params, &inputs);
            }
        }
    });
}

/// Verifies that a replay of logged inputs reproduces verdicts and state. A replay can also continue from a copy made
/// halfway.
pub fn replay<Q: Queue>() {
    let params = defaults::<Q>();
    check(inputs(), |inputs| {
        let mut whole = (new::<Q>(&params, 1e7), Time::ZERO);
        let mut half = whole.clone();
        let seen = drive(&mut whole, &params, &inputs);
        let (first, second) = inputs.split_at(inputs.len() / 2);
        let mut again = drive(&mut half, &params, first);
        let mut copy = half.clone();
        again.extend(drive(&mut copy, &params, second));
        drive(&mut half, &params, second);
        assert_eq!(again, seen);
        assert!(copy == whole && half == whole, "{copy:?}, {half:?}, {whole:?}");
    });
}

/// Verifies that packets that arrive at an idle port pass unmarked for any `draw`.
pub fn idle<Q: Queue>() {
    let params = defaults::<Q>();
    check(list((1..1_000_000_u64, 1..9000_u64, 0.0..1.0), 0..200), |packets| {
        let capacity = Rate::clamped(1e7);
        let mut queue: Q = new::<Q>(&params, capacity.bps());
        let mut now = Time::ZERO;
        for (gap_us, size, draw) in packets {
            let size = Bytes::new(size);
            let packet = Arriving {
                now,
                ..Arriving::alone(size)
            };
            assert_eq!(queue.on_arrival(&params, &packet, draw), Verdict::Pass, "{queue:?}");
            let left = queue.on_departure(&params, now, Duration::ZERO, &PortView::IDLE);
            assert_eq!(left, Verdict::Pass, "{queue:?}");
            let sent = capacity.time_to_send(size).expect("a packet takes less than 213 days");
            now = now + sent + Duration::from_us(gap_us);
            if Q::interval(&params).is_some() {
                queue.on_interval(&params, sent + Duration::from_us(gap_us), &PortView::IDLE);
            }
        }
    });
}
