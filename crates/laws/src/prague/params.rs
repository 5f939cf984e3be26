//! Parameters of TCP Prague.

use levelflow_units::Duration;

use crate::params::{ParamSpec, Unit, parameters};
use crate::tcp::{AFTER_IDLE, AfterIdle, ECN, PACED, PACING_GAIN, ROWS, table};

parameters! {
    /// Validated parameters of TCP Prague, in addition to those of all TCP laws.
    pub struct Params {
        gain: f64 = Unit::Number, 0.0625, (1e-6, 1.0),
            "weight of one virtual round trip in the average fraction of marked packets, g",
            "the draft, section 2.4.2";
        reference_rtt: Duration = Unit::Duration, 0.025, (1e-6, 10.0),
            "reference round-trip time; flows with a shorter round-trip time behave like flows with this round-trip time",
            "the draft, section 2.4.4; Linux and udp_prague: 25 ms";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = {
    let mut rows: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
    rows[ECN].default = 1.0;
    rows[ECN].source = "RFC 9331; without ECN, Prague is Reno with slower growth for short round trips";
    rows[PACED].default = 1.0;
    rows[PACED].linux = None;
    rows[PACED].source = "the draft, section 2.5; RFC 9331, section 4.3";
    let mut gain = PACING_GAIN;
    while gain < PACING_GAIN + 2 {
        rows[gain].linux = None;
        rows[gain].source = "the draft, section 2.5";
        gain += 1;
    }
    rows[AFTER_IDLE].default = AfterIdle::Pace as u8 as f64;
    rows[AFTER_IDLE].linux = None;
    rows[AFTER_IDLE].source =
        "Linux (tcp_prague.c sets its own window, cong_control) and udp_prague keep the window and pace";
    rows
};
