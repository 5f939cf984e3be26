//! Memory of size `B` that several ports share. The limits `b_l` of the ports satisfy `sum b_l <= B`.
//!
//! If the demands of the ports exceed the memory, the memory is divided *max-min fairly by capacity*. Each port gets
//! one packet. The remaining memory is divided by this rule. Port `l` has the demand `wanted_l` and the capacity `C_l`:
//!
//! ```text
//! b_l = min(wanted_l, level C_l),  with the `level` at which the b_l sum to the memory
//! ```
//!
//! When the other ports have drained, a port is guaranteed one packet, of size `s_l`, plus `(B - sum s) C_l / sum C`.
//! The second term drains in the same time at every port. In a large memory, the guarantee is about `B C_l / sum C`. In
//! a memory of 10 packets, ports of 1 and 9 Mb/s are guaranteed 1.8 and 8.2 packets.
//!
//! A demand below the guarantee is met in full. The allocations of ports with larger demands drain in equal times. If
//! memory were allocated in proportion to demand, a port with unreachable targets would starve all other ports. Its
//! demand would keep growing.
//!
//! A port with an allocation below its demand is notified ([`on_grant`](super::BufferAlgorithm::on_grant)). `abs_log`
//! then demands at most four times its allocation. `abs` and `adt` ignore the notification, because their printed
//! equations have no limit except `largest`. If the memory is full, their integrals wind up to `largest`. Unwinding
//! takes the same time as winding up.
//!
//! Memory that contains packets is not reallocated. The limit of a port therefore grows only after another port has
//! drained. A backlog above its limit counts in place of the limit. With this rule, the sum over all ports is at most
//! `B` at any time.
//!
//! All amounts have the same unit, bytes or packets. The engine calls [`divide`] when the algorithm of a port updates
//! its demand.

/// Demand, backlog and limit of a port that shares a memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Line rate, or another positive weight.
    pub weight: f64,
    /// Guaranteed minimum: the size of one packet.
    pub least: f64,
    /// Demand of the port's algorithm.
    pub wanted: f64,
    /// Current backlog.
    pub held: f64,
    /// Limit set by [`divide`]; 0 before the first call of [`divide`].
    pub limit: f64,
}

impl Share {
    /// Returns the memory that is currently not available to other ports.
    fn reserved(&self) -> f64 {
        self.limit.max(self.held)
    }

    fn extra(&self) -> f64 {
        (self.wanted - self.least).max(0.0)
    }

    /// Returns the max-min fair allocation at this level.
    fn due(&self, level: f64) -> f64 {
        self.least + self.extra().min(level * self.weight)
    }
}

/// Sets the limits of all ports. `total` must be at least the sum of the guaranteed minima `least`.
pub fn divide(total: f64, ports: &mut [Share]) {
    let level = level(total, ports);
    let (mut free, mut growth) = (total, 0.0);
    for port in ports.iter_mut() {
        port.limit = port.limit.min(port.due(level));
        free -= port.reserved();
        growth += (port.due(level) - port.reserved()).max(0.0);
    }
    let part = if growth > 0.0 {
        (free / growth).clamp(0.0, 1.0)
    } else {
        0.0
    };
    for port in ports {
        let (due, reserved) = (port.due(level), port.reserved());
        // `max` corrects rounding errors: a limit just below one packet would drop every packet.
        port.limit = due.min(reserved + part * (due - reserved).max(0.0)).max(port.least);
    }
}

