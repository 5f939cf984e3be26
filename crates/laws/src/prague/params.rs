//! Parameters of Prague.

use levelflow_units::Duration;

use crate::params::{ParamSpec, Unit, parameters};
use crate::tcp::{ECN, PACED, ROWS, table};

parameters! {
    /// Validated parameters of Prague alone.
    pub struct PragueParams {
        gain: f64 = Unit::Number, 0.0625, (1e-6, 1.0),
            "weight of one virtual round trip in the average share of marked packets, g",
            "the draft, section 2.4.2";
        reference_rtt: Duration = Unit::Duration, 0.025, (1e-6, 10.0),
            "round trip below which all flows behave as if theirs was this",
            "the draft, section 2.4.4; Linux and udp_prague: 25 ms";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + PragueParams::TABLE.len()] = {
    let mut rows: [ParamSpec; ROWS + PragueParams::TABLE.len()] = table(PragueParams::TABLE);
    rows[ECN].default = 1.0;
    rows[ECN].source = "RFC 9331; off, it is Reno with a slower growth over short round trips";
    rows[PACED].default = 1.0;
    rows[PACED].source = "the draft, section 2.5; RFC 9331, section 4.3";
    rows
};
