//! Senders, routers and receivers that log their inputs.

use core::fmt::{self, Debug};
use core::ops::Deref;

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{MAX_RECORD_BYTES, Record, Stamped, Start, digest};
use levelflow_laws::offload::{Counts, Offload};
use levelflow_laws::{AnyHeader, AnyParams, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, AnySignalling};
use levelflow_laws::{Arrived, Arriving, Bottleneck, Feedback, Flight, FlowInfo, Loss, Outgoing, PortView};
use levelflow_laws::{Restart, RouterLaw, SenderLaw, Signalling};

/// Destination of log records.
pub trait Sink {
    /// Writes one whole record.
    fn write(&mut self, record: &[u8]);
}

/// Writer of the log records of one sender, router or receiver.
#[derive(Debug)]
pub struct Log<S: Sink> {
    sink: S,
    instance: u32,
}

impl<S: Sink> Log<S> {
    /// Writes the first record of an instance. `instance` must be unique in the log. The log contains a digest of the
    /// state after each control interval or ACK, and at the end. A digest takes a few microseconds.
    #[must_use]
    pub fn start(sink: S, instance: u32, start: &Start) -> Self {
        let mut log = Self { sink, instance };
        log.put(&Record::Start(*start));
        log
    }

    fn put(&mut self, record: &Record<'_>) {
        let mut wire = [0; MAX_RECORD_BYTES];
        let length = record.encode(self.instance, &mut wire);
        self.sink.write(&wire[..length]);
    }

    fn state(&mut self, state: &impl Debug) {
        let digest = digest(state);
        self.put(&Record::State { digest });
    }
}

/// Encoded header, and its length in bytes.
struct Wire([u8; 64], usize);

impl Wire {
    fn of(header: &AnyHeader) -> Self {
        let mut bytes = [0; 64];
        let length = header.encode(&mut bytes);
        Self(bytes, length)
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }

    fn stamped<'a>(&'a self, after: &'a Self) -> Stamped<'a> {
        let (before, after) = (self.bytes(), after.bytes());
        Stamped { before, after }
    }
}

/// Sender, router or receiver with an optional log of its inputs. Dereferences to the law `L`.
pub struct Logged<L: Debug, S: Sink> {
    law: L,
    log: Option<Log<S>>,
}

impl<L: Debug, S: Sink> Logged<L, S> {
    /// Adds a log to a law in its initial state. The log must contain the parameters of the law.
    pub fn with_log(law: L, log: Option<Log<S>>) -> Self {
        Self { law, log }
    }
}

impl<L: Debug, S: Sink> Deref for Logged<L, S> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.law
    }
}

/// Prints only the law.
impl<L: Debug, S: Sink> Debug for Logged<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.law.fmt(f)
    }
}

impl<L: Debug, S: Sink> Drop for Logged<L, S> {
    fn drop(&mut self) {
        if let Some(log) = &mut self.log {
            log.state(&self.law);
        }
    }
}

/// Sender with an optional log of its inputs. Dereferences to its [`AnySender`].
pub type LoggedSender<S> = Logged<AnySender, S>;

/// Calls the law. Logs the inputs of methods that change the state of the law.
impl<S: Sink> SenderLaw for Logged<AnySender, S> {
    type Params = AnyParams;
    type Header = AnyHeader;

    fn new(params: &AnyParams, flow: &FlowInfo) -> Self {
        Self::with_log(AnySender::new(params, flow), None)
    }

    fn rate(&self) -> Rate {
        self.law.rate()
    }

    fn paces(&self) -> bool {
        self.law.paces()
    }

    fn pace(&self) -> Rate {
        self.law.pace()
    }

    fn timeout(&self) -> Option<Duration> {
        self.law.timeout()
    }

    fn window(&self) -> u32 {
        self.law.window()
    }

    fn packet_size(&self, params: &AnyParams) -> Bytes {
        self.law.packet_size(params)
    }

    fn proposal(&self) -> Rate {
        self.law.proposal()
    }

    fn bottleneck(&self) -> Bottleneck {
        self.law.bottleneck()
    }

    fn on_send(&mut self, params: &AnyParams, now: Time, packet: &Outgoing) -> AnyHeader {
        let header = self.law.on_send(params, now, packet);
        if let Some(log) = &mut self.log {
            log.put(&Record::Send {
                now,
                packet: *packet,
                header: Wire::of(&header).bytes(),
            });
        }
        header
    }