/// Returns the level at which the allocations sum to the memory; infinite if the memory meets all demands.
fn level(total: f64, ports: &[Share]) -> f64 {
    let room = total - ports.iter().map(|port| port.least).sum::<f64>();
    let mut level = 0.0;
    for _ in 0..=ports.len() {
        let (mut left, mut weight) = (room, 0.0);
        for port in ports {
            if port.extra() <= level * port.weight {
                left -= port.extra();
            } else {
                weight += port.weight;
            }
        }
        if weight == 0.0 {
            return f64::INFINITY;
        }
        let next = left / weight;
        if next <= level {
            break;
        }
        level = next;
    }
    level
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::collection::vec as list;
    use proptest::prelude::*;

    use super::{Share, divide};

    fn port(weight: f64, wanted: f64, held: f64, limit: f64) -> Share {
        Share {
            weight,
            least: 1.0,
            wanted,
            held,
            limit,
        }
    }

    fn limits(total: f64, ports: &[Share]) -> Vec<f64> {
        let mut ports = ports.to_vec();
        divide(total, &mut ports);
        ports.iter().map(|port| port.limit).collect()
    }

    #[test]
    fn small_demands_are_met_and_the_rest_is_divided_by_capacity() {
        let ports = [
            port(1.0, 11.0, 0.0, 0.0),
            port(1.0, 1000.0, 0.0, 0.0),
            port(3.0, 1000.0, 0.0, 0.0),
        ];
        assert_eq!(limits(93.0, &ports), [11.0, 21.0, 61.0]);
        assert_eq!(limits(5000.0, &ports), [11.0, 1000.0, 1000.0]);
        assert_eq!(limits(3.0, &ports), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_port_always_gets_a_packet_and_its_share_of_the_rest() {
        let shared = limits(10.0, &[port(1e6, 1e4, 0.0, 0.0), port(9e6, 1e4, 0.0, 0.0)]);
        let expected = [1.0 + 8.0 / 10.0, 1.0 + 8.0 * 9.0 / 10.0];
        assert!(
            shared.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{shared:?}"
        );
    }

    #[test]
    fn rounding_leaves_every_port_room_for_a_packet() {
        let ports = [(3e6, 100.0), (1e9, 1000.0), (3e6, 1.0), (7e6, 10.0)];
        let ports = ports.map(|(weight, wanted)| port(weight, wanted, 0.0, 0.0));
        assert!(limits(500.0, &ports).iter().all(|&limit| limit >= 1.0));
    }

    #[test]
    fn a_port_grows_when_another_has_drained() {
        let mut ports = [port(1.0, 50.0, 90.0, 90.0), port(1.0, 1000.0, 10.0, 10.0)];
        divide(100.0, &mut ports);
        assert_eq!(ports.map(|port| port.limit), [50.0, 10.0]);
        ports[0].held = 70.0;
        divide(100.0, &mut ports);
        assert_eq!(ports.map(|port| port.limit), [50.0, 30.0]);
        ports[0].held = 0.0;
        divide(100.0, &mut ports);
        assert_eq!(ports.map(|port| port.limit), [50.0, 50.0]);
    }

    fn shares() -> impl Strategy<Value = Vec<(f64, f64, f64)>> {
        list((1.0..1e9_f64, 0.0..1e4_f64, 0.0..1.0_f64), 1..9)
    }

    proptest! {
        // **Invariant** (Laws): buffers that share a memory never exceed it. Without contention, each buffer behaves as
        // if it had its own memory. See `a_shared_memory_is_never_exceeded`,
        // `ports_that_do_not_conflict_do_what_they_do_alone`.
        #[test]
        fn memory_is_never_exceeded_and_no_port_could_get_more(
            steps in list(shares(), 1..6), total in 9.0..2e4_f64
        ) {
            let count = steps[0].len();
            let mut ports: Vec<Share> = steps[0].iter().map(|&(weight, ..)| port(weight, 1.0, 0.0, 0.0)).collect();
            for step in steps.iter().filter(|step| step.len() >= count) {
                for (port, &(_, wanted, full)) in ports.iter_mut().zip(step) {
                    port.wanted = wanted;
                    // The backlog is at most the limit or the previous backlog.
                    port.held = full * port.limit.max(port.held);
                }
                divide(total, &mut ports);
                let reserved: f64 = ports.iter().map(Share::reserved).sum();
                prop_assert!(reserved <= total * (1.0 + 1e-12), "{reserved} of {total}: {ports:?}");
                prop_assert!(ports.iter().all(|port| port.limit >= 1.0 && port.limit <= port.wanted.max(1.0) + 1e-9));
            }
            ports.iter_mut().for_each(|port| port.held = 0.0);
            divide(total, &mut ports);
            let sum: f64 = ports.iter().map(|port| port.limit).sum();
            let asked: f64 = ports.iter().map(|port| port.wanted.max(1.0)).sum();
            prop_assert!((sum - asked.min(total)).abs() < 1e-6 * total, "{sum}, {ports:?}");
            for short in ports.iter().filter(|port| port.limit < port.wanted.max(1.0) - 1e-6) {
                let level = (short.limit - 1.0) / short.weight;
                for other in &ports {
                    prop_assert!((other.limit - 1.0) / other.weight <= level * (1.0 + 1e-6) + 1e-9, "{ports:?}");
                }
            }
        }
    }
}
