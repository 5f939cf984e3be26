//! `levelflow._core`: the simulator for Python. This crate contains wrappers and error mapping, but no logic.

mod error;
mod files;
mod law;
mod simulation;
mod stepping;

use std::path::PathBuf;

use levelflow_files::{MAX_BYTES, read, reason};
use levelflow_results::Summary;
use levelflow_scenario::{self as scenario, BufferRecord, LawRecord, QueueRecord, Scenario, ScenarioRecord, Step};
use levelflow_sim::replay::{Replay, replay as replay_log};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use error::{LawError, ScenarioError, refuse};
use law::{PythonLaw, PythonLaws};
use simulation::Simulation;

/// Converts a scenario in TOML to the same structure in JSON.
#[pyfunction]
fn parse(text: &str) -> PyResult<String> {
    Ok(Scenario::parse(text).map_err(refuse)?.to_string())
}

/// Reads the trace files whose names are in the links of a scenario. Returns the scenario with the changes in each file
/// instead of the file's name. Scenarios are in JSON, and paths are relative to `folder`.
#[pyfunction]
fn read_traces(json: &str, folder: PathBuf) -> PyResult<String> {
    let mut raw = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let read = |path: &str| read(&folder.join(path)).map_err(|e| reason(&e));
    scenario::read_traces(&mut raw, read).map_err(refuse)?;
    Ok(raw.to_string())
}

/// Returns the numbers of the lines to which errors in a scenario file refer.
#[pyfunction]
fn lines(text: &str, errors: Vec<String>) -> Vec<Option<usize>> {
    scenario::lines(text, errors.iter().map(String::as_str))
}

/// Checks a name that becomes the name of a directory. `place` is the location of the name, for error messages.
#[pyfunction]
fn check_name(place: &str, name: &str) -> PyResult<()> {
    scenario::check_name(&scenario::Place::from(place), name).map_err(refuse)
}

/// Returns the steps of a path in a scenario. A step is a key of a table or an index of a list. Scenario and steps are
/// JSON.
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

/// Parses a value from a command line. Returns the value in JSON.
#[pyfunction]
fn value_of(text: &str) -> String {
    scenario::value_of(text).to_string()
}

/// Returns a scenario with the arrival rates of all flow entries multiplied by a factor. Input and output are JSON.
#[pyfunction]
fn scale_arrivals(json: &str, factor: f64) -> PyResult<String> {
    let mut raw = serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    scenario::scale_arrivals(&mut raw, factor).map_err(refuse)?;
    Ok(raw.to_string())
}

/// Checks a scenario in JSON, in which flows may name laws in Python. Returns the description of its network, in JSON.
#[pyfunction]
#[pyo3(signature = (json, laws=Vec::new()))]
fn resolve(py: Python<'_>, json: &str, laws: Vec<Py<PythonLaw>>) -> PyResult<String> {
    let (scenario, resolved) = simulation::read(py, json, &PythonLaws::new(laws))?;
    Ok(json!(resolved.describe(&scenario)).to_string())
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    scenario::schema().to_string()
}

/// Returns the JSON Schemas of the records that this module returns, by name.
#[pyfunction]
fn records() -> String {
    let mut schemas = SchemaSettings::draft2020_12().for_serialize().into_generator();
    schemas.subschema_for::<ScenarioRecord>();
    schemas.subschema_for::<LawRecord>();
    schemas.subschema_for::<QueueRecord>();
    schemas.subschema_for::<BufferRecord>();
    schemas.subschema_for::<Summary>();
    schemas.subschema_for::<Replay>();
    json!(schemas.take_definitions(true)).to_string()
}

/// Returns every law with its parameter table, in JSON.
#[pyfunction]
fn laws() -> String {
    json!(scenario::describe_laws()).to_string()
}

/// Returns every queue discipline with its parameter table, in JSON.
#[pyfunction]
fn queues() -> String {
    json!(scenario::describe_queues()).to_string()
}

/// Returns every buffer rule and every buffer-sizing algorithm with its parameter table, in JSON.
#[pyfunction]
fn buffer_algorithms() -> String {
    json!(scenario::describe_buffer_algorithms()).to_string()
}

/// Replays a log of laws. Returns the outcome in JSON. Raises ValueError if the log is invalid.
#[pyfunction]
fn replay(py: Python<'_>, log: &[u8]) -> PyResult<String> {
    let replayed = py.detach(|| replay_log(log));
    let replayed = replayed.map_err(|e| PyValueError::new_err(e.to_string()))?;
    serde_json::to_string(&replayed).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Returns the version and the build profile.
#[pyfunction]
fn build() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{} {profile}", env!("CARGO_PKG_VERSION"))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("LawError", module.py().get_type::<LawError>())?;
    module.add("MAX_BYTES", MAX_BYTES)?;
    module.add("RESULT_FORMAT", levelflow_results::FORMAT)?;
    module.add_class::<Simulation>()?;
    module.add_class::<files::Recording>()?;
    module.add_class::<files::Lock>()?;
    module.add_class::<PythonLaw>()?;
    module.add_class::<law::Ack>()?;
    module.add_class::<law::Loss>()?;
    module.add_class::<law::Timeout>()?;
    module.add_class::<law::FlowStart>()?;
    module.add_class::<stepping::Router>()?;
    module.add_class::<stepping::Sender>()?;
    module.add_class::<stepping::BufferAlgorithm>()?;
    for function in [
        wrap_pyfunction!(parse, module)?,
        wrap_pyfunction!(lines, module)?,
        wrap_pyfunction!(check_name, module)?,
        wrap_pyfunction!(read_traces, module)?,
        wrap_pyfunction!(locate, module)?,
        wrap_pyfunction!(value_of, module)?,
        wrap_pyfunction!(scale_arrivals, module)?,
        wrap_pyfunction!(resolve, module)?,
        wrap_pyfunction!(schema, module)?,
        wrap_pyfunction!(records, module)?,
        wrap_pyfunction!(laws, module)?,
        wrap_pyfunction!(queues, module)?,
        wrap_pyfunction!(buffer_algorithms, module)?,
        wrap_pyfunction!(replay, module)?,
        wrap_pyfunction!(build, module)?,
        wrap_pyfunction!(law::check_limits, module)?,
        wrap_pyfunction!(files::recover, module)?,
        wrap_pyfunction!(files::replace, module)?,
        wrap_pyfunction!(files::create_dirs, module)?,
        wrap_pyfunction!(files::sync, module)?,
        wrap_pyfunction!(files::read, module)?,
        wrap_pyfunction!(files::text, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
