//! Responsiveness under working conditions, in round trips per minute (RPM).
//!
//! This is the algorithm of draft-ietf-ippm-responsiveness for TCP without TLS. Connections with load are added once
//! per interval. First the goodput must become stable, and then the responsiveness. Names in parentheses are those of
//! the draft. HTTP is replaced by requests and replies of 8 bytes; load is sent in frames of 4 KiB.

use serde::Serialize;

/// Intervals of a moving average (MAD).
const AVERAGED: usize = 4;
/// Fraction of the smallest values that enter a trimmed mean (TMP).
const TRIMMED_SHARE: f64 = 0.95;
/// Largest standard deviation of stable values, relative to the newest value (SDT).
const TOLERANCE: f64 = 0.05;
/// Maximum number of connections with load per direction (MNP).
pub const MAX_CONNECTIONS: usize = 16;
/// Maximum number of pairs of probes per second (MPS / 2).
const MAX_PAIRS: f64 = 50.0;
/// Fraction of the capacity that probes may use (PTC).
const PROBE_SHARE: f64 = 0.05;
/// Bytes on the wire of a pair of probes, in the direction with the larger amount.
const PAIR_BYTES: f64 = 800.0;

/// Probes that ended in one interval, s.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probes {
    /// TCP handshakes of connections of their own (`tcp_f`).
    pub handshakes: Vec<f64>,
    /// Requests on connections of their own (`http_f`).
    pub foreign: Vec<f64>,
    /// Requests on connections with load (`http_l`).
    pub own: Vec<f64>,
}

/// Confidence in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The test had fewer intervals than a moving average.
    Low,
    /// The result was not stable at the end of the test.
    Medium,
    /// The result was stable.
    High,
}

/// Result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rpm {
    /// Responsiveness: the mean of the next two values, round trips per minute.
    pub rpm: f64,
    /// Responsiveness of connections of their own.
    pub foreign: f64,
    /// Responsiveness of connections with load.
    pub own: f64,
    /// Goodput in the directions up and down, bit/s.
    pub goodput_bps: [f64; 2],
    /// Confidence in the goodput.
    pub goodput_confidence: Confidence,
    /// Confidence in the responsiveness.
    pub rpm_confidence: Confidence,
}

/// Progress of a test.
#[derive(Debug, Default)]
pub struct Test {
    goodputs: Vec<[f64; 2]>,
    averages: Vec<[f64; 2]>,
    probes: Vec<Probes>,
    /// Number of intervals until the goodput was stable.
    saturated: Option<usize>,
    responses: Vec<f64>,
    stable: bool,
}

/// Returns the mean of the smallest values, without the largest ones.
fn trimmed_mean<'a>(values: impl Iterator<Item = &'a f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.copied().collect();
    sorted.sort_by(f64::total_cmp);
    let kept = ((sorted.len() as f64 * TRIMMED_SHARE).ceil() as usize).min(sorted.len());
    (kept > 0).then(|| sorted[..kept].iter().sum::<f64>() / kept as f64)
}

/// True if the last [`AVERAGED`] values have a small standard deviation.
fn is_stable(values: &[f64]) -> bool {
    let Some(last) = values.len().checked_sub(AVERAGED).map(|from| &values[from..]) else {
        return false;
    };
    let mean = last.iter().sum::<f64>() / AVERAGED as f64;
    let variance = last.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / AVERAGED as f64;
    variance.sqrt() < TOLERANCE * last[AVERAGED - 1]
}

impl Test {
    /// Ends an interval of one second with these goodputs up and down, in bit/s. Returns true if the test is over.
    pub fn end_interval(&mut self, goodput: [f64; 2], probes: Probes) -> bool {
        self.goodputs.push(goodput);
        self.probes.push(probes);
        let recent = &self.goodputs[self.goodputs.len().saturating_sub(AVERAGED)..];
        let average = |way: usize| recent.iter().map(|goodput| goodput[way]).sum::<f64>() / recent.len() as f64;
        self.averages.push([average(0), average(1)]);
        if self.saturated.is_none() {
            let way = |way: usize| self.averages.iter().map(|average| average[way]).collect::<Vec<_>>();
            if is_stable(&way(0)) && is_stable(&way(1)) {
                self.saturated = Some(self.goodputs.len());
            }
        } else if let Some((foreign, own)) = self.responsiveness() {
            self.responses.push(f64::midpoint(foreign, own));
            self.stable = is_stable(&self.responses);
        }
        self.stable
    }

