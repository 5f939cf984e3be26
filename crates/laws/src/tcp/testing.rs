//! Test helpers of the TCP laws: inputs for a variant, and a flow over one queue.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{AckEvent, Cause, Congestion, Rtt, Tcp, TcpParams, Variant};
pub use crate::testing::at;
use crate::testing::{Network, both};

pub const PACKET: Bytes = Bytes::new(1000);

pub fn params<V: Variant>(changes: &[(&str, f64)]) -> TcpParams<V::Params> {
    both::<Tcp<V>>(changes).sender
}

pub fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

/// Returns an ACK for one packet on a path with constant round-trip time.
pub fn ack(now: f64, rtt: f64) -> AckEvent {
    AckEvent {
        now: at(now),
        acked: 1,
        growth: 1.0,
        outstanding: 0,
        marked: false,
        rtt: Rtt {
            last: rtt,
            smooth: rtt,
            min: rtt,
        },
        round: false,
        in_use: true,
    }
}

/// Network of one flow over a queue and a wire. The queue sends `capacity` packets per second.
pub type Path<V> = Network<Tcp<V>>;

impl<V: Variant> Path<V> {
    pub fn open(changes: &[(&str, f64)], capacity: f64, delay: f64) -> Self {
        let line = PACKET.as_bits_f64() * capacity;
        let mut path = Self::new(both(changes), &[line]);
        path.ports[0].line = Rate::new(line);
        let flow = path.flow(PACKET, &[0], Duration::ZERO, Time::ZERO);
        flow.back = Duration::from_secs_f64(delay).expect("a delay");
        path
    }

    pub fn variant_mut(&mut self) -> &mut V {
        &mut self.flows[0].sender.variant
    }

    pub fn window(&self) -> f64 {
        self.flows[0].sender.window.size
    }
}

/// Returns the slow-start threshold after a loss in this state.
pub fn cut<V: Variant>(mut state: V, changes: &[(&str, f64)], window: f64) -> f64 {
    state.reduce(&params::<V>(changes).own, &loss(0.0, 0.1, window))
}

/// Returns a loss event on a path with constant round-trip time.
pub fn loss(now: f64, rtt: f64, window: f64) -> Congestion {
    Congestion {
        cause: Cause::Loss,
        now: at(now),
        window,
        ssthresh: f64::INFINITY,
        rtt: ack(now, rtt).rtt,
    }
}
