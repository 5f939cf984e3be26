//! Congestion controller of a connection: the law's rate if routers of the law are on the path, CUBIC otherwise.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics, Cubic, CubicConfig};
use noq_proto::RttEstimator;

use super::peer::Peer;
use super::selector::Control;

/// Pacing rate reported to the QUIC library, so high that the library never delays a packet. The library's pacer would
/// send bursts of 2 ms or 10 packets, so the socket paces instead.
const MAX_LIBRARY_RATE: u64 = 10_000_000_000;

/// Factory of congestion controllers for one connection. All controllers have the same peer.
pub(super) struct Factory(pub Arc<Peer>);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        self.0.on_mtu(mtu);
        Box::new(RateController {
            peer: Arc::clone(&self.0),
            standard: cubic(now, mtu),
            mtu,
            under: Control::Standard,
        })
    }
}

fn cubic(now: Instant, mtu: u16) -> Box<dyn Controller> {
    Box::new(Cubic::new(Arc::new(CubicConfig::default()), now, mtu))
}

#[derive(Debug)]
struct RateController {
    peer: Arc<Peer>,
    standard: Box<dyn Controller>,
    mtu: u16,
    /// Active controller at the last acknowledgement.
    under: Control,
}

impl RateController {
    /// Restarts the standard controller when it becomes active again, because the law caused the latest ACKs and
    /// losses.
    fn notice(&mut self, now: Instant) {
        let control = self.peer.control();
        if self.under == Control::Law && control != Control::Law {
            self.standard = cubic(now, self.mtu);
        }
        self.under = control;
    }
}

impl Controller for RateController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.standard.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.standard.on_packet_sent(now, bytes, number);
    }

    fn on_cwnd_limited(&mut self) {
        self.standard.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, app_limited: bool, rtt: &RttEstimator) {
        self.notice(now);
        self.peer.on_delivery(bytes, 0);
        self.standard.on_ack(now, sent, bytes, number, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.standard.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, ecn: bool, lost: u64, last: u64) {
        self.notice(now);
        self.peer.on_delivery(0, lost);
        self.standard
            .on_congestion_event(now, sent, persistent, ecn, lost, last);
    }

    fn on_packet_lost(&mut self, lost: u16, number: u64, now: Instant) {
        self.standard.on_packet_lost(lost, number, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.standard.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.peer.on_mtu(mtu);
        self.standard.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        match self.peer.control() {
            Control::Standard => self.standard.window(),
            Control::Law => self.peer.window(),
            Control::Both => self.standard.window().min(self.peer.window()),
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.standard.metrics();
        metrics.congestion_window = self.window();
        if self.peer.control() == Control::Law {
            metrics.ssthresh = None;
            metrics.pacing_rate = Some(MAX_LIBRARY_RATE);
            metrics.send_quantum = Some(self.peer.quantum());
        }
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            peer: Arc::clone(&self.peer),
            standard: self.standard.clone_box(),
            mtu: self.mtu,
            under: self.under,
        })
    }

    fn initial_window(&self) -> u64 {
        self.standard.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
