//! The parameter table of Level.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

/// Least number of packets of the size `max_packet` that a link can transmit in a control interval.
const PACKETS_PER_INTERVAL: f64 = 10.0;
/// Least number of these packets per flow. An eighth of such a packet is larger than the smallest packet of a sender.
const PACKETS_PER_FLOW: f64 = 0.125;
/// Longest control interval that a low capacity or many flows can cause, in seconds.
const LONGEST_INTERVAL_S: f64 = 2.0;
/// Longest inter-packet time of slow senders, in seconds, if `interval` is shorter. It is half of the shortest ACK
/// timeout.
pub(super) const LONGEST_GAP_S: f64 = 0.5;

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "control interval of routers; senders use it to choose packet sizes",
    "value of JetMax, Zhang 2008, section VI.6.1"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// Control interval of routers; senders use it to choose packet sizes.
        interval: Duration = INTERVAL;
        initial_rate: f64 = Unit::Rate, 40e3, RATE_RANGE,
            "rate of a flow before its first approved proposal",
            "value of JetMax";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, used when other traffic fills the link; a lower value becomes one packet of the smallest size per control interval",
            "value of JetMax";
        min_packet: Bytes = Unit::Size, 52.0, (1.0, 65_535.0),
            "smallest packet size of slow senders, headers included; a value below the size of the headers plus 1 B becomes this size",
            "an IP header and the header of Level";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets per interval that a slow sender sends; it reduces the packet size for this; 0 for packets of full size",
            "value of JetMax";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.95, (0.01, 1.0),
            "target load of a link as a fraction of its capacity; the remaining capacity is headroom for new flows",
            "Levelflow";
        floor: f64 = Unit::Number, 0.0, (0.0, 1.0),
            "fraction of the capacity that other traffic cannot take from the flows; 0: other traffic has precedence",
            "Levelflow";
        /// Control interval of routers; senders use it to choose packet sizes.
        interval: Duration = INTERVAL;
        max_packet: Bytes = Unit::Size, 1500.0, (1.0, 65_535.0),
            "largest packet on the link; the control interval is at least 10 times its transmission time, up to 2 s",
            "MTU of Ethernet";
    }
}

impl RouterParams {
    /// Returns the control interval of a link with a capacity in bit/s and a number of flows.
    ///
    /// Hosts and queues change gaps by about the transmission time of a packet. In a short interval, this is a large
    /// error of the count. Also, a flow must send at least a packet in each interval. An outage does not lengthen
    /// intervals.
    #[must_use]
    pub fn control_interval(&self, capacity: f64, flows: f64) -> Duration {
        let packets = PACKETS_PER_INTERVAL.max(flows * PACKETS_PER_FLOW);
        let secs = packets * self.max_packet.as_bits_f64() / capacity;
        let secs = if secs.is_finite() {
            secs.min(LONGEST_INTERVAL_S)
        } else {
            0.0
        };
        self.interval
            .max(Duration::from_secs_f64(secs).unwrap_or(Duration::ZERO))
    }
}

impl Params {
    #[inline]
    pub(super) const fn sizing(&self) -> Sizing {
        Sizing {
            interval: self.interval,
            packets: self.packets_per_interval,
            smallest: self.min_packet,
        }
    }

    /// Returns the lowest rate of a sender, bit/s: about one smallest packet per control interval. Without packets, a
    /// sender would receive no levels. A router counts a packet in two intervals, so a longer gap would be counted for
    /// several flows. `announced` is the longest control interval of the path, in seconds.
    #[must_use]
    pub fn floor(&self, announced: f64) -> f64 {
        if self.packets_per_interval == 0.0 {
            return self.min_rate;
        }
        let gap = announced.min(LONGEST_GAP_S).max(self.interval.as_secs_f64());
        self.min_rate.max(self.min_packet.as_bits_f64() / gap)
    }
}
