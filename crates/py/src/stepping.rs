//! Bindings for stepping one router, sender or buffer-sizing algorithm. Routers and senders exchange headers as bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use levelflow_laws::buffers::{AnyBufferAlgorithm, Load};
use levelflow_laws::{
    AnyHeader, AnyParams, AnyReceiver, AnyRouter, AnyRouterParams, AnySender, Arrived, Arriving, Feedback, FlowInfo,
    Kind, Loss, Outgoing, PortInfo, PortView, RouterLaw, SenderLaw, SignallingInfo,
};
use levelflow_scenario::{buffer_algorithm_named, law_params, law_values, signalling_params, signalling_values};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{self, Log, LoggedReceiver, LoggedRouter, LoggedSender, Role, Sink, Start};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::error::refuse;

const LONGEST_HEADER: usize = 64;

/// Log in memory.
#[derive(Debug, Clone)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(journal::MAGIC.to_vec())))
    }

    fn read(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sink for Page {
    fn write(&mut self, record: &[u8]) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(record);
    }
}

/// Parameters of senders or routers, and the log of their instances if the caller requests a log.
struct Chosen<P> {
    params: P,
    values: Vec<f64>,
    page: Option<Page>,
}

fn table(json: &str) -> PyResult<BTreeMap<String, Value>> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))
}

impl Chosen<AnyParams> {
    fn law(law: &str, json: &str, logged: bool) -> PyResult<Self> {
        let table = table(json)?;
        Ok(Self {
            params: law_params(law, &table).map_err(refuse)?,
            values: law_values(law, &table).map_err(refuse)?,
            page: logged.then(Page::new),
        })
    }
}

impl Chosen<AnyRouterParams> {
    fn signalling(name: &str, json: &str, logged: bool) -> PyResult<Self> {
        let table = table(json)?;
        Ok(Self {
            params: signalling_params(name, &table).map_err(refuse)?,
            values: signalling_values(name, &table).map_err(refuse)?,
            page: logged.then(Page::new),
        })
    }
}

impl<P> Chosen<P> {
    /// Starts the log of an instance. A replay compares the state of the instance after each interval or ACK.
    fn log(&self, instance: u32, role: Role) -> Option<Log<Page>> {
        let values = if let Role::Receiver(_) = role {
            &[]
        } else {
            &self.values[..]
        };
        let start = Start::new(role, values);
        Some(Log::start(self.page.clone()?, instance, &start))
    }

    fn journal<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.page.as_ref()?.read()))
    }
}

fn encode<'py>(py: Python<'py>, header: &AnyHeader) -> Bound<'py, PyBytes> {
    let mut wire = [0; LONGEST_HEADER];
    let length = header.encode(&mut wire);
    PyBytes::new(py, &wire[..length])
}

fn decode(signalling: &SignallingInfo, wire: &[u8]) -> PyResult<AnyHeader> {
    AnyHeader::decode(signalling, wire).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::from_secs_f64(value)
        .ok_or_else(|| PyValueError::new_err(format!("{name} must be a time of at least 0 s")))
}

fn kind(name: &str) -> PyResult<Kind> {
    match name {
        "data" => Ok(Kind::Data),
        "syn" => Ok(Kind::Syn),
        "fin" => Ok(Kind::Fin),
        _ => Err(PyValueError::new_err(format!(
            "{name:?} is not a kind of packet; allowed: data, syn, fin"
        ))),
    }
}

/// Router half of a signalling at one output port.
#[pyclass(module = "levelflow._core")]
pub struct Router {
    chosen: Chosen<AnyRouterParams>,
    law: LoggedRouter<Page>,
}

#[pymethods]
impl Router {
    #[new]
    #[pyo3(signature = (law, capacity_bps, params_json, id, logged=false))]
    fn new(law: &str, capacity_bps: f64, params_json: &str, id: u32, logged: bool) -> PyResult<Self> {
        let capacity =
            Rate::new(capacity_bps).ok_or_else(|| PyValueError::new_err("capacity_bps must be at least 0"))?;
        let chosen = Chosen::signalling(law, params_json, logged)?;
        let port = PortInfo { id, capacity };
        let role = Role::Router(chosen.params.signalling(), port);
        let law = LoggedRouter::with_log(AnyRouter::new(&chosen.params, &port), chosen.log(0, role));
        Ok(Self { chosen, law })
    }