    fn on_feedback(&mut self, params: &AnyParams, now: Time, feedback: &Feedback<AnyHeader>) {
        self.law.on_feedback(params, now, feedback);
        let Some(log) = &mut self.log else { return };
        let wire = Wire::of(&feedback.header);
        let feedback = feedback.map_header(|_| wire.bytes());
        log.put(&Record::Feedback { now, feedback });
        log.state(&self.law);
    }

    fn on_flight(&mut self, params: &AnyParams, now: Time, flight: &Flight) {
        self.law.on_flight(params, now, flight);
        if let Some(log) = &mut self.log {
            log.put(&Record::Flight { now, flight: *flight });
        }
    }

    fn on_restart(&mut self, params: &AnyParams, now: Time, restart: &Restart) {
        self.law.on_restart(params, now, restart);
        if let Some(log) = &mut self.log {
            log.put(&Record::Restart { now, restart: *restart });
        }
    }

    fn on_loss(&mut self, params: &AnyParams, now: Time, loss: &Loss) {
        self.law.on_loss(params, now, loss);
        if let Some(log) = &mut self.log {
            log.put(&Record::Loss { now, loss: *loss });
        }
    }

    fn on_timeout(&mut self, params: &AnyParams, now: Time, next: u32) {
        self.law.on_timeout(params, now, next);
        if let Some(log) = &mut self.log {
            log.put(&Record::Timeout { now, next });
        }
    }
}

/// Router with an optional log of its inputs. Dereferences to its [`AnyRouter`].
pub type LoggedRouter<S> = Logged<AnyRouter, S>;

impl<S: Sink> Logged<AnyRouter, S> {
    /// Calls and logs [`RouterLaw::on_arrival`].
    pub fn on_arrival(&mut self, params: &AnyRouterParams, packet: &Arriving, mut header: Option<&mut AnyHeader>) {
        let Some(log) = &mut self.log else {
            return self.law.on_arrival(params, packet, header);
        };
        let before = header.as_deref().map(Wire::of);
        self.law.on_arrival(params, packet, header.as_deref_mut());
        let after = header.as_deref().map(Wire::of);
        let header = before.as_ref().zip(after.as_ref());
        let header = header.map(|(before, after)| before.stamped(after));
        log.put(&Record::Arrival {
            packet: *packet,
            header,
        });
    }

    /// Calls and logs [`RouterLaw::on_departure`].
    pub fn on_departure(&mut self, params: &AnyRouterParams, size: Bytes, header: &mut AnyHeader) {
        let Some(log) = &mut self.log else {
            return self.law.on_departure(params, size, header);
        };
        let before = Wire::of(header);
        self.law.on_departure(params, size, header);
        let after = Wire::of(header);
        let header = before.stamped(&after);
        log.put(&Record::Departure { size, header });
    }

    /// Calls and logs [`Offload::absorb`].
    pub fn absorb(&mut self, params: &AnyRouterParams, counted: &Counts) {
        self.law.absorb(params, counted);
        if let Some(log) = &mut self.log {
            log.put(&Record::Absorb { counted: *counted });
        }
    }

    /// Calls and logs [`RouterLaw::on_capacity`].
    pub fn on_capacity(&mut self, params: &AnyRouterParams, capacity: Rate) {
        self.law.on_capacity(params, capacity);
        if let Some(log) = &mut self.log {
            log.put(&Record::Capacity { capacity });
        }
    }

    /// Calls and logs [`RouterLaw::on_interval`].
    pub fn on_interval(&mut self, params: &AnyRouterParams, elapsed: Duration, port: &PortView) {
        self.law.on_interval(params, elapsed, port);
        if let Some(log) = &mut self.log {
            log.put(&Record::Interval { elapsed, port: *port });
            log.state(&self.law);
        }
    }
}

/// Receiver state of a flow, with an optional log of its inputs.
pub type LoggedReceiver<S> = Logged<AnyReceiver, S>;

impl<S: Sink> Logged<AnyReceiver, S> {
    /// Calls and logs [`Signalling::reflect`].
    pub fn reflect(&mut self, arrived: &Arrived, header: &AnyHeader) -> AnyHeader {
        let ack = AnySignalling::reflect(&mut self.law, arrived, header);
        if let Some(log) = &mut self.log {
            let (before, after) = (Wire::of(header), Wire::of(&ack));
            let header = before.stamped(&after);
            log.put(&Record::Reflect {
                arrived: *arrived,
                header,
            });
            log.state(&self.law);
        }
        ack
    }
}
