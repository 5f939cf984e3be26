//! Policer: a token bucket that drops packets above a rate, without a queue.
//!
//! Source: RFC 2697 (J. Heinanen, R. Guerin, 1999), with one bucket and two colours. `police` of tc in Linux is such a
//! policer.
//!
//! The bucket contains up to `burst` bytes, and fills at `rate`. A packet passes if the bucket contains at least the
//! bytes of the packet. A packet that passes removes its bytes from the bucket. Other packets are dropped and remove no
//! bytes.
//!
//! Interpretations of the source:
//! - The bucket is full at the start.
//! - A packet dropped by a full buffer removes no bytes from the bucket, because the buffer is checked before the
//!   policer.

use levelflow_units::{Bytes, Rate, Time};

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo};
use crate::params::{Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct PolicerParams {
        rate: Rate = Unit::Rate, 1e7, (1.0, 1e15),
            "long-run rate of the packets that pass",
            "Levelflow; set it in each scenario";
        burst: Bytes = Unit::Size, 15_000.0, (1.0, 1e12),
            "size of the bucket, i.e. the largest burst; packets larger than the bucket never pass",
            "Levelflow: ten packets of 1500 bytes";
    }
}

/// State of a policer at one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policer {
    /// Bits in the bucket at time `at`.
    tokens: f64,
    at: Time,
}

impl Queue for Policer {
    type Params = PolicerParams;

    const INFO: QueueInfo = QueueInfo {
        name: "policer",
        title: "policer: a token bucket that drops packets above a rate",
        source: "RFC 2697",
        signal: "bytes in the bucket",
        params: &PolicerParams::TABLE,
    };

    fn rate(params: &PolicerParams) -> Option<Rate> {
        Some(params.rate)
    }

    fn new(params: &PolicerParams, _port: &PortInfo) -> Self {
        Self {
            tokens: params.burst.as_bits_f64(),
            at: Time::ZERO,
        }
    }

    fn on_arrival(&mut self, params: &PolicerParams, packet: &Arriving, _draw: f64) -> Verdict {
        let filled = params.rate.bps() * packet.now.since(self.at).as_secs_f64();
        self.tokens = (self.tokens + filled).min(params.burst.as_bits_f64());
        self.at = packet.now;
        let size = packet.size.as_bits_f64();
        // A hundredth of a bit allows for rounding.
        if self.tokens + 0.01 < size {
            return Verdict::Drop;
        }
        self.tokens = (self.tokens - size).max(0.0);
        Verdict::Pass
    }

    fn signal(&self) -> f64 {
        self.tokens / 8.0
    }
}

#[cfg(test)]
mod tests {
    use levelflow_units::Duration;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Verifies that at most `rate t + burst` passes in any period `t` (the arrival curve of a token bucket). Only
        /// packets that would exceed this curve are dropped. Within 0.05 bit of the curve, rounding may decide.
        #[test]
        fn passed_bytes_are_bounded_by_the_arrival_curve(
            packets in proptest::collection::vec((0..3_000_000_u64, 40..1500_u64), 1..200),
        ) {
            let params = PolicerParams { rate: Rate::clamped(1e6), burst: Bytes::new(4000) };
            let mut policer = Policer::new(&params, &PortInfo { id: 1, capacity: Rate::ZERO });
            let (mut now, mut passed) = (Time::ZERO, std::vec::Vec::<(Time, f64)>::new());
            for (gap_ns, size) in packets {
                now += Duration::from_ps(gap_ns * 1000);
                let size = Bytes::new(size);
                let verdict = policer.on_arrival(&params, &Arriving { now, ..Arriving::alone(size) }, 0.0);
                // Room for this packet: the smallest of the burst size and the arrival curves that start at earlier
                // packets.
                let mut room = 32_000.0_f64;
                let mut sum = 0.0;
                for &(at, bits) in passed.iter().rev() {
                    sum += bits;
                    room = room.min(32_000.0 + 1e6 * now.since(at).as_secs_f64() - sum);
                }
                let passes = verdict == Verdict::Pass;
                let spare = room - size.as_bits_f64();
                prop_assert!(spare.abs() < 0.05 || passes == (spare > 0.0), "{size} of {room} bits: {verdict:?}");
                if passes {
                    passed.push((now, size.as_bits_f64()));
                }
            }
        }
    }
}
