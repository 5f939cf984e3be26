//! The TCP throughput equation, RFC 5348, section 3.1, with `b = 1` and `t_RTO = 4 R`.

use libm::sqrt;

/// Smallest loss event rate that is looked for.
const SMALLEST: f64 = 1e-8;

/// Packets per round-trip time for a loss event rate `p`, above 0 and at most 1.
pub(super) fn packets_per_rtt(p: f64) -> f64 {
    //= RFC 5348, section 3.1
    //# R*sqrt(2*b*p/3) + (t_RTO * (3*sqrt(3*b*p/8)*p*(1+32*p^2)))
    let timeouts = 12.0 * sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (sqrt(2.0 * p / 3.0) + timeouts)
}

/// The loss event rate for which the equation gives so many packets per round-trip time, within its limits.
pub(super) fn loss_rate(packets: f64) -> f64 {
    let (mut low, mut high) = (SMALLEST, 1.0);
    // The throughput falls with p. In steps of ratios, 40 halvings leave an error far below the 5 % of section 6.3.1.
    for _ in 0..40 {
        let middle = sqrt(low * high);
        if packets_per_rtt(middle) > packets {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
