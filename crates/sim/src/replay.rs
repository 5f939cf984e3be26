//! Replays a log of a law's inputs, and compares headers and states with the log.
//!
//! The log may come from another machine, where the same law ran in real time; see
//! [`journal`](levelflow_wire::journal).

use std::collections::BTreeMap;
use std::fmt;

use derive_more::Error;
use levelflow_laws::bytes::DecodeError;
use levelflow_laws::offload::Offload;
use levelflow_laws::params::Shown;
use levelflow_laws::{
    AnyHeader, AnyParams, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, AnySignalling, ParamError, RouterLaw,
    SenderLaw, Signalling, params, router_params,
};
use levelflow_units::{Duration, Time};
use levelflow_wire::journal::{Reader, Record, Role, Stamped, Start, digest};
use schemars::JsonSchema;
use serde::Serialize;

/// Result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    /// Records replayed.
    pub records: u64,
    /// Position of an incomplete last record, left by a program that was stopped; bytes from the start of the log.
    pub truncated_at: Option<usize>,
    /// First difference. The replay ends there.
    pub difference: Option<Difference>,
    /// Senders, routers and receivers, in the order of their numbers.
    pub instances: Vec<InstanceReport>,
}

/// Header or state that differs from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Number of the record, from 1.
    pub record: u64,
    /// Number of the instance.
    pub instance: u32,
    /// Kind of the item that differs.
    pub what: &'static str,
    /// Logged value.
    pub logged: String,
    /// Replayed value.
    pub replayed: String,
}

/// Result for one sender, router or receiver.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InstanceReport {
    /// Number of the instance.
    pub instance: u32,
    /// Name of its law.
    pub law: &'static str,
    /// Role: sender, router or receiver.
    pub role: &'static str,
    /// Inputs at the start, other than parameters.
    pub start: String,
    /// Parameters in the notation of scenarios.
    pub params: BTreeMap<&'static str, String>,
    /// Calls of the law.
    pub calls: u64,
    /// Time from the first to the last call, s.
    pub span_s: f64,
    /// Headers equal to the logged headers.
    pub headers: u64,
    /// Digests of states equal to the logged digests.
    pub states: u64,
    /// Values of all variables at the end.
    pub state: String,
}

/// Error in a log that prevents its replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct BadLog {
    /// Number of the record, from 1; 0 if the bytes are not a log.
    pub record: u64,
    /// Start of the record, in bytes from the start of the log.
    pub position: usize,
    /// Description of the error.
    pub problem: String,
}

impl fmt::Display for BadLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            0 => write!(f, "not a log of laws: {}", self.problem),
            n => write!(f, "record {n}, at byte {}: {}", self.position, self.problem),
        }
    }
}

/// Replays a log up to the first difference.
///
/// # Errors
/// Returns an error if the bytes are not a log, or contain invalid inputs.
pub fn replay(log: &[u8]) -> Result<Replay, BadLog> {
    let mut reader = Reader::new(log).map_err(|e| BadLog {
        record: 0,
        position: 0,
        problem: plain(&e),
    })?;
    let mut instances: BTreeMap<u32, Instance> = BTreeMap::new();
    let (mut records, mut truncated_at, mut difference) = (0, None, None);
    while difference.is_none() {
        let position = reader.position();
        let bad = |problem: String| BadLog {
            record: records + 1,
            position,
            problem,
        };
        let (number, record) = match reader.next_record() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(DecodeError::Short { .. }) => {
                truncated_at = Some(position);
                break;
            }
            Err(error) => return Err(bad(plain(&error))),
        };
        let outcome = match (&record, instances.get_mut(&number)) {
            (Record::Start(start), None) => {
                instances.insert(number, Instance::new(start).map_err(bad)?);
                Ok(())
            }
            (Record::Start(_), Some(_)) => return Err(bad(format!("instance {number} begins twice"))),
            (_, None) => return Err(bad(format!("instance {number} has not begun"))),
            (_, Some(instance)) => instance.call(&record).map_err(bad)?,
        };
        records += 1;
        difference = outcome.err().map(|differs| Difference {
            record: records,
            instance: number,
            what: differs.what,
            logged: differs.logged,
            replayed: differs.replayed,
        });
    }
    Ok(Replay {
        records,
        truncated_at,
        difference,
        instances: instances.into_iter().map(|(number, i)| i.report(number)).collect(),
    })
}

