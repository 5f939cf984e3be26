//! DCTCP: data center TCP. A window that is cut by how many of its packets were marked, not by whether one was.
//!
//! Source: RFC 8257; M. Alizadeh et al., "Data center TCP (DCTCP)" (SIGCOMM 2010).

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::reno::additive_increase;
use crate::tcp::{Ack, Cause, Congestion, ECN, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// The law; see the [module](self).
pub type Dctcp = Tcp<DctcpState>;

parameters! {
    /// Validated parameters of DCTCP alone.
    pub struct DctcpParams {
        gain: f64 = Unit::Number, 0.0625, (1e-6, 1.0),
            "weight of one window in the average share of marked packets, g",
            "RFC 8257, section 4.2";
    }
}

const TABLE: [ParamSpec; ROWS + DctcpParams::TABLE.len()] = {
    let mut rows: [ParamSpec; ROWS + DctcpParams::TABLE.len()] = table(DctcpParams::TABLE);
    rows[ECN].default = 1.0;
    rows[ECN].source = "RFC 8257; off, it is Reno with another recovery";
    rows
};

/// The share of marked packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DctcpState {
    /// `DCTCP.Alpha`, its moving average.
    alpha: f64,
    /// Packets that arrived in the present window of data, and how many of them were marked.
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
    type Params = DctcpParams;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Mark,
        ..info(
            "dctcp",
            "DCTCP: data center TCP, cut by the share of marked packets",
            "RFC 8257; Alizadeh et al. 2010",
            &TABLE,
        )
    };

    /// RFC 8257, section 3.3: `Alpha = (1 - g) Alpha + g M`, once per window of data.
    fn on_ack(&mut self, params: &DctcpParams, ack: &Ack, _window: &mut Window) {
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
    fn avoid(&mut self, _params: &DctcpParams, ack: &Ack, window: &mut Window) {
        additive_increase(ack.acked, window);
    }

    fn reduce(&mut self, _params: &DctcpParams, congestion: &Congestion) -> f64 {
        let removed = match congestion.cause {
            Cause::Mark => self.alpha / 2.0,
            Cause::Loss | Cause::Timeout => 0.5,
        };
        congestion.window * (1.0 - removed)
    }
}
