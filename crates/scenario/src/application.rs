//! Application-limited flows: the times and amounts of data that applications write to the transport.
//!
//! The simulator and the network testbed share this code, so equal seeds produce equal traffic in both.

use levelflow_random::Stream;
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::traffic::Dist;

/// Application that limits a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplicationSpec {
    /// Constant rate, one packet at a time, in `on` periods separated by `off` periods.
    OnOff {
        /// Rate in an `on` period.
        rate: Rate,
        /// Durations of `on` and `off` periods, in seconds; `None` if always on.
        periods: Option<Box<[Dist; 2]>>,
    },
    /// Responses. Each follows a request, which the client sends some time after the previous response has arrived.
    Responses {
        /// Size of a response, bytes.
        size: Dist,
        /// Time between a response and the next request, s.
        think: Dist,
    },
}

/// Running application.
#[derive(Debug)]
pub struct Application {
    spec: ApplicationSpec,
    stream: Stream,
    /// Size of a write at a constant rate, bytes.
    packet: u64,
    /// Time of the next write; `None` while the application waits for a request.
    due: Option<Time>,
    /// Remaining time of the `on` period.
    on: Duration,
}

impl ApplicationSpec {
    /// Returns the application as it runs on a host whose clock is slow by the fraction `slow`.
    #[must_use]
    pub fn clocked(mut self, slow: f64) -> Self {
        if let Self::OnOff { rate, .. } = &mut self {
            *rate = rate.scaled(1.0 / (1.0 + slow)).unwrap_or(*rate);
        }
        self
    }
}

impl Application {
    /// Creates an application that first writes at `now`. An application with a constant rate writes packets of size
    /// `packet`.
    #[must_use]
    pub fn new(spec: &ApplicationSpec, packet: Bytes, now: Time, seed: u64, name: &str) -> Self {
        let mut application = Self {
            spec: spec.clone(),
            stream: Stream::new(seed, "application", name),
            packet: packet.get(),
            due: Some(now),
            on: Duration::MAX,
        };
        if let ApplicationSpec::OnOff {
            periods: Some(periods), ..
        } = &application.spec
        {
            application.on = seconds(periods[0].sample(&mut application.stream));
        }
        application
    }

    /// Returns the time of the next write; `None` while the application waits for a delivery and the next request.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Writes data that is due; returns its size in bytes.
    pub fn write(&mut self) -> u64 {
        let Some(now) = self.due.take() else { return 0 };
        match &self.spec {
            ApplicationSpec::OnOff { rate, periods } => {
                let mut left = rate.time_to_send(Bytes::new(self.packet)).unwrap_or(Duration::MAX);
                let mut at = now;
                if let Some(periods) = periods {
                    // A packet that does not fit into an `on` period is completed in the next `on` period.
                    while left > self.on {
                        let [on, off] = periods.each_ref().map(|dist| seconds(dist.sample(&mut self.stream)));
                        at = at.saturating_add(self.on).saturating_add(off);
                        left = left - self.on;
                        self.on = on;
                    }
                    self.on = self.on - left;
                }
                self.due = Some(at.saturating_add(left));
                self.packet
            }
            ApplicationSpec::Responses { size, .. } => size.sample(&mut self.stream).ceil().max(1.0) as u64,
        }
    }

    /// Handles the delivery of all data written so far.
    pub fn handle_delivery(&mut self, now: Time) {
        if let (ApplicationSpec::Responses { think, .. }, None) = (&self.spec, self.due) {
            self.due = Some(now.saturating_add(seconds(think.sample(&mut self.stream))));
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(spec: &ApplicationSpec, until: u64) -> Vec<(Time, u64)> {
        let mut application = Application::new(spec, Bytes::new(1000), Time::ZERO, 5, "x");
        let end = Time::ZERO + Duration::from_secs(until);
        let next = || {
            application
                .due()
                .filter(|&at| at < end)
                .map(|at| (at, application.write()))
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_rate_is_a_packet_at_a_time() {
        let spec = ApplicationSpec::OnOff {
            rate: Rate::clamped(1e6),
            periods: None,
        };
        let found = written(&spec, 1);
        assert_eq!(found.len(), 125);
        assert_eq!(found[10], (Time::ZERO + Duration::from_ms(80), 1000));
    }

    /// Verifies the mean rate: the rate in `on` periods times the fraction of time in them. A cycle of both periods has
    /// a mean of 0.3 s and a variance of 0.05 s^2.
    #[test]
    fn periods_leave_their_share_of_the_rate() {
        let periods = Box::new([Dist::Exponential { mean: 0.1 }, Dist::Exponential { mean: 0.2 }]);
        let spec = ApplicationSpec::OnOff {
            rate: Rate::clamped(3e6),
            periods: Some(periods),
        };
        let bytes: u64 = written(&spec, 10_000).iter().map(|(_, bytes)| bytes).sum();
        let share = bytes as f64 * 8.0 / 1e10;
        assert!((share - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_response_waits_for_the_one_before_and_for_the_client() {
        let spec = ApplicationSpec::Responses {
            size: Dist::Constant(2500.0),
            think: Dist::Constant(0.5),
        };
        let mut application = Application::new(&spec, Bytes::new(1000), Time::ZERO, 1, "x");
        assert_eq!((application.write(), application.due()), (2500, None));
        let arrived = Time::ZERO + Duration::from_secs(2);
        application.handle_delivery(arrived);
        application.handle_delivery(arrived + Duration::from_secs(9)); // an old ACK
        assert_eq!(application.due(), Some(Time::ZERO + Duration::from_ms(2500)));
    }
}