/// Describes an error in a record. The message of [`DecodeError`] would call the record a header.
fn plain(error: &DecodeError) -> String {
    match error {
        DecodeError::Short { .. } => error.to_string(),
        DecodeError::Field { name, allowed } => format!("{name} is out of range; allowed: {allowed}"),
    }
}

#[derive(Debug)]
enum Half {
    Sender(AnyParams, AnySender),
    Router(AnyRouterParams, Box<AnyRouter>),
    Receiver(AnyReceiver),
}

#[derive(Debug)]
struct Instance {
    start: Start,
    half: Half,
    calls: u64,
    first: Option<Time>,
    last: Time,
    /// Sum of all intervals of a router.
    intervals: Duration,
    headers: u64,
    states: u64,
}

struct Differs {
    what: &'static str,
    logged: String,
    replayed: String,
}

/// Result of a call. The outer error is an invalid input. The inner error is a difference from the log.
type Outcome = Result<Result<(), Differs>, String>;

impl Instance {
    fn new(start: &Start) -> Result<Self, String> {
        let (name, values) = (start.role.name(), start.values());
        let refused = |e: ParamError| format!("parameter {} of {name}: {e}", e.name);
        let half = match &start.role {
            Role::Sender(_, flow) => {
                let params = params(name, values).map_err(refused)?;
                let sender = AnySender::new(&params, flow);
                Half::Sender(params, sender)
            }
            Role::Router(_, port) => {
                let params = router_params(name, values).map_err(refused)?;
                let router = Box::new(AnyRouter::new(&params, port));
                Half::Router(params, router)
            }
            Role::Receiver(_) => Half::Receiver(AnyReceiver::default()),
        };
        Ok(Self {
            start: *start,
            half,
            calls: 0,
            first: None,
            last: Time::ZERO,
            intervals: Duration::ZERO,
            headers: 0,
            states: 0,
        })
    }

    /// Sets the time of the instance to `now`. Rejects a time before the previous time.
    fn at(&mut self, now: Time) -> Result<(), String> {
        if now < self.last {
            return Err(format!("time goes back, from {} to {now}", self.last));
        }
        self.first.get_or_insert(now);
        self.last = now;
        Ok(())
    }

    fn decode(&self, header: &[u8]) -> Result<AnyHeader, String> {
        let signalling = self.start.role.signalling();
        let need = signalling.header_bytes();
        if header.len() != need {
            return Err(format!(
                "a header of {} has {need} bytes, not {}",
                signalling.name,
                header.len()
            ));
        }
        AnyHeader::decode(signalling, header).map_err(|e| e.to_string())
    }

    #[expect(clippy::unnecessary_wraps, reason = "same type as the results of calls")]
    fn compare(&mut self, logged: &[u8], header: &AnyHeader) -> Outcome {
        let mut wire = [0; 64];
        let length = header.encode(&mut wire);
        if &wire[..length] == logged {
            self.headers += 1;
            return Ok(Ok(()));
        }
        let shown = self
            .decode(logged)
            .map_or_else(|e| format!("no header: {e}"), |h| format!("{h:?}"));
        Ok(Err(Differs {
            what: "header",
            logged: shown,
            replayed: format!("{header:?}"),
        }))
    }

    fn call(&mut self, record: &Record<'_>) -> Outcome {
        if let Record::State { digest: logged } = record {
            return Ok(self.same_state(*logged));
        }
        self.calls += 1;
        match self.half {
            Half::Sender(..) => self.call_sender(record),
            Half::Router(..) => self.call_router(record),
            Half::Receiver(_) => self.call_receiver(record),
        }
    }

    fn call_sender(&mut self, record: &Record<'_>) -> Outcome {
        match record {
            Record::Send { now, packet, header } => {
                self.at(*now)?;
                let own = self.sender(|sender, params| sender.on_send(params, *now, packet))?;
                return self.compare(header, &own);
            }
            Record::Feedback { now, feedback } => {
                self.at(*now)?;
                let header = self.decode(feedback.header)?;
                self.sender(|sender, params| sender.on_feedback(params, *now, &feedback.map_header(|_| header)))?;
            }
            Record::Flight { now, flight } => {
                self.at(*now)?;
                self.sender(|sender, params| sender.on_flight(params, *now, flight))?;
            }
            Record::Restart { now, restart } => {
                self.at(*now)?;
                self.sender(|sender, params| sender.on_restart(params, *now, restart))?;
            }
            Record::Loss { now, loss } => {
                self.at(*now)?;
                self.sender(|sender, params| sender.on_loss(params, *now, loss))?;
            }
            Record::Timeout { now, next } => {
                self.at(*now)?;
                self.sender(|sender, params| sender.on_timeout(params, *now, *next))?;
            }
            _ => return Err("not an input of a sender".to_owned()),
        }
        Ok(Ok(()))
    }