    /// Processes the arrival of a packet of `size` bytes at the queue. Returns the outgoing header. A packet without a
    /// header is foreign load, which the router does not control.
    #[pyo3(signature = (size, header=None, queue_bytes=0))]
    fn arrive<'py>(
        &mut self,
        py: Python<'py>,
        size: u64,
        header: Option<&[u8]>,
        queue_bytes: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut header = header
            .map(|wire| decode(self.chosen.params.signalling(), wire))
            .transpose()?;
        let packet = Arriving {
            queue: Bytes::new(queue_bytes),
            ..Arriving::alone(Bytes::new(size))
        };
        self.law.on_arrival(&self.chosen.params, &packet, header.as_mut());
        Ok(header.map(|h| encode(py, &h)))
    }

    /// Processes the departure of a packet of `size` bytes with this header. Returns the outgoing header.
    #[pyo3(signature = (header, size=1000))]
    fn depart<'py>(&mut self, py: Python<'py>, header: &[u8], size: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut header = decode(self.chosen.params.signalling(), header)?;
        self.law
            .on_departure(&self.chosen.params, Bytes::new(size), &mut header);
        Ok(encode(py, &header))
    }

    /// Ends a control interval of `elapsed_s`. `in_service_bytes` is the size of the packet in transmission.
    /// `queue_bytes` includes this packet.
    #[pyo3(signature = (elapsed_s, queue_bytes=0, dropped_bytes=0, in_service_bytes=0))]
    fn close(&mut self, elapsed_s: f64, queue_bytes: u64, dropped_bytes: u64, in_service_bytes: u64) -> PyResult<()> {
        if in_service_bytes > queue_bytes {
            return Err(PyValueError::new_err(format!(
                "in_service_bytes must be at most queue_bytes, {queue_bytes}; is {in_service_bytes}"
            )));
        }
        let port = PortView {
            queue: Bytes::new(queue_bytes),
            packets: 0,
            in_service: Bytes::new(in_service_bytes),
            dropped: Bytes::new(dropped_bytes),
        };
        self.law
            .on_interval(&self.chosen.params, seconds("elapsed_s", elapsed_s)?, &port);
        Ok(())
    }

    /// Returns the feedback: a price, or a rate in bit/s.
    #[getter]
    fn signal(&self) -> f64 {
        self.law.signal()
    }

    /// Returns the target load of the router, bit/s.
    #[getter]
    fn target_bps(&self) -> f64 {
        self.law.target().bps()
    }

    /// Returns the duration of the next control interval, s.
    #[getter]
    fn interval_s(&self) -> f64 {
        self.law.interval(&self.chosen.params).as_secs_f64()
    }

    /// Returns the log of inputs so far, for `levelflow replay`; `None` if inputs are not logged.
    #[getter]
    fn journal<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.chosen.journal(py)
    }

    /// Formats every variable of the router.
    fn __repr__(&self) -> String {
        format!("{:?}", self.law)
    }
}

/// Sender half of a law for one flow.
#[pyclass(module = "levelflow._core")]
pub struct Sender {
    chosen: Chosen<AnyParams>,
    law: LoggedSender<Page>,
    receiver: LoggedReceiver<Page>,
}

#[pymethods]
impl Sender {
    #[new]
    #[pyo3(signature = (law, params_json, packet_bytes, logged=false, seed=0))]
    fn new(law: &str, params_json: &str, packet_bytes: u64, logged: bool, seed: u64) -> PyResult<Self> {
        let chosen = Chosen::law(law, params_json, logged)?;
        let flow = FlowInfo::of(Bytes::new(packet_bytes)).with(seed, None);
        let log = chosen.log(0, Role::Sender(chosen.params.law(), flow));
        let law = LoggedSender::with_log(AnySender::new(&chosen.params, &flow), log);
        let receiver = LoggedReceiver::with_log(
            AnyReceiver::default(),
            chosen.log(1, Role::Receiver(chosen.params.law().signalling)),
        );
        Ok(Self { chosen, law, receiver })
    }

