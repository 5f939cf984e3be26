//! Bindings for laws in Python: the events that a law receives, and the sender that calls its methods.

use std::fmt;
use std::sync::{Arc, OnceLock};

use levelflow_laws::external::{self, Expired, ExternalLaw, ExternalSender, Limits, Lost};
use levelflow_laws::{FlowInfo, LawInfo, Opening, ParamSpec, Signal, Transport, Unit};
use levelflow_scenario::{OwnLaws, Place};
use levelflow_units::{Bytes, Rate, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{PyClass, PyClassInitializer};
use serde::Deserialize;

use crate::error::{LawError, ScenarioError};

/// Smallest rate of a law, bit/s. A rate above the range of rates acts as the largest rate.
const MIN_RATE: f64 = 1.0;
/// Initial rate and window of a sender that failed. The run ends soon after.
const FAILED: Limits = Limits {
    rate: None,
    window: Some(1.0),
};

/// Defines a class of Python with the fields of an event. A test of a law creates the event from keyword arguments.
macro_rules! event {
    ($(#[$doc:meta])* $(#![$lint:meta])* $name:ident { $($field:ident: $type:ty = $default:tt,)* }) => {
        $(#[$doc])*
        #[pyclass(module = "levelflow._core", frozen, get_all)]
        #[derive(Debug, Clone)]
        pub struct $name {
            $($field: $type,)*
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*, $($field = $default),*))]
            $(#[$lint])*
            fn new($($field: $type),*) -> Self {
                Self { $($field),* }
            }

            fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
                slf
            }

            fn __repr__(&self) -> String {
                format!("{self:?}")
            }
        }
    };
}

event! {
    /// ACK for data.
    #![expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    Ack {
        now: f64 = 0.0,
        number: u32 = 0,
        next: u32 = 1,
        rtt: f64 = 0.1,
        srtt: f64 = 0.1,
        min_rtt: f64 = 0.1,
        acked: u32 = 1,
        outstanding: u32 = 0,
        spurious: u32 = 0,
        marked: bool = false,
        round: bool = false,
        recovering: bool = false,
        window_used: bool = true,
        delivered: u32 = 0,
        delivery_rate: Option<f64> = None,
        app_limited: bool = false,
    }
}

event! {
    /// Packet declared lost.
    Loss {
        now: f64 = 0.0,
        number: u32 = 0,
        next: u32 = 1,
        outstanding: u32 = 0,
        first: bool = true,
    }
}

event! {
    /// Retransmission timeout (RTO).
    Timeout {
        now: f64 = 0.0,
        next: u32 = 1,
        repeated: bool = false,
    }
}

event! {
    /// Properties of a flow that its sender receives at the start.
    FlowStart {
        packet_bytes: u64 = 1000,
        seed: u64 = 0,
        size: Option<u64> = None,
    }
}

impl From<&external::Ack> for Ack {
    fn from(ack: &external::Ack) -> Self {
        let feedback = &ack.feedback;
        let sample = feedback.delivery;
        let rate = sample.filter(|s| s.interval.as_secs_f64() > 0.0).map(|s| {
            let bits = f64::from(s.total.wrapping_sub(s.prior)) * ack.packet_size.as_bits_f64();
            bits / s.interval.as_secs_f64()
        });
        Self {
            now: seconds(ack.now),
            number: feedback.number,
            next: ack.next,
            rtt: ack.rtt.last,
            srtt: ack.rtt.smooth,
            min_rtt: ack.rtt.min,
            acked: feedback.acked,
            outstanding: feedback.outstanding,
            spurious: feedback.spurious,
            marked: feedback.marked,
            round: ack.round,
            recovering: ack.recovering,
            window_used: ack.window_used,
            delivered: sample.map_or(0, |s| s.total),
            delivery_rate: rate,
            app_limited: sample.is_some_and(|s| s.app_limited),
        }
    }
}

/// Description of a law, as `levelflow.lawfile` writes it.
#[derive(Debug, Deserialize)]
struct Description {
    name: String,
    title: String,
    source: String,
    signal: String,
    handshake: bool,
    delayed_ack: bool,
    scalable: bool,
    draws: bool,
    params: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    doc: String,
    unit: String,
    default: f64,
    low: f64,
    high: f64,
    choices: Vec<String>,
}

/// Law in Python.
#[pyclass(module = "levelflow._core", frozen)]
pub struct PythonLaw {
    info: &'static LawInfo,
    transport: Transport,
    /// Function that returns the parameters of the law from values in base units.
    read: Py<PyAny>,
    /// Function that creates a sender from values in base units and a `FlowStart`.
    make: Py<PyAny>,
}

