//! Applications that have less to send than their flow may: when they hand what to the transport.
//!
//! The simulator and the network testbed both write from here, so equal seeds give both the same traffic.

use levelflow_random::Stream;
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::traffic::Dist;

/// An application.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplicationSpec {
    /// A packet at a time, at a rate, during periods `on` that periods `off` interrupt; seconds.
    OnOff {
        /// While it sends.
        rate: Rate,
        /// Length of a period in which it sends; `None`: always.
        periods: Option<Box<[Dist; 2]>>,
    },
    /// Responses: each comes when the one before has arrived and the client has thought.
    Responses {
        /// Of a response, bytes.
        size: Dist,
        /// Time between a response and the next request, s.
        think: Dist,
    },
}

/// An application at work.
#[derive(Debug)]
pub struct Application {
    spec: ApplicationSpec,
    stream: Stream,
    /// What one write holds at a rate.
    packet: u64,
    /// When it writes next; none while it waits for a request.
    due: Option<Time>,
    /// What is left of the period.
    on: Duration,
}

impl ApplicationSpec {
    /// The same at a host whose clock is slow by this share.
    #[must_use]
    pub fn clocked(mut self, slow: f64) -> Self {
        if let Self::OnOff { rate, .. } = &mut self {
            *rate = rate.scaled(1.0 / (1.0 + slow)).unwrap_or(*rate);
        }
        self
    }
}

impl Application {
    /// It writes first at `now`; packets of a rate have this size.
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

    /// When it writes next, if nothing arrives before.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// What it writes, bytes: to be called when that is due.
    pub fn write(&mut self) -> u64 {
        let Some(now) = self.due.take() else { return 0 };
        match &self.spec {
            ApplicationSpec::OnOff { rate, periods } => {
                let mut left = rate.time_to_send(Bytes::new(self.packet)).unwrap_or(Duration::MAX);
                let mut at = now;
                if let Some(periods) = periods {
                    // A packet that a period does not finish is finished in the next one.
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

    /// Everything that it wrote has arrived.
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

    /// On average, rate times the share of the time that it is on (the mean of a cycle is 0.3 s, its variance 0.05 s^2).
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