    /// Returns the header for packet `number` of `size` bytes, sent at `now_s`.
    #[pyo3(signature = (now_s, number, size, kind="data"))]
    fn send<'py>(
        &mut self,
        py: Python<'py>,
        now_s: f64,
        number: u32,
        size: u64,
        kind: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let now = Time::ZERO + seconds("now_s", now_s)?;
        let packet = Outgoing {
            number,
            size: Bytes::new(size),
            kind: self::kind(kind)?,
        };
        Ok(encode(py, &self.law.on_send(&self.chosen.params, now, &packet)))
    }

    /// Processes the ACK of packet `number` at `now_s`, with the header that reached the receiver.
    #[pyo3(signature = (now_s, number, rtt_s, header, kind="data"))]
    fn feedback(&mut self, now_s: f64, number: u32, rtt_s: f64, header: &[u8], kind: &str) -> PyResult<()> {
        let now = Time::ZERO + seconds("now_s", now_s)?;
        let kind = self::kind(kind)?;
        let arrived = Arrived {
            now,
            kind,
            size: self.law.packet_size(&self.chosen.params),
        };
        let header = decode(self.chosen.params.law().signalling, header)?;
        let header = self.receiver.reflect(&arrived, &header);
        let feedback = Feedback::plain(number, kind, seconds("rtt_s", rtt_s)?, header);
        self.law.on_feedback(&self.chosen.params, now, &feedback);
        Ok(())
    }

    /// Processes the loss of packet `lost`. `next` is the number of the next packet.
    #[pyo3(signature = (now_s, lost, next, outstanding=0))]
    fn loss(&mut self, now_s: f64, lost: u32, next: u32, outstanding: u32) -> PyResult<()> {
        let now = Time::ZERO + seconds("now_s", now_s)?;
        let loss = Loss {
            number: lost,
            next,
            outstanding,
        };
        self.law.on_loss(&self.chosen.params, now, &loss);
        Ok(())
    }

    /// Processes a retransmission timeout (RTO). `next` is the number of the next packet.
    fn timeout(&mut self, now_s: f64, next: u32) -> PyResult<()> {
        let now = Time::ZERO + seconds("now_s", now_s)?;
        self.law.on_timeout(&self.chosen.params, now, next);
        Ok(())
    }

    /// Returns the congestion window in packets, or `None` if the law does not limit packets in flight.
    #[getter]
    fn window(&self) -> Option<u32> {
        Some(self.law.window()).filter(|&w| w < u32::MAX)
    }

    /// Returns the sending rate, bit/s.
    #[getter]
    fn rate_bps(&self) -> f64 {
        self.law.rate().bps()
    }

    /// Returns the rate that the sender proposes to routers, bit/s.
    #[getter]
    fn proposal_bps(&self) -> f64 {
        self.law.proposal().bps()
    }

    /// Returns the size of the next data packet, bytes.
    #[getter]
    fn packet_size(&self) -> u64 {
        self.law.packet_size(&self.chosen.params).get()
    }

    /// Returns the log of inputs so far, for `levelflow replay`; `None` if inputs are not logged.
    #[getter]
    fn journal<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.chosen.journal(py)
    }

    /// Formats every variable of the sender.
    fn __repr__(&self) -> String {
        format!("{:?}", self.law)
    }
}

/// Buffer-sizing algorithm at one output port.
#[pyclass(module = "levelflow._core")]
pub struct BufferAlgorithm(AnyBufferAlgorithm);

#[pymethods]
impl BufferAlgorithm {
    #[new]
    fn new(name: &str, capacity_bps: f64, params_json: &str) -> PyResult<Self> {
        let capacity =
            Rate::new(capacity_bps).ok_or_else(|| PyValueError::new_err("capacity_bps must be at least 0"))?;
        let table = serde_json::from_str(params_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let params = buffer_algorithm_named(name, &table).map_err(refuse)?;
        Ok(Self(AnyBufferAlgorithm::new(&params, &PortInfo { id: 1, capacity })))
    }

    /// Ends an interval with these numbers of bytes admitted, dropped and sent. `queue_bytes` is the mean queue length,
    /// and `queue_packets` is the current queue length. Returns the new buffer limit of the port, in packets.
    #[pyo3(signature = (elapsed_s, admitted, dropped, sent, queue_bytes=0, queue_packets=0))]
    fn close(
        &mut self,
        elapsed_s: f64,
        admitted: u64,
        dropped: u64,
        sent: u64,
        queue_bytes: u64,
        queue_packets: u32,
    ) -> PyResult<f64> {
        self.0.on_interval(&Load {
            elapsed: seconds("elapsed_s", elapsed_s)?,
            admitted: Bytes::new(admitted),
            dropped: Bytes::new(dropped),
            sent: Bytes::new(sent),
            queue: Bytes::new(queue_bytes),
            packets: queue_packets,
        });
        Ok(self.0.packets())
    }

    /// Returns the buffer limit of the port, in packets.
    #[getter]
    fn packets(&self) -> f64 {
        self.0.packets()
    }

    /// Returns the time between two calls of `close`, s.
    #[getter]
    fn interval_s(&self) -> f64 {
        self.0.interval().as_secs_f64()
    }

    /// Formats every variable of the algorithm.
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
