//! Python exceptions for errors.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

// The name is the full path of the class, so that pickle and process pools find the class.
create_exception!(
    levelflow._core,
    ScenarioError,
    PyValueError,
    "Invalid scenario. The message has one line for each mistake."
);

create_exception!(
    levelflow._core,
    LawError,
    PyException,
    "Exception in a law in Python, its cause. The arguments are law, method and simulated time."
);

/// Converts a scenario error to its Python exception.
pub fn refuse(error: levelflow_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
