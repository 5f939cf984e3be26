//! Checks of options that several commands have.

use levelflow_units::Duration;

use crate::Error;

/// Refuses periods that would do nothing but read.
pub(super) fn every(time: Duration) -> Result<(), Error> {
    if time < Duration::from_ms(10) {
        return Err(Error::input(format!("--every {time}: at least 10 ms")));
    }
    Ok(())
}

/// Refuses zero.
pub(super) fn above_zero(option: &str, value: f64, example: &str) -> Result<(), Error> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Error::input(format!("{option}: above zero, such as {example}")))
}
