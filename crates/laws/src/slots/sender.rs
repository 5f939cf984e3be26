//! Sender algorithm: requests a slot, waits until it starts, sends the granted data, and requests the next slot.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::Header;
use crate::bytes::before;
use crate::header::LONGEST_TIME;
use crate::law::{Feedback, FlowInfo, Kind, Outgoing, SenderLaw};

/// Inter-packet time without a slot, in round-trip times. It is the probe timeout of RFC 8985, section 7.2.
const RETRY_RTTS: f64 = 2.0;
/// Smallest inter-packet time without a slot, in seconds.
const MIN_RETRY: f64 = 0.01;
/// Inter-packet time before the first grant, in seconds.
const FIRST_RETRY: f64 = 1.0;

/// Granted slot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot {
    start: Time,
    /// Granted data that has not been sent, bits.
    bits: f64,
    /// Sending rate, bit/s.
    rate: f64,
}

impl Slot {
    const NONE: Self = Self {
        start: Time::ZERO,
        bits: 0.0,
        rate: 0.0,
    };
}

/// Sender of Slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    /// Data for which no slot has been granted yet, bits; infinite if the size of the transfer is unknown.
    left: f64,
    current: Slot,
    /// Next slot, if it was granted while `current` still has data; otherwise its `bits` are 0.
    next: Slot,
    /// Number of the packet with the unanswered request.
    requested: Option<u32>,
    /// Departure time and size of the last packet.
    last: Time,
    last_size: Bytes,
    rtt: f64,
}

impl Sender {
    /// Returns the pacing rate at which the next packet departs `gap` after the last packet.
    fn after(&self, gap: Duration) -> Rate {
        self.last_size.per(gap).unwrap_or(Rate::clamped(f64::MAX))
    }
}

impl SenderLaw for Sender {
    type Params = ();
    type Header = Header;

    fn new(_params: &(), flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            left: flow.size.map_or(f64::INFINITY, Bytes::as_bits_f64),
            current: Slot::NONE,
            next: Slot::NONE,
            requested: None,
            last: Time::ZERO,
            last_size: flow.packet_size,
            rtt: 0.0,
        }
    }

    /// Returns the rate of the slot; without a slot, the rate of retries.
    #[inline]
    fn rate(&self) -> Rate {
        if self.current.bits > 0.0 {
            return Rate::clamped(self.current.rate);
        }
        let gap = if self.rtt > 0.0 {
            MIN_RETRY.max(RETRY_RTTS * self.rtt)
        } else {
            FIRST_RETRY
        };
        self.after(Duration::from_secs_f64(gap).unwrap_or(Duration::MAX))
    }

    #[inline]
    fn pace(&self) -> Rate {
        let rate = self.rate();
        match self.current.start.since(self.last) {
            Duration::ZERO => rate,
            gap => Rate::clamped(rate.bps().min(self.after(gap).bps())),
        }
    }

    fn opens_at(&self) -> Time {
        self.current.start
    }

    #[inline]
    fn packet_size(&self, _params: &()) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &(), now: Time, packet: &Outgoing) -> Header {
        (self.last, self.last_size) = (now, packet.size);
        // A packet without a slot is a retransmission, or data whose request was lost.
        let without_slot = packet.kind == Kind::Data && self.current.bits <= 0.0;
        if packet.kind == Kind::Data {
            self.current.bits -= packet.size.as_bits_f64();
        }
        if packet.kind == Kind::Syn {
            self.requested = None; // the last opening packet or its ACK was lost
        }
        let mut request = 0.0;
        if self.requested.is_none() && self.next.bits <= 0.0 && packet.kind != Kind::Fin {
            let least = if without_slot {
                self.packet_size.as_bits_f64()
            } else {
                0.0
            };
            request = self.left.max(least).min(f32::MAX.into()) as f32;
        }
        if request > 0.0 {
            self.requested = Some(packet.number);
        }
        if self.current.bits <= 0.0 {
            self.current = core::mem::replace(&mut self.next, Slot::NONE);
        }
        Header {
            rtt: self.rtt as f32,
            request,
            grant: request,
            wait: 0.0,
            rate: f32::MAX,
        }
    }

    fn on_feedback(&mut self, _params: &(), now: Time, feedback: &Feedback<Header>) {
        // Without a router, the sender keeps its first rate.
        if self.rtt > 0.0 || feedback.header.is_granted() {
            self.rtt = feedback.rtt.as_secs_f64().min(LONGEST_TIME.into());
        }
        let Some(number) = self.requested else { return };
        if before(feedback.number, number) {
            return;
        }
        // The ACK of a later packet means that the request or its ACK was lost. The next packet repeats the request.
        self.requested = None;
        let header = &feedback.header;
        if feedback.number != number || !header.is_granted() {
            return;
        }
        let wait = Duration::from_secs_f64(header.wait.into()).unwrap_or(Duration::ZERO);
        let slot = Slot {
            start: now.saturating_add(wait),
            bits: header.grant.into(),
            rate: header.rate.into(),
        };
        self.left = (self.left - slot.bits).max(0.0);
        if self.current.bits > 0.0 {
            self.next = slot;
        } else {
            self.current = slot;
        }
    }
}
