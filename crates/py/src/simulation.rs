//! Bindings for running a scenario.

use std::collections::BTreeMap;

use levelflow_laws::{Any, AnyParams};
use levelflow_results::{Column, Table};
use levelflow_scenario::{Network, Place, Resolved, Scenario};
use levelflow_sim::{Capture, Division, ParallelRun, Running, Sim, Threads};
use levelflow_units::{Duration, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{ScenarioError, refuse};
use crate::law::{PythonLaw, PythonLaws};

/// Reads and checks a scenario in JSON.
pub fn read(py: Python<'_>, json: &str, laws: &PythonLaws) -> PyResult<(Scenario, Resolved)> {
    let value = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let mut scenario = Scenario::from_value(&value).map_err(refuse)?;
    scenario.own_laws = laws.own(py);
    let resolved = scenario.resolve().map_err(refuse)?;
    for (i, flow) in resolved.network.flows.iter().enumerate() {
        if let AnyParams::External(params) = &flow.params {
            let place = Place::from(format!("flow {} ({})", i + 1, flow.name));
            laws.check(py, &place, params)?;
        }
    }
    laws.raise(py)?;
    Ok((scenario, resolved))
}

/// Returns true if a flow of the network has a law in Python.
fn calls_python(network: &Network<Any>) -> bool {
    network
        .flows
        .iter()
        .any(|flow| matches!(flow.params, AnyParams::External(_)))
}

/// Run in progress.
#[pyclass(module = "levelflow._core")]
pub struct Simulation {
    pub run: Box<dyn Running>,
    laws: PythonLaws,
    /// True if the run calls laws in Python. It then has one thread, which holds the lock of the interpreter.
    calls_python: bool,
    #[pyo3(get)]
    duration: f64,
}

#[pymethods]
impl Simulation {
    /// Creates a run. `capture` names the links whose packets are captured. An empty list selects all links. A run with
    /// capture uses one thread. If `threads` is None, the engine chooses the fastest number of threads.
    #[new]
    #[pyo3(signature = (json, capture=None, threads=Some(1), laws=Vec::new()))]
    fn new(
        py: Python<'_>,
        json: &str,
        capture: Option<Vec<String>>,
        threads: Option<usize>,
        laws: Vec<Py<PythonLaw>>,
    ) -> PyResult<Self> {
        let laws = PythonLaws::new(laws);
        let (_, resolved) = read(py, json, &laws)?;
        let calls_python = calls_python(&resolved.network);
        let threads = if calls_python { Some(1) } else { threads };
        levelflow_sim::check_memory(&resolved.network).map_err(|e| ScenarioError::new_err(e.to_string()))?;
        let duration = resolved.network.duration.as_secs_f64();
        let capture = capture.map(|names| Capture::of(&resolved, &names)).transpose();
        let capture = capture.map_err(refuse)?.map(Box::new);
        let threads = threads.map_or(Threads::AsPays, Threads::Exactly);
        let run = py.detach(|| match capture {
            None => levelflow_sim::start(resolved.network, threads),
            Some(_) => {
                let mut sim = Sim::new(resolved.network);
                sim.capture = capture;
                Box::new(ParallelRun::whole(sim, Division::Whole))
            }
        });
        laws.raise(py)?;
        Ok(Self {
            run,
            laws,
            calls_python,
            duration,
        })
    }

    /// Returns packets captured since the last call, as pcapng.
    fn captured<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run.captured())
    }

    /// Returns the simulated time, s.
    #[getter]
    fn now(&self) -> f64 {
        self.run.now().as_secs_f64()
    }

    /// Returns the number of events processed.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events()
    }

    /// Returns the number of link crossings, summed over all packets.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.run.packet_hops()
    }

    /// Returns the division of the run among threads, or the reason for using one thread.
    #[getter]
    fn division(&self) -> String {
        self.run.division().to_string()
    }

    /// Returns the memory for packets, links and flows, in bytes.
    #[getter]
    fn memory(&self) -> usize {
        self.run.memory()
    }

    /// Advances to `to_s` or by at most `budget_events` events. Returns true at the end of the run. Raises
    /// ScenarioError when the run reaches its memory limit, and LawError when a law in Python raises an exception.
    fn advance(&mut self, py: Python<'_>, to_s: f64, budget_events: u64) -> PyResult<bool> {
        let until = Duration::from_secs_f64(to_s).ok_or_else(|| PyValueError::new_err("to_s must be a time"))?;
        let mut advance = || self.run.advance(Time::ZERO + until, budget_events);
        let advanced = if self.calls_python {
            advance()
        } else {
            py.detach(advance)
        };
        self.laws.raise(py)?;
        advanced.map_err(|e| ScenarioError::new_err(e.to_string()))
    }

    /// Returns the rows recorded since the last call, by table and column. Each column is a pair of type and bytes.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in self.run.recorder().take() {
            tables.set_item(name, columns(py, &table))?;
        }
        Ok(tables)
    }

    /// Records the unfinished transfers at the end of the run. After this call, the run must not advance.
    fn record_end(&mut self) {
        self.run.record_end();
    }

    /// Returns exact counters, in JSON. Raises RuntimeError if packets are not conserved.
    fn summary(&mut self) -> PyResult<String> {
        let summary = self.run.summary().map_err(|v| PyRuntimeError::new_err(v.to_string()))?;
        serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

fn columns<'py>(py: Python<'py>, table: &Table) -> BTreeMap<&'static str, (&'static str, Bound<'py, PyBytes>)> {
    let mut columns = BTreeMap::new();
    for (name, column) in &table.columns {
        let (kind, bytes) = match column {
            Column::F64(v) => ("f8", v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            Column::U64(v) => ("u8", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Column::U32(v) => ("u4", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Column::I32(v) => ("i4", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        };
        columns.insert(*name, (kind, PyBytes::new(py, &bytes)));
    }
    columns
}