    fn call_router(&mut self, record: &Record<'_>) -> Outcome {
        match record {
            Record::Arrival { packet, header: None } => {
                self.at(packet.now)?;
                self.router(|router, params| router.on_arrival(params, packet, None))?;
            }
            Record::Arrival {
                packet,
                header: Some(Stamped { before, after }),
            } => {
                self.at(packet.now)?;
                let mut header = self.decode(before)?;
                self.router(|router, params| router.on_arrival(params, packet, Some(&mut header)))?;
                return self.compare(after, &header);
            }
            Record::Departure {
                size,
                header: Stamped { before, after },
            } => {
                let mut header = self.decode(before)?;
                self.router(|router, params| router.on_departure(params, *size, &mut header))?;
                return self.compare(after, &header);
            }
            Record::Capacity { capacity } => self.router(|router, params| router.on_capacity(params, *capacity))?,
            Record::Absorb { counted } => self.router(|router, params| router.absorb(params, counted))?,
            Record::Interval { elapsed, port } => {
                if *elapsed == Duration::ZERO {
                    return Err("the length of an interval must be above zero".to_owned());
                }
                let sum = self.intervals.checked_add(*elapsed);
                self.intervals = sum.ok_or("intervals of more than 213 days")?;
                self.router(|router, params| router.on_interval(params, *elapsed, port))?;
            }
            _ => return Err("not an input of a router".to_owned()),
        }
        Ok(Ok(()))
    }

    fn call_receiver(&mut self, record: &Record<'_>) -> Outcome {
        let Record::Reflect {
            arrived,
            header: Stamped { before, after },
        } = record
        else {
            return Err("not an input of a receiver".to_owned());
        };
        self.at(arrived.now)?;
        let header = self.decode(before)?;
        let Half::Receiver(receiver) = &mut self.half else {
            return Err("not a receiver".to_owned());
        };
        let ack = AnySignalling::reflect(receiver, arrived, &header);
        self.compare(after, &ack)
    }

    fn sender<T>(&mut self, call: impl FnOnce(&mut AnySender, &AnyParams) -> T) -> Result<T, String> {
        match &mut self.half {
            Half::Sender(params, sender) => Ok(call(sender, params)),
            _ => Err("not a sender".to_owned()),
        }
    }

    fn router<T>(&mut self, call: impl FnOnce(&mut AnyRouter, &AnyRouterParams) -> T) -> Result<T, String> {
        match &mut self.half {
            Half::Router(params, router) => Ok(call(router, params)),
            _ => Err("not a router".to_owned()),
        }
    }

    fn same_state(&mut self, logged: u64) -> Result<(), Differs> {
        let own = digest(&self.half());
        if own == logged {
            self.states += 1;
            return Ok(());
        }
        Err(Differs {
            what: "state",
            logged: format!("digest {logged:016x}"),
            replayed: format!("digest {own:016x}: {:?}", self.half()),
        })
    }

    fn half(&self) -> &dyn fmt::Debug {
        match &self.half {
            Half::Sender(_, sender) => sender,
            Half::Router(_, router) => router,
            Half::Receiver(receiver) => receiver,
        }
    }

    fn report(self, instance: u32) -> InstanceReport {
        let rows = self.start.role.table().iter().zip(self.start.values());
        let (role, start) = match &self.start.role {
            Role::Sender(_, flow) => ("sender", format!("packets of {}", flow.packet_size)),
            Role::Router(_, port) => ("router", format!("port {} of {}", port.id, port.capacity)),
            Role::Receiver(_) => ("receiver", String::new()),
        };
        let span = self.first.map_or(Duration::ZERO, |first| self.last - first);
        InstanceReport {
            instance,
            law: self.start.role.name(),
            role,
            start,
            params: rows
                .map(|(row, value)| (row.name, Shown(row.unit, *value).to_string()))
                .collect(),
            calls: self.calls,
            span_s: span.max(self.intervals).as_secs_f64(),
            headers: self.headers,
            states: self.states,
            state: format!("{:?}", self.half()),
        }
    }
}