#[pymethods]
impl PythonLaw {
    /// Creates a law from its description in JSON. The description lives until the end of the process, like the
    /// descriptions of registered laws.
    #[new]
    fn new(description: &str, read: Py<PyAny>, make: Py<PyAny>) -> PyResult<Self> {
        let law: Description = serde_json::from_str(description).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let (signal, ecn) = match law.signal.as_str() {
            "delay" => (Signal::Delay, false),
            "marks" => (Signal::Mark, true),
            _ => (Signal::Loss, false),
        };
        let params: Vec<ParamSpec> = law.params.into_iter().map(row).collect();
        let info = LawInfo::of_hosts(
            leak(law.name),
            leak(law.title),
            leak(law.source),
            signal,
            false,
            params.leak(),
        );
        let transport = Transport {
            opening: if law.handshake {
                Opening::Handshake
            } else {
                Opening::Immediate
            },
            tracks_losses: true,
            draws: law.draws,
            ecn,
            scalable: law.scalable,
            ack_every: 1 + u8::from(law.delayed_ack),
            measures_delivery: true,
            ..Transport::PLAIN
        };
        Ok(Self {
            info: Box::leak(Box::new(info)),
            transport,
            read,
            make,
        })
    }
}

fn leak(text: String) -> &'static str {
    text.leak()
}

fn row(row: Row) -> ParamSpec {
    ParamSpec {
        name: leak(row.name),
        doc: leak(row.doc),
        unit: match row.unit.as_str() {
            "time" => Unit::Duration,
            "rate" => Unit::Rate,
            "size" => Unit::Size,
            "packets" => Unit::Packets,
            "switch" => Unit::Switch,
            "choice" => Unit::Choice(row.choices.into_iter().map(leak).collect::<Vec<_>>().leak()),
            _ => Unit::Number,
        },
        default: row.default,
        linux: None,
        range: (row.low, row.high),
        source: "law file",
    }
}

/// Laws in Python of one run.
pub struct PythonLaws {
    laws: Vec<Py<PythonLaw>>,
    fault: Arc<OnceLock<Fault>>,
}

/// First exception in the code of a law.
#[derive(Debug)]
struct Fault {
    error: PyErr,
    law: &'static str,
    method: &'static str,
    now: Time,
}

impl PythonLaws {
    pub fn new(laws: Vec<Py<PythonLaw>>) -> Self {
        Self {
            laws,
            fault: Arc::default(),
        }
    }

    /// Returns the laws for the engine.
    pub fn own(&self, py: Python<'_>) -> OwnLaws {
        let each = |law: &Py<PythonLaw>| -> Arc<dyn ExternalLaw> {
            Arc::new(Adapter {
                law: law.clone_ref(py),
                fault: Arc::clone(&self.fault),
            })
        };
        self.laws.iter().map(each).collect()
    }

    /// Creates the parameters of a flow once, so that the code of the law can reject them.
    pub fn check(&self, py: Python<'_>, place: &Place, params: &external::Params) -> PyResult<()> {
        let law = self
            .laws
            .iter()
            .find(|law| law.get().info.name == params.law.info().name)
            .expect("flows name only these laws");
        let read = law.get().read.call1(py, (params.values.to_vec(),));
        read.map(drop).map_err(|error| match error.value(py).str() {
            Ok(text) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                ScenarioError::new_err(format!("{place}, law: {text}"))
            }
            _ => error,
        })
    }

    /// Raises the first exception in the code of a law, if there is one.
    pub fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let Some(fault) = self.fault.get() else { return Ok(()) };
        let cause = fault.error.clone_ref(py);
        if cause.is_instance_of::<PyKeyboardInterrupt>(py) {
            return Err(cause);
        }
        let error = LawError::new_err((fault.law, fault.method, seconds(fault.now)));
        error.set_cause(py, Some(cause));
        Err(error)
    }
}

/// Law in Python, for the engine.
struct Adapter {
    law: Py<PythonLaw>,
    fault: Arc<OnceLock<Fault>>,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Adapter").field(&self.law.get().info.name).finish()
    }
}

impl ExternalLaw for Adapter {
    fn info(&self) -> &'static LawInfo {
        self.law.get().info
    }

    fn transport(&self) -> Transport {
        self.law.get().transport
    }

    fn sender(&self, values: &[f64], flow: &FlowInfo) -> Box<dyn ExternalSender> {
        let start = FlowStart {
            packet_bytes: flow.packet_size.get(),
            seed: flow.seed,
            size: flow.size.map(Bytes::get),
        };
        let mut sender = PythonSender {
            object: None,
            law: self.law.get().info.name,
            fault: Arc::clone(&self.fault),
            limits: FAILED,
        };
        if self.fault.get().is_none() {
            Python::attach(|py| {
                let made = self.law.get().make.call1(py, (values.to_vec(), start));
                let made = made.and_then(|object| Ok((limits(object.bind(py))?, object)));
                match made {
                    Ok((limits, object)) => (sender.limits, sender.object) = (limits, Some(object)),
                    Err(error) => sender.fail(error, "start", Time::ZERO),
                }
            });
        }
        Box::new(sender)
    }
}

