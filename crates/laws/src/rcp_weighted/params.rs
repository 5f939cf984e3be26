//! Weighted RCP's parameter table.

use crate::params::{Unit, parameters};

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        weight: f64 = Unit::Number, 1.0, (1.0, 1000.0),
            "rate of the flow divided by the rate that routers offer",
            "Kelly, Raina, Voice 2008; 1 is RCP";
    }
}
