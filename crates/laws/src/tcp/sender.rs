//! Sender of the TCP laws.

use levelflow_units::{Bytes, Rate, Time};

use super::window::MIN_SSTHRESH;
use super::{AckEvent, AfterIdle, Cause, Common, Congestion, Rtt, TcpParams, Variant, Window};
use crate::bytes::before;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, Restart, SenderLaw};

/// Sender of a TCP law.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TcpSender<V> {
    /// Packet size in bytes. It has 32 bits, because the state of a flow must fit a cache line.
    packet_size: u32,
    paced: bool,
    /// Pacing rate divided by `window / SRTT`.
    gain: f32,
    pub(super) window: Window,
    rtt: Rtt,
    /// True if data has been acknowledged.
    acked: bool,
    phase: Phase,
    /// Number of the next packet.
    next: u32,
    /// Number of the first packet sent after the last reduction. Losses and marks of earlier packets cause no further
    /// reduction.
    cut: u32,
    /// Number of the first packet of the next round trip. An ACK for this packet or a later packet starts the next
    /// round trip.
    round: u32,
    /// Lost packets of this recovery that have not reduced the window yet; see [`Variant::REDUCES_PER_HOLE`].
    holes: u32,
    /// True if a second lost packet of the window has already caused a reduction.
    again: bool,
    /// True if a packet was acknowledged since the last timeout.
    progress: bool,
    /// Remaining round trips for which an unpaced sender paces after an idle time.
    spread: u8,
    pub(super) variant: V,
}

/// Phase of the sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Normal operation.
    #[default]
    Open,
    /// Recovery after a reduction. The window does not grow until all packets in flight at the reduction have arrived.
    Reduced,
    /// Slow start after a timeout.
    Restarted,
}

/// Reordering threshold: number of later packets whose ACKs declare a packet lost.
const REORDERING_THRESHOLD: u32 = 3;

/// Round trips of pacing after an idle time. The packets of a window are paced over one smoothed round-trip time, and
/// the first ACK may arrive earlier.
const SPREAD_ROUNDS: u8 = 2;

/// Returns `cut`, or a later number if `cut` is old, because comparisons modulo 2^32 need recent numbers. Packets that
/// precede `acked` by more than [`REORDERING_THRESHOLD`] are acknowledged or declared lost, so no event can refer to
/// them.
pub(crate) fn recent(cut: u32, acked: u32) -> u32 {
    let settled = acked.wrapping_sub(REORDERING_THRESHOLD);
    if before(cut, settled) { settled } else { cut }
}

impl<V: Variant> TcpSender<V> {
    /// Returns the law-specific state.
    #[must_use]
    pub fn variant(&self) -> &V {
        &self.variant
    }

    /// Returns the window in packets, including the fraction.
    pub(crate) fn size(&self) -> f64 {
        self.window.size
    }

    /// Limits the window to `most` packets, at least 1. The threshold does not change, because no packet was lost.
    pub(crate) fn limit(&mut self, most: f64) {
        self.window.size = self.window.size.min(most).max(1.0);
    }

    /// Returns the rate of a window of `window` packets.
    #[inline]
    pub(crate) fn rate_of(&self, window: f64) -> Rate {
        self.rtt.rate_of(window, f64::from(self.packet_size))
    }

    //= RFC 6582, section 3.2
    //# When the third duplicate ACK is received, the TCP sender first
    //# checks the value of recover to see if the Cumulative
    //# Acknowledgment field covers more than recover.
    fn is_news(&self, number: u32) -> bool {
        !before(number, self.cut)
    }

    fn threshold(&mut self, params: &V::Params, now: Time, cause: Cause) -> f64 {
        let congestion = Congestion {
            cause,
            now,
            window: self.window.size,
            ssthresh: self.window.ssthresh,
            rtt: self.rtt,
        };
        self.variant.reduce(params, &congestion)
    }

    fn reduce(&mut self, params: &TcpParams<V::Params>, now: Time, cause: Cause) {
        let ssthresh = self.threshold(&params.own, now, cause);
        self.window.cut(ssthresh);
        if !(V::SCALABLE && cause == Cause::Mark) {
            self.phase = Phase::Reduced;
        }
        self.cut = self.next;
        self.settle(&params.common);
    }

