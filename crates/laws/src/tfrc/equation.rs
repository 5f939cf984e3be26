//! The TCP throughput equation, RFC 5348, section 3.1, with `b = 1` and `t_RTO = 4 R`.

use libm::sqrt;

/// Smallest loss event rate that the search considers.
const MIN_LOSS_EVENT_RATE: f64 = 1e-8;

/// Returns the packets per round-trip time at the loss event rate `p`, with 0 < `p` <= 1.
pub(super) fn packets_per_rtt(p: f64) -> f64 {
    //= RFC 5348, section 3.1
    //# R*sqrt(2*b*p/3) + (t_RTO * (3*sqrt(3*b*p/8)*p*(1+32*p^2)))
    let timeouts = 12.0 * sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (sqrt(2.0 * p / 3.0) + timeouts)
}

/// Returns the loss event rate for a number of packets per round-trip time, limited to the range of the search.
pub(super) fn loss_rate(packets: f64) -> f64 {
    let (mut low, mut high) = (MIN_LOSS_EVENT_RATE, 1.0);
    // Bisection on a logarithmic scale. Throughput decreases with p. After 40 steps, the error is far below 5 %, the
    // limit of section 6.3.1.
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
