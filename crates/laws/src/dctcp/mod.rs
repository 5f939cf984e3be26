//! DCTCP: data center TCP. A window that is cut by how many of its packets were marked, not by whether one was.
//!
//! Source: RFC 8257; M. Alizadeh et al., "Data center TCP (DCTCP)" (SIGCOMM 2010).

#[cfg(test)]
mod tests;

use crate::params::Unit;
use crate::reno::additive_increase;
use crate::tcp::{Answer, Cause, Congestion, ECN, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamError, ParamSpec, Signal};

/// The law; see the [module](self).
pub type Dctcp = Tcp<DctcpState>;

const TABLE: [ParamSpec; ROWS + 1] = {
    let mut rows = table([ParamSpec {
        name: "gain",
        doc: "weight of one window in the average share of marked packets, g",
        unit: Unit::Number,
        default: 0.0625,
        range: (1e-6, 1.0),
        source: "RFC 8257, section 4.2",
    }]);
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

impl Variant for DctcpState {
    /// The gain `g`.
    type Params = f64;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Mark,
        ..info(
            "dctcp",
            "DCTCP: data center TCP, cut by the share of marked packets",
            "RFC 8257; Alizadeh et al. 2010",
            &TABLE,
        )
    };

    fn params(values: &[f64]) -> Result<f64, ParamError> {
        let &[gain] = values else {
            panic!("one value per row of the table");
        };
        Ok(gain)
    }

    fn new(_gain: &f64) -> Self {
        Self {
            alpha: 1.0,
            acked: 0,
            marked: 0,
        }
    }

    /// RFC 8257, section 3.3: `Alpha = (1 - g) Alpha + g M`, once per window of data.
    fn on_answer(&mut self, gain: &f64, answer: &Answer, _window: &mut Window) {
        self.acked = self.acked.saturating_add(answer.acked);
        if answer.marked {
            self.marked = self.marked.saturating_add(answer.acked);
        }
        if answer.round && self.acked > 0 {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += gain * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
        }
    }

    #[inline]
    fn avoid(&mut self, _gain: &f64, answer: &Answer, window: &mut Window) {
        additive_increase(answer.acked, window);
    }

    fn reduce(&mut self, _gain: &f64, congestion: &Congestion) -> f64 {
        let removed = match congestion.cause {
            Cause::Mark => self.alpha / 2.0,
            Cause::Loss | Cause::Timeout => 0.5,
        };
        congestion.window * (1.0 - removed)
    }
}
