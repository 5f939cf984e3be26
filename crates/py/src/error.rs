//! Errors as Python raises them.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

// Named by its full path, so that copies, pickles and process pools find it.
create_exception!(
    levelflow._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run; a line for each mistake."
);

/// The exception of a scenario that is not allowed.
pub fn refuse(error: levelflow_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
