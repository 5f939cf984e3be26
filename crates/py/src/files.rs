//! Bindings for files: result directories, locks, atomic writes and bounded reads.

use std::io;
use std::path::{Path, PathBuf};

use levelflow_files as files;
use levelflow_results as results;
use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::error::ScenarioError;
use crate::simulation::Simulation;

/// Files of a run in progress.
#[pyclass(module = "levelflow._core")]
pub struct Recording(Option<results::Recording>);

#[pymethods]
impl Recording {
    /// Locks a result directory. Raises ScenarioError if it contains files that do not belong to a result.
    #[new]
    #[pyo3(signature = (path, manifest, origin=None))]
    fn new(path: PathBuf, manifest: &str, origin: Option<PathBuf>) -> PyResult<Self> {
        let manifest = serde_json::from_str(manifest).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let files = results::Recording::new(&path, manifest, origin.as_deref()).map_err(raised)?;
        Ok(Self(Some(files)))
    }

    /// Stores the rows that the simulation recorded since the last call.
    fn flush(&mut self, py: Python<'_>, simulation: &mut Simulation) -> PyResult<()> {
        let Some(files) = &mut self.0 else { return Ok(()) };
        files.append(simulation.run.recorder());
        let now_s = simulation.run.now().as_secs_f64();
        py.detach(|| files.flush(now_s)).map_err(raised)
    }

    /// Completes tables and manifest. Returns the directory that contains them until the result is committed. Removes
    /// this directory after an error.
    fn finish(&mut self, py: Python<'_>, simulation: &mut Simulation, complete: bool) -> PyResult<PathBuf> {
        let mut files = self.0.take().ok_or_else(ended)?;
        simulation.run.record_end();
        files.append(simulation.run.recorder());
        let now_s = simulation.run.now().as_secs_f64();
        let whole = py.detach(|| files.finish(now_s, complete)).map_err(raised)?;
        self.0 = Some(files);
        Ok(whole)
    }

    /// Writes a text file of the result.
    fn keep(&mut self, name: &str, text: &str) -> PyResult<()> {
        self.0.as_ref().ok_or_else(ended)?.keep(name, text).map_err(raised)
    }

    /// Removes all files of the run. An earlier result stays.
    fn discard(&mut self) -> PyResult<()> {
        self.0.take().map_or(Ok(()), |files| files.discard().map_err(raised))
    }

    /// Replaces the earlier result by the finished result. Returns the directory of the new result.
    fn commit(&mut self, py: Python<'_>) -> PyResult<PathBuf> {
        let files = self.0.take().ok_or_else(ended)?;
        py.detach(|| files.commit()).map_err(raised)
    }
}

/// Lock of a directory against other processes.
#[pyclass(module = "levelflow._core")]
pub struct Lock(Option<files::Lock>);

#[pymethods]
impl Lock {
    /// Locks a directory, which is created if necessary. Raises BlockingIOError if another process holds the lock.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        files::Lock::new(&path)
            .map(Some)
            .map(Self)
            .map_err(|e| of_system(&path, &e))
    }

    /// Releases the lock.
    fn close(&mut self) {
        self.0 = None;
    }
}

/// Finishes the replacement of a result that a kill interrupted.
#[pyfunction]
pub fn recover(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| results::recover(&path)).map_err(|e| of_system(&path, &e))
}

/// Replaces a file by new content, atomically and durably.
#[pyfunction]
pub fn replace(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| files::replace(&path, content))
        .map_err(|e| of_system(&path, &e))
}

/// Creates a directory and its missing parents, durably.
#[pyfunction]
pub fn create_dirs(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| files::create_dirs(&path))
        .map_err(|e| of_system(&path, &e))
}

/// Waits until the entries of a directory are on the disk.
#[pyfunction]
pub fn sync(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| files::sync(&path)).map_err(|e| of_system(&path, &e))
}

/// Returns the text of a regular file of bounded size.
#[pyfunction]
pub fn read(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| files::read(&path)).map_err(|e| of_system(&path, &e))
}

/// Converts the content of a file to text. The path is for errors.
#[pyfunction]
pub fn text(path: PathBuf, content: Vec<u8>) -> PyResult<String> {
    files::text(content).map_err(|e| of_system(&path, &e))
}

fn ended() -> PyErr {
    PyValueError::new_err("the run has ended")
}

fn raised(error: results::Error) -> PyErr {
    match error {
        results::Error::Refused(problem) => ScenarioError::new_err(problem),
        results::Error::Failed { path, source } => of_system(&path, &source),
    }
}

/// Converts an error of the operating system. An error without an error number describes a fault of the file.
fn of_system(path: &Path, error: &io::Error) -> PyErr {
    let number = error.raw_os_error();
    match (number, error.kind()) {
        (Some(number), _) => PyOSError::new_err((number, files::reason(error), path.to_owned())),
        (None, io::ErrorKind::WouldBlock) => {
            PyBlockingIOError::new_err(format!("{}: another process writes it", path.display()))
        }
        _ => ScenarioError::new_err(format!("{}: {}", path.display(), files::reason(error))),
    }
}
