//! DCTCP: data center TCP. The reduction of the window is proportional to the fraction of marked packets.
//!
//! Source: RFC 8257; M. Alizadeh et al., "Data center TCP (DCTCP)" (SIGCOMM 2010).

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::reno::additive_increase;
use crate::tcp::{AckEvent, Cause, Congestion, ECN, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// DCTCP; see the [module](self).
pub type Dctcp = Tcp<DctcpState>;

parameters! {
    /// Validated parameters of DCTCP, in addition to those of all TCP laws.
    pub struct Params {
        gain: f64 = Unit::Number, 0.0625, (1e-6, 1.0),
            "weight of one window of data in the average fraction of marked packets, g",
            "RFC 8257, section 4.2";
    }
}

const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = {
    let mut rows: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
    rows[ECN].default = 1.0;
    rows[ECN].source = "RFC 8257; without ECN, DCTCP is Reno with another loss recovery";
    rows
};

/// Estimate of the fraction of marked packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DctcpState {
    /// Moving average `DCTCP.Alpha` of the fraction of marked packets.
    alpha: f64,
    /// Packets acknowledged in the current window of data. `marked` is the number of marked packets among them.
    acked: u32,
    marked: u32,
}

impl Default for DctcpState {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            acked: 0,
            marked: 0,
        }
    }
}

impl Variant for DctcpState {
    type Params = Params;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Mark,
        ..info(
            "dctcp",
            "DCTCP: data center TCP, cut by the share of marked packets",
            "RFC 8257; Alizadeh et al. 2010",
            &TABLE,
        )
    };

    /// Updates `Alpha = (1 - g) Alpha + g M` once per window of data (RFC 8257, section 3.3).
    fn on_ack(&mut self, params: &Params, ack: &AckEvent, _window: &mut Window) {
        self.acked = self.acked.saturating_add(ack.acked);
        if ack.marked {
            self.marked = self.marked.saturating_add(ack.acked);
        }
        if ack.round && self.acked > 0 {
            let share = f64::from(self.marked) / f64::from(self.acked);
            //= RFC 8257, section 3.3
            //# Update the congestion estimate: DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M
            self.alpha += params.gain * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
        }
    }

    #[inline]
    fn avoid(&mut self, _params: &Params, ack: &AckEvent, window: &mut Window) {
        additive_increase(ack.acked, window);
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        let removed = match congestion.cause {
            Cause::Mark => self.alpha / 2.0,
            Cause::Loss | Cause::Timeout => 0.5,
        };
        congestion.window * (1.0 - removed)
    }
}
