//! The 20-byte header: four constant bytes and four floats.

use crate::header::{Values, header};

const CHANGE: Values = Values::float(f32::MIN, f32::INFINITY, "any number but minus infinity");

header! {
    /// Fields of an XCP packet, in the order of draft-falk-xcp-spec-03, section 3.2. The fields are floats.
    pub struct Header after [
        protocol: 0 "next protocol; not modelled",
        length: 20 "length of this header",
        format: 0x33 "version 3 of the draft, and format 3, which the draft does not use: numbers are floats",
        unused: 0 ""
    ] {
        gap: f32 = Values::TIME, Sender,
            "`X = H_rtt s / H_cwnd`: inter-packet time of the flow, s; 0 before the first measurement of the round-trip time";
        rtt: f32 = Values::TIME, Sender, "`H_rtt`: smoothed round-trip time, s; 0 before the first measurement";
        reverse_feedback: f32 = CHANGE, Receiver, "`delta_throughput` of the acknowledged packet, byte/s";
        delta_throughput: f32 = CHANGE, Router,
            "`H_feedback / H_rtt`: permitted change of throughput, byte/s; infinity from the sender, reduced by routers";
    }

    zero together: gap, rtt;

    fn seen_by_router(&self) -> Option<bool> {
        (self.reverse_feedback != 0.0).then(|| self.reverse_feedback.is_finite())
    }
}

impl Header {
    /// Returns the header of the ACK for this packet.
    #[inline]
    #[must_use]
    pub fn reflected(&self) -> Self {
        Self {
            gap: 0.0,
            rtt: 0.0,
            reverse_feedback: self.delta_throughput,
            delta_throughput: 0.0,
        }
    }
}