    /// Restarts in slow start from `size` packets, after an idle time.
    fn rest(&mut self, size: f64) {
        self.window.rest(size, self.phase != Phase::Reduced);
        self.variant.on_idle();
    }

    /// Clamps a changed window and updates the pacing gain.
    fn settle(&mut self, common: &Common) {
        self.window.size = self.window.size.clamp(1.0, common.window_limit);
        let starts = self.window.size < self.window.ssthresh / 2.0;
        self.gain = if starts {
            common.pacing_start
        } else {
            common.pacing_gain
        } as f32;
    }

    /// Ends recovery, or slow start after a timeout, if no data is missing. Called for ACKs of packets sent after the
    /// reduction or the timeout.
    fn leave_phase(&mut self, params: &TcpParams<V::Params>, now: Time, gap: bool) {
        match self.phase {
            Phase::Reduced if V::REDUCES_PER_HOLE => {
                self.phase = Phase::Open;
                if self.holes == 0 {
                    self.again = false;
                } else if self.again {
                    self.start_again(params, now);
                } else {
                    self.again = true;
                    self.holes -= 1;
                    self.reduce(params, now, Cause::Loss);
                }
            }
            _ if gap => {}
            _ => self.phase = Phase::Open,
        }
    }

    /// Restarts from a window of one packet at the third lost packet of one window. Reno has too few packets in flight
    /// to detect this loss, and waits for a timeout (Fall and Floyd 1996, section 4). This sender restarts at once.
    fn start_again(&mut self, params: &TcpParams<V::Params>, now: Time) {
        let ssthresh = self.threshold(&params.own, now, Cause::Timeout);
        self.window.restart(ssthresh);
        self.phase = Phase::Restarted;
        (self.cut, self.holes, self.again) = (self.next, 0, false);
        self.settle(&params.common);
    }

    /// Returns true if this ACK may grow the window. The ACK must acknowledge new data and carry no mark. While data is
    /// missing, the window grows only after a timeout. In recovery, ACKs only show that packets arrive (RFC 5681,
    /// section 3.2).
    fn may_grow(&self, feedback: &Feedback<NoHeader>) -> bool {
        let complete = match self.phase {
            Phase::Open => !feedback.gap,
            Phase::Reduced => false,
            Phase::Restarted => true,
        };
        complete && feedback.acked > 0 && !feedback.marked
    }

    /// Returns true if the flow used its window. With pacing, half of the window suffices: packets are spread over a
    /// round trip, and a growing window is never full.
    fn is_in_use(&self, acked: u32, outstanding: u32) -> bool {
        let flight = outstanding.saturating_add(acked);
        let flight = if self.paced { flight.saturating_mul(2) } else { flight };
        flight.saturating_add(1) >= self.window.packets()
    }
}

impl<V: Variant> SenderLaw for TcpSender<V> {
    type Params = TcpParams<V::Params>;
    type Header = NoHeader;

    fn new(params: &Self::Params, flow: &FlowInfo) -> Self {
        let common = &params.common;
        let mut sender = Self {
            packet_size: flow.packet_size.get() as u32,
            paced: common.paced,
            window: Window {
                size: common.initial_window.min(common.window_limit),
                ssthresh: if common.slow_start {
                    common.initial_ssthresh
                } else {
                    MIN_SSTHRESH
                },
            },
            progress: true,
            ..Self::default()
        };
        sender.settle(common);
        sender
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate_of(self.window.size)
    }

    #[inline]
    fn pace(&self) -> Rate {
        self.rate_of(self.window.size * f64::from(self.gain))
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paced || self.spread > 0
    }

    /// Returns the window in packets. For paced scalable senders, the window is rounded up, as in Linux and udp_prague.
    /// Their windows are small, and pacing limits the rate.
    #[inline]
    fn window(&self) -> u32 {
        if V::SCALABLE && self.paced {
            self.window.packets_begun()
        } else {
            self.window.packets()
        }
    }

    #[inline]
    fn packet_size(&self, _params: &Self::Params) -> Bytes {
        Bytes::new(u64::from(self.packet_size))
    }

    #[inline]
    fn on_send(&mut self, _params: &Self::Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        NoHeader
    }

