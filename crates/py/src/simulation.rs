//! Bindings for running a scenario.

use std::collections::BTreeMap;

use levelflow_results::{Column, Table};
use levelflow_scenario::{Resolved, Scenario};
use levelflow_sim::{Capture, Division, Run, Running, Sim, Threads};
use levelflow_units::{Duration, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{ScenarioError, refuse};

/// A scenario in JSON, read and checked.
pub fn read(json: &str) -> PyResult<(Scenario, Resolved)> {
    let value = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let scenario = Scenario::from_value(&value).map_err(refuse)?;
    let resolved = scenario.resolve().map_err(refuse)?;
    Ok((scenario, resolved))
}

/// A run under way.
#[pyclass(module = "levelflow._core")]
pub struct Simulation {
    pub run: Box<dyn Running>,
    #[pyo3(get)]
    duration: f64,
}

#[pymethods]
impl Simulation {
    /// With `capture`, what the links of these names carry is captured, on one thread; of all, if there are none. Without a
    /// number of threads, there are as many as pay.
    #[new]
    #[pyo3(signature = (json, capture=None, threads=Some(1)))]
    fn new(py: Python<'_>, json: &str, capture: Option<Vec<String>>, threads: Option<usize>) -> PyResult<Self> {
        let (_, resolved) = read(json)?;
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
                Box::new(Run::whole(sim, Division::Whole))
            }
        });
        Ok(Self { run, duration })
    }

    /// What has been captured since the last call, as pcapng.
    fn captured<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run.captured())
    }

    /// Simulated time, s.
    #[getter]
    fn now(&self) -> f64 {
        self.run.now().as_secs_f64()
    }

    /// Events processed.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events()
    }

    /// Packets times links they crossed.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.run.packet_hops()
    }

    /// How the run is divided among threads, or why it is not.
    #[getter]
    fn division(&self) -> String {
        self.run.division().to_string()
    }

    /// Bytes held for packets, links and flows.
    #[getter]
    fn memory(&self) -> usize {
        self.run.memory()
    }

    /// Goes on until `to_s` or for at most so many events; true at the end of the run. Raises ScenarioError when the
    /// run comes to its limit of memory.
    fn advance(&mut self, py: Python<'_>, to_s: f64, budget_events: u64) -> PyResult<bool> {
        let until = Duration::from_secs_f64(to_s).ok_or_else(|| PyValueError::new_err("to_s must be a time"))?;
        py.detach(|| self.run.advance(Time::ZERO + until, budget_events))
            .map_err(|e| ScenarioError::new_err(e.to_string()))
    }

    /// What has been recorded since the last call: table, column, (type, bytes).
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in self.run.recorder().take() {
            tables.set_item(name, columns(py, &table))?;
        }
        Ok(tables)
    }

    /// Records the transfers that go on now, at the end of the run, which then must not go on.
    fn record_end(&mut self) {
        self.run.record_end();
    }

    /// Exact counters, in JSON. Raises RuntimeError when packets are not conserved.
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
