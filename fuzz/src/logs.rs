//! Logs of laws, with calls in impossible orders and with damaged bytes.

use std::sync::{Arc, Mutex, PoisonError};

use levelflow_laws::{
    AnyHeader, AnyParams, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, Arrived, Arriving, Delivery, Feedback,
    FlowInfo, Kind, LAWS, LawInfo, Loss, Outgoing, ParamSpec, PortInfo, PortView, RouterLaw, SenderLaw, SignallingInfo,
    params, router_params,
};
use levelflow_random::Stream;
use levelflow_sim::replay::replay;
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{Log, LoggedReceiver, LoggedRouter, LoggedSender, MAGIC, Role, Sink, Start};

use crate::bytes::Choices;

/// Replays bytes as a log. Either the bytes are rejected with a one-line error, or they are replayed. The replay stops
/// at the end of the bytes or at the first difference.
///
/// # Panics
/// When the property above is violated.
pub fn any(bytes: &[u8]) {
    match replay(bytes) {
        Ok(done) => {
            assert!(done.truncated_at.is_none_or(|at| at < bytes.len()));
            assert!(done.instances.iter().all(|one| !one.state.is_empty()));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(['\n', '\r']), "{text:?}");
        }
    }
}

/// Replays a log of arbitrary inputs. The replay must reach the logged states. Then damages the log and passes it to
/// [`any`].
///
/// # Panics
/// When the property above is violated.
pub fn driven(bytes: &[u8]) {
    let long = expanded(bytes);
    let mut choices = Choices::new(&long);
    let mut log = log_bytes(&mut choices);
    let done = replay(&log).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((done.difference, done.truncated_at), (None, None));
    assert!(done.instances.iter().all(|one| one.states > 0));
    for _ in 0..3 {
        let at = choices.below(log.len());
        log[at] = choices.below(256) as u8;
        any(&log);
    }
    any(&log[..log.len() - choices.below(log.len() / 2)]);
}

/// Expands the input to about two thousand pseudorandom bytes.
fn expanded(bytes: &[u8]) -> Vec<u8> {
    let seed = bytes
        .iter()
        .fold(0, |sum: u64, byte| sum.wrapping_mul(257).wrapping_add(u64::from(*byte)));
    let mut stream = Stream::new(seed, "fuzz", "calls");
    let more = (0..2000).map(|_| (stream.unit() * 256.0) as u8);
    bytes.iter().copied().chain(more).collect()
}

#[derive(Debug, Clone)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Sink for Page {
    fn write(&mut self, record: &[u8]) {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        page.extend_from_slice(record);
    }
}

const TIMES: &[u64] = &[
    0,
    1,
    1_000_000,
    1_000_000_000,
    100_000_000_000,
    3_000_000_000_000,
    1 << 58,
];
const SIZES: &[u64] = &[0, 1, 40, 1000, 65_535, 1 << 48];
const WORDS: &[u32] = &[0, 1, 2, 3, 1000, 1 << 31, u32::MAX - 1, u32::MAX];
const FLOATS: &[f32] = &[
    0.0,
    1.0,
    0.1,
    -1.0,
    1e-30,
    1e6,
    1e30,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NAN,
];
const KINDS: &[Kind] = &[Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack];

/// Sender, router and receiver of a law, for inputs in any order that the log decoder accepts.
struct Desk {
    signalling: &'static SignallingInfo,
    params: AnyParams,
    routers: AnyRouterParams,
    sender: LoggedSender<Page>,
    router: LoggedRouter<Page>,
    receiver: LoggedReceiver<Page>,
}

