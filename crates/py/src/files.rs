//! Bindings for writing result directories.

use std::path::PathBuf;

use levelflow_results as results;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::error::ScenarioError;
use crate::simulation::Simulation;

/// Files of a run in progress.
#[pyclass(module = "levelflow._core")]
pub struct Recording(Option<results::Recording>);

#[pymethods]
impl Recording {
    /// Clears a result directory. Raises ScenarioError if it contains files that do not belong to a result.
    #[new]
    #[pyo3(signature = (path, manifest, origin=None))]
    fn new(path: PathBuf, manifest: &str, origin: Option<PathBuf>) -> PyResult<Self> {
        let manifest = serde_json::from_str(manifest).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let files = results::Recording::new(&path, manifest, origin.as_deref()).map_err(raised)?;
        Ok(Self(Some(files)))
    }

    /// Writes the rows that the simulation recorded since the last call.
    fn flush(&mut self, py: Python<'_>, simulation: &mut Simulation) -> PyResult<()> {
        let Some(files) = &mut self.0 else { return Ok(()) };
        files.append(simulation.run.recorder());
        let now_s = simulation.run.now().as_secs_f64();
        py.detach(|| files.flush(now_s)).map_err(raised)
    }

    /// Writes the remaining rows, merges parts into files, and records whether the run is complete.
    fn close(&mut self, py: Python<'_>, simulation: &mut Simulation, complete: bool) -> PyResult<()> {
        let Some(mut files) = self.0.take() else { return Ok(()) };
        simulation.run.record_end();
        files.append(simulation.run.recorder());
        let now_s = simulation.run.now().as_secs_f64();
        py.detach(|| files.close(now_s, complete)).map_err(raised)
    }
}

fn raised(error: results::Error) -> PyErr {
    match error {
        results::Error::Refused(problem) => ScenarioError::new_err(problem),
        results::Error::Failed { path, source } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, results::reason(&source), path)),
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
    }
}
