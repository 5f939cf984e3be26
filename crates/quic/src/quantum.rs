//! Size of packet batches that leave together.

use levelflow_units::{Duration, Rate};

/// Duration of a batch: packets due within this time may leave together. This saves system calls, and the queue that a
/// batch causes is short.
const QUANTUM: Duration = Duration::from_us(500);
/// Limit on the size of a batch, in packets.
const MAX_TOGETHER: f64 = 10.0;

/// Returns the payload bytes that may leave together at this rate: at least the payload of one packet.
pub(super) fn quantum(rate: Rate, packet: u64) -> u64 {
    let packets = rate.bps() / 8.0 * QUANTUM.as_secs_f64() / packet.max(1) as f64;
    packet * packets.clamp(1.0, MAX_TOGETHER) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_last_half_a_millisecond_and_hold_1_to_10_packets() {
        assert_eq!(quantum(Rate::clamped(1e6), 1250), 1250);
        assert_eq!(quantum(Rate::clamped(100e6), 1250), 5 * 1250);
        assert_eq!(quantum(Rate::clamped(1e10), 1250), 10 * 1250);
    }
}
