//! How many packets leave together.

use levelflow_units::{Duration, Rate};

/// Packets that fit into this time may leave together: one system call, and hardly a queue.
const TOGETHER: Duration = Duration::from_us(500);
/// Largest batch, packets.
const MAX_TOGETHER: f64 = 10.0;

/// How many bytes of payload may leave together at that rate, at least one packet.
pub(super) fn quantum(rate: Rate, packet: u64) -> u64 {
    let packets = rate.bps() / 8.0 * TOGETHER.as_secs_f64() / packet.max(1) as f64;
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
