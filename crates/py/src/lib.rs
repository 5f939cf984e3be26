//! `levelflow._core`: the simulator for Python. Wrappers and error mapping, no logic.

mod stepping;

use std::collections::BTreeMap;

use levelflow_scenario::{self as scenario, Resolved, Scenario, Step};
use levelflow_sim::{Capture, Column, Sim, Table};
use levelflow_units::{Duration, Time};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

// Named by its full path, so that copies, pickles and process pools find it.
create_exception!(
    levelflow._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run; one line that says why."
);

/// Scenario in TOML to the same structure in JSON.
#[pyfunction]
fn parse(text: &str) -> PyResult<String> {
    Ok(Scenario::parse(text).map_err(refuse)?.to_string())
}

/// The steps along a path of a scenario in JSON, in JSON: keys, and indices of entries.
#[pyfunction]
fn locate(json: &str, path: &str) -> PyResult<String> {
    let scenario = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let steps = scenario::locate(&scenario, path).map_err(refuse)?;
    let steps = steps.into_iter().map(|step| match step {
        Step::Key(key) => Value::from(key),
        Step::Entry(index) => Value::from(index),
    });
    Ok(steps.collect::<Value>().to_string())
}

/// A value as typed on a command line, in JSON.
#[pyfunction]
fn value_of(text: &str) -> String {
    scenario::value_of(text).to_string()
}

/// Checks a scenario in JSON and gives what it stands for, in JSON.
#[pyfunction]
fn resolve(json: &str) -> PyResult<String> {
    let (scenario, resolved) = read(json)?;
    Ok(resolved.describe(&scenario).to_string())
}

/// JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    scenario::schema().to_string()
}

/// Every law with its parameter table, in JSON.
#[pyfunction]
fn laws() -> String {
    scenario::describe_laws().to_string()
}

/// Every queue discipline with its parameter table, in JSON.
#[pyfunction]
fn queues() -> String {
    scenario::describe_queues().to_string()
}

/// Every rule and every sizer of buffers with its parameter table, in JSON.
#[pyfunction]
fn sizers() -> String {
    scenario::describe_sizers().to_string()
}

/// Does again what a log of laws says; what came out, in JSON. Raises ValueError for what is no log.
#[pyfunction]
fn replay(py: Python<'_>, log: &[u8]) -> PyResult<String> {
    let replayed = py.detach(|| levelflow_sim::replay::replay(log));
    let replayed = replayed.map_err(|e| PyValueError::new_err(e.to_string()))?;
    serde_json::to_string(&replayed).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Version and build profile.
#[pyfunction]
fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{} {profile}", env!("CARGO_PKG_VERSION"))
}

fn refuse(error: scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn read(json: &str) -> PyResult<(Scenario, Resolved)> {
    let value = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let scenario = Scenario::from_value(&value).map_err(refuse)?;
    let resolved = scenario.resolve().map_err(refuse)?;
    Ok((scenario, resolved))
}

/// A run under way.
#[pyclass(module = "levelflow._core")]
struct Simulation {
    sim: Sim<levelflow_sim::Any>,
    #[pyo3(get)]
    duration: f64,
}

#[pymethods]
impl Simulation {
    /// With `capture`, what the links of these names carry is captured; of all, if there are none.
    #[new]
    #[pyo3(signature = (json, capture=None))]
    fn new(json: &str, capture: Option<Vec<String>>) -> PyResult<Self> {
        let (_, resolved) = read(json)?;
        levelflow_sim::check_memory(&resolved.network).map_err(|e| ScenarioError::new_err(e.to_string()))?;
        let duration = resolved.network.duration.as_secs_f64();
        let capture = capture.map(|names| Capture::of(&resolved, &names)).transpose();
        let capture = capture.map_err(refuse)?.map(Box::new);
        let mut sim = Sim::new(resolved.network);
        sim.capture = capture;
        Ok(Self { sim, duration })
    }

    /// What has been captured since the last call, as pcapng.
    fn captured<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = self.sim.capture.as_mut().map(|c| c.take()).unwrap_or_default();
        PyBytes::new(py, &bytes)
    }

    /// Simulated time, s.
    #[getter]
    fn now(&self) -> f64 {
        self.sim.now().as_secs_f64()
    }

    /// Events processed.
    #[getter]
    fn events(&self) -> u64 {
        self.sim.events()
    }

    /// Packets times links they crossed.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.sim.packet_hops()
    }

    /// Bytes held for packets, links and flows.
    #[getter]
    fn memory(&self) -> usize {
        self.sim.memory()
    }

    /// Goes on until `to_s` or for at most so many events; true at the end of the run. Raises ScenarioError when the
    /// run comes to its limit of memory.
    fn advance(&mut self, py: Python<'_>, to_s: f64, budget_events: u64) -> PyResult<bool> {
        let until = Duration::from_secs_f64(to_s).ok_or_else(|| PyValueError::new_err("to_s must be a time"))?;
        py.detach(|| self.sim.advance(Time::ZERO + until, budget_events))
            .map_err(|e| ScenarioError::new_err(e.to_string()))
    }

    /// What has been recorded since the last call: table, column, (type, bytes).
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in self.sim.recorder.take() {
            tables.set_item(name, columns(py, &table)?)?;
        }
        Ok(tables)
    }

    /// Exact counters, in JSON. Raises RuntimeError when packets are not conserved.
    fn summary(&mut self) -> PyResult<String> {
        let summary = self.sim.summary().map_err(|v| PyRuntimeError::new_err(v.to_string()))?;
        serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

fn columns<'py>(
    py: Python<'py>,
    table: &Table,
) -> PyResult<BTreeMap<&'static str, (&'static str, Bound<'py, PyBytes>)>> {
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
    Ok(columns)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<Simulation>()?;
    module.add_class::<stepping::Router>()?;
    module.add_class::<stepping::Sender>()?;
    module.add_class::<stepping::Sizer>()?;
    for function in [
        wrap_pyfunction!(parse, module)?,
        wrap_pyfunction!(locate, module)?,
        wrap_pyfunction!(value_of, module)?,
        wrap_pyfunction!(resolve, module)?,
        wrap_pyfunction!(schema, module)?,
        wrap_pyfunction!(laws, module)?,
        wrap_pyfunction!(queues, module)?,
        wrap_pyfunction!(sizers, module)?,
        wrap_pyfunction!(replay, module)?,
        wrap_pyfunction!(build, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