    /// Responsiveness of foreign probes and of own probes over the last intervals.
    fn responsiveness(&self) -> Option<(f64, f64)> {
        let recent = &self.probes[self.probes.len().saturating_sub(AVERAGED)..];
        let handshake = trimmed_mean(recent.iter().flat_map(|probes| &probes.handshakes))?;
        let foreign = trimmed_mean(recent.iter().flat_map(|probes| &probes.foreign))?;
        let own = trimmed_mean(recent.iter().flat_map(|probes| &probes.own))?;
        Some((60.0 / f64::midpoint(handshake, foreign), 60.0 / own))
    }

    /// Interval between two pairs of probes, s.
    #[must_use]
    pub fn probe_interval(&self) -> f64 {
        let slower = self.averages.last().map_or(0.0, |average| average[0].min(average[1]));
        1.0 / (PROBE_SHARE * slower / (8.0 * PAIR_BYTES)).clamp(2.0, MAX_PAIRS)
    }

    /// Result of the test; `None` if no probe has ended.
    #[must_use]
    pub fn result(&self) -> Option<Rpm> {
        let (foreign, own) = self.responsiveness()?;
        let confidence = |stable: bool, intervals: usize| match (stable, intervals >= AVERAGED) {
            (true, _) => Confidence::High,
            (false, true) => Confidence::Medium,
            (false, false) => Confidence::Low,
        };
        Some(Rpm {
            rpm: f64::midpoint(foreign, own),
            foreign,
            own,
            goodput_bps: *self.averages.last()?,
            goodput_confidence: confidence(self.saturated.is_some(), self.goodputs.len()),
            rpm_confidence: confidence(self.stable, self.responses.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(handshake: f64, foreign: f64, own: f64) -> Probes {
        Probes {
            handshakes: vec![handshake; 20],
            foreign: vec![foreign; 20],
            own: vec![own; 20],
        }
    }

    #[test]
    fn the_formula_weighs_foreign_and_own_connections_equally() {
        let mut test = Test::default();
        let mut intervals = 0;
        while !test.end_interval([4e6, 20e6], probes(0.1, 0.2, 0.3)) {
            intervals += 1;
        }
        // Four averages show a stable goodput, and the next four values a stable responsiveness.
        assert_eq!(intervals, 7);
        let found = test.result().unwrap();
        assert!(
            (found.foreign - 400.0).abs() < 1e-9 && (found.own - 200.0).abs() < 1e-9,
            "{found:?}"
        );
        assert!((found.rpm - 300.0).abs() < 1e-9, "{found:?}");
        assert_eq!(
            (found.goodput_confidence, found.rpm_confidence, found.goodput_bps),
            (Confidence::High, Confidence::High, [4e6, 20e6])
        );
    }

    #[test]
    fn the_largest_twentieth_of_the_probes_is_trimmed() {
        let mut values = vec![0.1; 19];
        values.push(100.0);
        assert!((trimmed_mean(values.iter()).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(trimmed_mean([].iter()), None);
    }

    #[test]
    fn a_goodput_that_grows_is_not_stable() {
        let mut test = Test::default();
        for interval in 0..12 {
            let grown = 1e6 * f64::from(1 << interval);
            assert!(!test.end_interval([grown, 1e6], probes(0.1, 0.1, 0.1)));
        }
        let found = test.result().unwrap();
        assert_eq!(
            (found.goodput_confidence, found.rpm_confidence),
            (Confidence::Medium, Confidence::Low)
        );
    }

    #[test]
    fn probes_use_a_twentieth_of_a_slow_line() {
        let mut test = Test::default();
        test.end_interval([2e6, 1e9], Probes::default());
        let bps = 8.0 * PAIR_BYTES / test.probe_interval();
        assert!((bps / 2e6 - 0.05).abs() < 1e-9, "{bps}");
        assert_eq!(test.result(), None);
    }
}