/// Makes a log of a law's inputs in an arbitrary order. Time never decreases.
fn log_bytes(choices: &mut Choices<'_>) -> Vec<u8> {
    let page = Page(Arc::new(Mutex::new(MAGIC.to_vec())));
    let mut desk = desk(&page, choices);
    let mut now = 0;
    while choices.are_left() {
        now = (now + choices.of(TIMES)).min(1 << 62);
        desk.call(Time::from_ps(now), choices);
    }
    drop(desk);
    page.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the values of a parameter table. At most one value is the minimum or maximum of its range. All other values
/// are defaults.
fn values(table: &[ParamSpec], choices: &mut Choices<'_>) -> Vec<f64> {
    let mut values: Vec<f64> = table.iter().map(|row| row.default).collect();
    let changed = choices.below(30);
    if let Some(row) = table.get(changed) {
        values[changed] = *choices.of(&[row.range.0, row.range.1]);
    }
    values
}

/// Creates sender, router and receiver of a law.
fn desk(page: &Page, choices: &mut Choices<'_>) -> Desk {
    let law: &'static LawInfo = choices.of(LAWS);
    let signalling = law.signalling;
    let defaults = |table: &[ParamSpec]| -> Vec<f64> { table.iter().map(|row| row.default).collect() };
    let mut own = values(law.params, choices);
    let params = params(law.name, &own).unwrap_or_else(|_| {
        own = defaults(law.params);
        params(law.name, &own).expect("defaults fit together")
    });
    let mut of_routers = values(signalling.params, choices);
    let routers = router_params(signalling.name, &of_routers).unwrap_or_else(|_| {
        of_routers = defaults(signalling.params);
        router_params(signalling.name, &of_routers).expect("defaults fit together")
    });
    let flow = FlowInfo::of(Bytes::new(*choices.of(&[1, 40, 1000, 65_535])));
    let port = PortInfo {
        id: *choices.of(WORDS),
        capacity: Rate::clamped(*choices.of(&[1.0, 1e6, 1e18])),
    };
    let log = |instance, role, values: &[f64]| Some(Log::start(page.clone(), instance, &Start::new(role, values)));
    Desk {
        signalling,
        sender: LoggedSender::with_log(AnySender::new(&params, &flow), log(0, Role::Sender(law, flow), &own)),
        router: LoggedRouter::with_log(
            AnyRouter::new(&routers, &port),
            log(1, Role::Router(signalling, port), &of_routers),
        ),
        receiver: LoggedReceiver::with_log(AnyReceiver::default(), log(2, Role::Receiver(signalling), &[])),
        params,
        routers,
    }
}

impl Desk {
    /// Makes a header of arbitrary values that its decoder accepts. If the decoder rejects the values, returns the
    /// sender's own header.
    fn header(&mut self, now: Time, choices: &mut Choices<'_>) -> AnyHeader {
        let packet = Outgoing {
            number: *choices.of(WORDS),
            size: Bytes::new(*choices.of(SIZES)),
            kind: *choices.of(KINDS),
        };
        let own = self.sender.on_send(&self.params, now, &packet);
        let mut wire = vec![0; self.signalling.header_bytes()];
        own.encode(&mut wire);
        for word in wire.chunks_exact_mut(4) {
            if choices.below(2) == 1 {
                word.copy_from_slice(&choices.of(FLOATS).to_be_bytes());
            }
        }
        AnyHeader::decode(self.signalling, &wire).unwrap_or(own)
    }

    fn call(&mut self, now: Time, choices: &mut Choices<'_>) {
        let mut header = self.header(now, choices);
        let (kind, size) = (*choices.of(KINDS), Bytes::new(*choices.of(SIZES)));
        let [number, next, outstanding] = [0; 3].map(|_: u32| *choices.of(WORDS));
        let time = Duration::from_ps(*choices.of(TIMES));
        match choices.below(8) {
            0 => self.feedback(now, header, time, choices),
            1 => {
                let loss = Loss {
                    number,
                    next,
                    outstanding,
                };
                self.sender.on_loss(&self.params, now, &loss);
            }
            2 => self.sender.on_timeout(&self.params, now, next),
            3 => {
                let packet = Arriving {
                    now,
                    size,
                    queue: Bytes::new(*choices.of(SIZES)),
                    packets: outstanding,
                };
                let own = choices.below(3) > 0;
                self.router
                    .on_arrival(&self.routers, &packet, own.then_some(&mut header));
            }
            4 => self.router.on_departure(&self.routers, size, &mut header),
            5 => {
                let port = PortView {
                    queue: size,
                    packets: outstanding,
                    in_service: size,
                    dropped: Bytes::new(*choices.of(SIZES)),
                };
                self.router
                    .on_interval(&self.routers, time.max(Duration::from_ps(1)), &port);
            }
            6 => {
                let sums = [0; 19].map(|_: u64| *choices.of(&[0, 1, 1000, 1 << 40, u64::MAX - 1, u64::MAX]));
                self.router.absorb(&self.routers, &sums);
            }
            _ => {
                let arrived = Arrived { now, kind, size };
                self.receiver.reflect(&arrived, &header);
            }
        }
    }

    fn feedback(&mut self, now: Time, header: AnyHeader, rtt: Duration, choices: &mut Choices<'_>) {
        let [number, total, prior] = [0; 3].map(|_: u32| *choices.of(WORDS));
        let interval = Duration::from_ps(*choices.of(TIMES));
        let feedback = Feedback {
            number,
            kind: *choices.of(KINDS),
            rtt,
            header,
            marked: choices.below(2) == 0,
            acked: *choices.of(WORDS),
            spurious: *choices.of(WORDS),
            outstanding: *choices.of(WORDS),
            gap: choices.below(2) == 0,
            delivery: (choices.below(2) == 0).then_some(Delivery {
                total,
                prior,
                interval,
                app_limited: choices.below(2) == 0,
            }),
        };
        self.sender.on_feedback(&self.params, now, &feedback);
    }
}