    fn on_feedback(&mut self, params: &Self::Params, now: Time, feedback: &Feedback<NoHeader>) {
        if feedback.kind != Kind::Data {
            self.rtt.take(feedback.rtt);
            return;
        }
        if feedback.spurious > 0 && self.variant.on_spurious(feedback.spurious, &mut self.window) {
            self.phase = Phase::Open;
            self.settle(&params.common);
        }
        if self.acked {
            self.rtt.take(feedback.rtt);
        } else {
            self.rtt.take_first(feedback.rtt);
            self.acked = true;
        }
        let &Feedback {
            number,
            marked,
            acked,
            outstanding,
            gap,
            ..
        } = feedback;
        let round = !before(number, self.round);
        if round {
            self.round = self.next;
            self.spread = self.spread.saturating_sub(1);
            self.cut = recent(self.cut, number);
        }
        self.progress |= acked > 0;
        let ack = AckEvent {
            now,
            acked,
            growth: slow_start_growth(acked, params.common.delayed_ack),
            outstanding,
            marked,
            rtt: self.rtt,
            round,
            in_use: self.is_in_use(acked, outstanding),
        };
        self.variant.on_ack(&params.own, &ack, &mut self.window);
        let cut = self.cut;
        if self.is_news(number) {
            self.leave_phase(params, now, gap);
        }
        if marked && self.is_news(number) && self.variant.heeds_mark(&params.own, &ack) {
            self.reduce(params, now, Cause::Mark);
        }
        let was_reduced = self.cut != cut;
        if !was_reduced && self.may_grow(feedback) && self.is_in_use(acked, outstanding) {
            if params.common.slow_start && self.window.size < self.window.ssthresh {
                self.variant.slow_start(&params.own, &ack, &mut self.window);
            } else {
                self.variant.avoid(&params.own, &ack, &mut self.window);
            }
        }
        self.settle(&params.common);
    }

    fn on_restart(&mut self, params: &Self::Params, _now: Time, restart: &Restart) {
        let Common {
            after_idle,
            initial_window,
            ..
        } = params.common;
        match after_idle {
            //= RFC 5681, section 4.1
            //# Therefore, a TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not sent
            //# data in an interval exceeding the retransmission timeout.
            AfterIdle::Restart if restart.idle > restart.timeout => self.rest(initial_window),
            AfterIdle::Halve if restart.idle > restart.timeout => {
                let timeouts = restart.idle.as_secs_f64() / restart.timeout.as_secs_f64();
                let halved = self.window.size * libm::exp2(1.0 - libm::ceil(timeouts));
                self.rest(halved.max(initial_window));
            }
            //= RFC 9002, section 7.7
            //# Senders MUST either use pacing or limit such bursts.
            AfterIdle::Pace if restart.idle.as_secs_f64() > self.rtt.smooth => self.spread = SPREAD_ROUNDS,
            _ => {}
        }
        self.settle(&params.common);
    }

    fn on_loss(&mut self, params: &Self::Params, now: Time, loss: &Loss) {
        self.next = loss.next;
        if self.is_news(loss.number) || (V::REDUCES_PER_HOLE && self.phase == Phase::Open) {
            self.reduce(params, now, Cause::Loss);
        } else if self.phase == Phase::Reduced {
            self.holes = self.holes.saturating_add(1);
        }
        self.variant.on_lost();
    }

    fn on_timeout(&mut self, params: &Self::Params, now: Time, next: u32) {
        let ssthresh = if self.progress {
            self.threshold(&params.own, now, Cause::Timeout)
        } else {
            self.window.ssthresh
        };
        self.window.restart(ssthresh);
        self.settle(&params.common);
        self.phase = Phase::Restarted;
        self.cut = next;
        self.progress = false;
        (self.holes, self.again) = (0, false);
        self.next = next;
        self.round = next;
    }
}

/// Returns the window growth of an ACK in slow start, in packets. The growth doubles the window per round trip. It is
/// one packet per ACK. With delayed ACKs, it is the number of acknowledged packets, as in Linux and in HyStart++ (RFC
/// 9406).
fn slow_start_growth(acked: u32, delayed_ack: bool) -> f64 {
    if delayed_ack {
        f64::from(acked)
    } else {
        //= RFC 5681, section 3.1
        //# During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that cumulatively
        //# acknowledges new data.
        1.0
    }
}