/// Sender of a law in Python. After the first exception of a run, the senders of this run no longer call Python.
#[derive(Debug)]
struct PythonSender {
    object: Option<Py<PyAny>>,
    law: &'static str,
    fault: Arc<OnceLock<Fault>>,
    limits: Limits,
}

impl PythonSender {
    fn fail(&self, error: PyErr, method: &'static str, now: Time) {
        // Only the first exception is reported.
        let _ = self.fault.set(Fault {
            error,
            law: self.law,
            method,
            now,
        });
    }

    fn call<E: PyClass + Into<PyClassInitializer<E>>>(
        &mut self,
        now: Time,
        method: &'static str,
        name: impl for<'py> FnOnce(Python<'py>) -> &'py Bound<'py, PyString>,
        event: E,
    ) {
        let Some(object) = self.object.as_ref().filter(|_| self.fault.get().is_none()) else {
            return;
        };
        let called = Python::attach(|py| {
            let object = object.bind(py);
            let event = Bound::new(py, event)?;
            object.call_method1(name(py), (event,))?;
            limits(object)
        });
        match called {
            Ok(limits) => self.limits = limits,
            Err(error) => self.fail(error, method, now),
        }
    }
}

impl ExternalSender for PythonSender {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn on_ack(&mut self, ack: &external::Ack) {
        self.call(ack.now, "on_ack", |py| intern!(py, "on_ack"), Ack::from(ack));
    }

    fn on_loss(&mut self, lost: &Lost) {
        let loss = Loss {
            now: seconds(lost.now),
            number: lost.loss.number,
            next: lost.loss.next,
            outstanding: lost.loss.outstanding,
            first: lost.first,
        };
        self.call(lost.now, "on_loss", |py| intern!(py, "on_loss"), loss);
    }

    fn on_timeout(&mut self, expired: &Expired) {
        let timeout = Timeout {
            now: seconds(expired.now),
            next: expired.next,
            repeated: expired.repeated,
        };
        self.call(expired.now, "on_timeout", |py| intern!(py, "on_timeout"), timeout);
    }

    fn duplicate(&self) -> Box<dyn ExternalSender> {
        let copied = Python::attach(|py| {
            let copy = py.import(intern!(py, "copy"))?;
            let deep = |object: &Py<PyAny>| copy.call_method1(intern!(py, "deepcopy"), (object,)).map(Bound::unbind);
            self.object.as_ref().map(deep).transpose()
        });
        let object = copied.unwrap_or_else(|error| {
            self.fail(error, "start", Time::ZERO);
            None
        });
        Box::new(Self {
            object,
            law: self.law,
            fault: Arc::clone(&self.fault),
            limits: self.limits,
        })
    }
}

/// Raises ValueError if the rate or the window of a sender is not allowed.
#[pyfunction]
pub fn check_limits(sender: &Bound<'_, PyAny>) -> PyResult<()> {
    limits(sender).map(drop)
}

/// Reads the attributes `rate` and `window` of a sender.
fn limits(sender: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let py = sender.py();
    let rate = number(&sender.getattr(intern!(py, "rate"))?, "rate", MIN_RATE)?;
    let window = number(&sender.getattr(intern!(py, "window"))?, "window", 0.0)?;
    if rate.is_none() && window.is_none() {
        return Err(PyValueError::new_err("neither rate nor window is set; set one of them"));
    }
    Ok(Limits {
        rate: rate.map(Rate::clamped),
        window,
    })
}

fn number(value: &Bound<'_, PyAny>, name: &str, least: f64) -> PyResult<Option<f64>> {
    if value.is_none() {
        return Ok(None);
    }
    let found = value.extract::<f64>().ok().filter(|x| (least..=f64::MAX).contains(x));
    found.map(Some).ok_or_else(|| {
        let shown = value
            .repr()
            .map_or_else(|_| "unprintable".into(), |text| text.to_string());
        let allowed = if name == "rate" {
            "numbers of at least 1, in bit/s"
        } else {
            "numbers of at least 0, in packets"
        };
        PyValueError::new_err(format!("{name} is {shown}; allowed: {allowed}"))
    })
}

fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}
