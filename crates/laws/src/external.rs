//! Laws from outside this crate, such as laws in Python. They run on hosts and need no routers.
//!
//! The caller implements [`ExternalLaw`] and [`ExternalSender`]. The transport detects and retransmits losses as for
//! the TCP laws. [`Sender`] measures round-trip times, and detects the first loss of a window.

extern crate alloc;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt::Debug;

use levelflow_units::{Bytes, Rate, Time};

use crate::bytes::before;
use crate::tcp::{Rtt, recent};
use crate::{Feedback, FlowInfo, Kind, LawInfo, Loss, NoHeader, Outgoing, SenderLaw, Transport};

/// Law that the caller implements.
pub trait ExternalLaw: Debug + Send + Sync {
    /// Returns the description of the law.
    fn info(&self) -> &'static LawInfo;
    /// Returns the transport features that the law needs. The transport must track losses.
    fn transport(&self) -> Transport;
    /// Creates the sender of a flow. `values` are in the order of the parameter table.
    fn sender(&self, values: &[f64], flow: &FlowInfo) -> Box<dyn ExternalSender>;
}

/// Sender that the caller implements.
pub trait ExternalSender: Debug + Send + Sync {
    /// Returns the current rate and window.
    fn limits(&self) -> Limits;
    /// Processes an ACK for data.
    fn on_ack(&mut self, ack: &Ack);
    /// Processes the loss of a packet.
    fn on_loss(&mut self, lost: &Lost);
    /// Processes a retransmission timeout (RTO).
    fn on_timeout(&mut self, expired: &Expired);
    /// Returns an independent copy.
    fn duplicate(&self) -> Box<dyn ExternalSender>;
}

/// Rate and window of an external sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Pacing rate; `None` for a sender without pacing.
    pub rate: Option<Rate>,
    /// Limit on the packets in flight; `None` for no limit. A window below 1 acts as 1.
    pub window: Option<f64>,
}

/// ACK for data, with the measurements of [`Sender`].
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Arrival time.
    pub now: Time,
    /// Feedback from the transport.
    pub feedback: Feedback<NoHeader>,
    /// Round-trip times, including the sample of this ACK.
    pub rtt: Rtt,
    /// Number of the next packet.
    pub next: u32,
    /// True for the first ACK of a round trip.
    pub round: bool,
    /// True from a loss until all packets in flight at the loss have arrived, and while a packet is missing. False
    /// after a timeout.
    pub recovering: bool,
    /// True if the flow used its window, or has no window.
    pub window_used: bool,
    /// Largest data packet, bytes.
    pub packet_size: Bytes,
}

/// Packet declared lost.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// Time at which the packet was declared lost.
    pub now: Time,
    /// Report of the transport.
    pub loss: Loss,
    /// True for the first loss of a window. The packet was sent after the previous such loss, and after the last
    /// timeout.
    pub first: bool,
}

/// Retransmission timeout (RTO).
#[derive(Debug, Clone, Copy)]
pub struct Expired {
    /// Time of the timeout.
    pub now: Time,
    /// Number of the next packet.
    pub next: u32,
    /// True if no packet was acknowledged since the previous timeout.
    pub repeated: bool,
}

/// External law with the values of its parameters.
#[derive(Debug, Clone)]
pub struct Params {
    /// Law.
    pub law: Arc<dyn ExternalLaw>,
    /// Values in base units, in the order of the parameter table.
    pub values: Arc<[f64]>,
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.law, &other.law) && self.values == other.values
    }
}

/// Owner of an external sender. Two owners are equal only if they own the same object.
#[derive(Debug)]
struct Owned(Box<dyn ExternalSender>);

impl Clone for Owned {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}

impl PartialEq for Owned {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(&raw const *self.0, &raw const *other.0)
    }
}

/// Sender of an external law.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    inner: Owned,
    limits: Limits,
    packet_size: Bytes,
    rtt: Rtt,
    /// True if data has been acknowledged.
    acked: bool,
    phase: Phase,
    /// Number of the next packet.
    next: u32,
    /// Number of the first packet of the next round trip.
    round: u32,
    /// Number of the first packet sent after the last loss with [`Lost::first`] or the last timeout, whichever is
    /// later.
    cut: u32,
    /// True if a packet was acknowledged since the last timeout.
    progress: bool,
}

/// Phase of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Normal operation.
    Open,
    /// Recovery after a loss.
    Recovery,
    /// Retransmission after a timeout.
    Restarted,
}

impl Sender {
    /// Returns true if the flow used its window. With pacing, half of the window suffices, as for the TCP laws.
    fn uses_window(&self, feedback: &Feedback<NoHeader>) -> bool {
        let flight = feedback.outstanding.saturating_add(feedback.acked);
        let flight = if self.paces() { flight.saturating_mul(2) } else { flight };
        self.limits.window.is_none() || flight.saturating_add(1) >= self.window()
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        let inner = params.law.sender(&params.values, flow);
        Self {
            limits: inner.limits(),
            inner: Owned(inner),
            packet_size: flow.packet_size,
            rtt: Rtt::default(),
            acked: false,
            phase: Phase::Open,
            next: 0,
            round: 0,
            cut: 0,
            progress: true,
        }
    }

    fn rate(&self) -> Rate {
        let window = self.limits.window.unwrap_or(f64::INFINITY).max(1.0);
        let of_window = || self.rtt.rate_of(window, self.packet_size.get() as f64);
        self.limits.rate.unwrap_or_else(of_window)
    }

    fn paces(&self) -> bool {
        self.limits.rate.is_some()
    }

    fn window(&self) -> u32 {
        self.limits.window.map_or(u32::MAX, |window| (window as u32).max(1))
    }

    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    fn on_send(&mut self, _params: &Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        NoHeader
    }

    fn on_feedback(&mut self, _params: &Params, now: Time, feedback: &Feedback<NoHeader>) {
        if feedback.kind != Kind::Data {
            self.rtt.take(feedback.rtt);
            return;
        }
        if self.acked {
            self.rtt.take(feedback.rtt);
        } else {
            self.rtt.take_first(feedback.rtt);
            self.acked = true;
        }
        let round = !before(feedback.number, self.round);
        if round {
            self.round = self.next;
            self.cut = recent(self.cut, feedback.number);
        }
        self.progress |= feedback.acked > 0;
        if !before(feedback.number, self.cut) && !feedback.gap {
            self.phase = Phase::Open;
        }
        self.inner.0.on_ack(&Ack {
            now,
            feedback: *feedback,
            rtt: self.rtt,
            next: self.next,
            round,
            recovering: match self.phase {
                Phase::Open => feedback.gap,
                Phase::Recovery => true,
                Phase::Restarted => false,
            },
            window_used: self.uses_window(feedback),
            packet_size: self.packet_size,
        });
        self.limits = self.inner.0.limits();
    }

    fn on_loss(&mut self, _params: &Params, now: Time, loss: &Loss) {
        self.next = loss.next;
        let first = !before(loss.number, self.cut);
        if first {
            self.phase = Phase::Recovery;
            self.cut = loss.next;
        }
        self.inner.0.on_loss(&Lost {
            now,
            loss: *loss,
            first,
        });
        self.limits = self.inner.0.limits();
    }

    fn on_timeout(&mut self, _params: &Params, now: Time, next: u32) {
        self.inner.0.on_timeout(&Expired {
            now,
            next,
            repeated: !self.progress,
        });
        self.limits = self.inner.0.limits();
        self.phase = Phase::Restarted;
        self.progress = false;
        (self.next, self.round, self.cut) = (next, next, next);
    }
}
