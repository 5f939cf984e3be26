//! Selection of the active controller: the law, a standard controller, or the slower of both.
//!
//! A flow begins with the standard controller. The law becomes active when the first packet in which a router of the
//! law has written is acknowledged. The standard controller becomes active again after a second of ACKs without router
//! feedback, or after three seconds without ACKs. If packets are lost while the law is active, some queue on the path
//! has no router of the law. In this case, both controllers limit the flow for some time. This time doubles with each
//! repetition.

use levelflow_units::{Duration, Time};

/// Active controller of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Control {
    /// Standard controller (CUBIC): there was no feedback from a router of the law.
    Standard,
    /// Law.
    Law,
    /// Slower of the standard controller and the law: packets are lost at a queue without a router of the law.
    Both,
}

/// Minimum time and number of ACKs in an observation before a change of the controller.
const MIN_OBSERVATION: Duration = Duration::from_secs(1);
const MIN_ACKS: u32 = 4;
/// Timeout for ACKs of the law while data is sent. After this time, the path is assumed to block packets of the law.
/// The larger of this time and [`UNHEARD_RTTS`] applies.
const MIN_ACK_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout for ACKs of the law, in round trips; see [`MIN_ACK_TIMEOUT`].
const UNHEARD_RTTS: u64 = 8;
/// Loss rate in an observation window that indicates a bottleneck without a router of the law.
const LOSS_RATIO: f64 = 0.05;
/// Number of consecutive windows with [`LOSS_RATIO`] that indicate a bottleneck without a router of the law. During
/// convergence, the law itself may overshoot in one window.
const LOSSY_WINDOWS: u32 = 2;
/// Minimum loss in an observation window that is not attributed to chance, in bytes.
const LEAST_LOST: u64 = 8 * 1200;
/// Time for which both controllers stay active: its initial value and its maximum.
const FIRST_HOLD: Duration = Duration::from_secs(10);
const LONGEST_HOLD: Duration = Duration::from_secs(160);

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct ControllerSelector {
    control: Control,
    /// Start of the observation window, and the bytes delivered and lost in it.
    window: Time,
    delivered: u64,
    lost: u64,
    lossy: u32,
    /// Latest run of ACKs that are alike: all have router feedback, or none has. The values are the start of the run,
    /// its number of ACKs, and true for router feedback.
    alike: Option<(Time, u32, bool)>,
    /// Time of the first packet sent after the latest ACK of the law.
    unheard: Option<Time>,
    ever_fell: bool,
    hold: Duration,
    hold_until: Time,
}

impl ControllerSelector {
    pub fn new() -> Self {
        Self {
            control: Control::Standard,
            window: Time::ZERO,
            delivered: 0,
            lost: 0,
            lossy: 0,
            alike: None,
            unheard: None,
            ever_fell: false,
            hold: FIRST_HOLD,
            hold_until: Time::ZERO,
        }
    }

    pub fn control(&self) -> Control {
        self.control
    }

    /// Handles an ACK; `routed` is true if a router of the law wrote into the acknowledged packet.
    pub fn on_ack(&mut self, now: Time, routed: bool) {
        let (since, count) = match self.alike {
            Some((since, count, before)) if before == routed => (since, count.saturating_add(1)),
            _ => (now, 1),
        };
        self.alike = Some((since, count, routed));
        self.unheard = None;
        let long = count >= MIN_ACKS && now.since(since) >= MIN_OBSERVATION;
        match (self.control, routed) {
            (Control::Standard, true) if long || !self.ever_fell => {
                self.control = Control::Law;
                // Losses before this time happened under the standard controller, so they do not count.
                (self.window, self.delivered, self.lost, self.lossy) = (now, 0, 0, 0);
            }
            (Control::Law | Control::Both, false) if long => self.fall(),
            _ => {}
        }
    }

    fn fall(&mut self) {
        self.control = Control::Standard;
        self.ever_fell = true;
        self.alike = None;
    }

    /// Handles a pause in sending, during which no ACKs are expected.
    pub fn on_pause(&mut self) {
        self.unheard = None;
    }

    /// Handles the departure of data with a round-trip time of `rtt`. Deactivates the law if no ACK has arrived for
    /// some time.
    pub fn on_send(&mut self, now: Time, rtt: Duration) {
        let since = *self.unheard.get_or_insert(now);
        let patience = rtt
            .checked_mul(UNHEARD_RTTS)
            .map_or(MIN_ACK_TIMEOUT, |long| long.max(MIN_ACK_TIMEOUT));
        if self.control != Control::Standard && now.since(since) > patience {
            self.fall();
        }
    }

    /// Handles delivered and lost bytes.
    pub fn on_delivery(&mut self, now: Time, delivered: u64, lost: u64) {
        self.delivered += delivered;
        self.lost += lost;
        if now.since(self.window) < MIN_OBSERVATION {
            return;
        }
        let loss = self.lost as f64 / (self.delivered + self.lost).max(1) as f64;
        let lossy = self.lost >= LEAST_LOST && loss > LOSS_RATIO;
        self.lossy = if lossy { self.lossy + 1 } else { 0 };
        match self.control {
            Control::Law if self.lossy >= LOSSY_WINDOWS => {
                self.control = Control::Both;
                self.hold_until = now.checked_add(self.hold).unwrap_or(now);
                self.hold = LONGEST_HOLD.min(self.hold * 2);
            }
            Control::Both if !lossy && now >= self.hold_until => self.control = Control::Law,
            _ => {}
        }
        (self.window, self.delivered, self.lost) = (now, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn the_first_router_that_acks_is_used_at_once() {
        let mut selector = ControllerSelector::new();
        selector.on_ack(at(0), false);
        assert_eq!(selector.control(), Control::Standard);
        selector.on_ack(at(1), true);
        assert_eq!(selector.control(), Control::Law);
    }

    #[test]
    fn a_returned_router_must_ack_for_a_second() {
        let mut selector = ControllerSelector::new();
        selector.on_ack(at(0), true);
        for ms in (100..1000).step_by(100) {
            selector.on_ack(at(ms), false);
            assert_eq!(selector.control(), Control::Law, "at {ms} ms");
        }
        selector.on_ack(at(1200), false);
        assert_eq!(selector.control(), Control::Standard);
        for ms in (1300..2300).step_by(100) {
            selector.on_ack(at(ms), true);
            assert_eq!(selector.control(), Control::Standard, "at {ms} ms");
        }
        selector.on_ack(at(2300), true);
        assert_eq!(selector.control(), Control::Law);
    }

    #[test]
    fn one_unwritten_ack_among_many_changes_nothing() {
        let mut selector = ControllerSelector::new();
        for ms in 0..10_000 {
            selector.on_ack(at(ms), ms % 10 != 0);
        }
        assert_eq!(selector.control(), Control::Law);
    }

    #[test]
    fn a_path_that_loses_the_acks_of_the_law_gets_the_standard_controller_back() {
        let mut selector = ControllerSelector::new();
        selector.on_ack(at(0), true);
        let rtt = Duration::from_ms(100);
        for ms in (100..=3100).step_by(100) {
            selector.on_send(at(ms), rtt);
            assert_eq!(selector.control(), Control::Law, "at {ms} ms");
        }
        selector.on_send(at(3200), rtt);
        assert_eq!(selector.control(), Control::Standard);
        selector.on_ack(at(3300), true);
        assert_eq!(selector.control(), Control::Standard, "one ACK is no proof");
        selector.on_ack(at(3400), true);
        selector.on_send(at(60_000), rtt);
        selector.on_ack(at(60_100), true);
        selector.on_ack(at(60_200), true);
        assert_eq!(selector.control(), Control::Law);
        selector.on_send(at(60_300), rtt);
        selector.on_pause();
        selector.on_send(at(90_000), rtt);
        assert_eq!(selector.control(), Control::Law, "a pause is no loss of ACKs");
    }

    #[test]
    fn losses_under_the_standard_controller_do_not_count_against_the_law() {
        let mut selector = ControllerSelector::new();
        lose(&mut selector, 0..5, 20);
        selector.on_ack(at(5000), true);
        lose(&mut selector, 5..6, 20);
        lose(&mut selector, 6..9, 0);
        assert_eq!(
            selector.control(),
            Control::Law,
            "losses in a single window while the law is active are no reason"
        );
        lose(&mut selector, 9..12, 20);
        assert_eq!(selector.control(), Control::Both);
    }

    /// Loses a percentage of the data in a range of time, in seconds.
    fn lose(selector: &mut ControllerSelector, seconds: std::ops::Range<u64>, percent: u64) {
        for ms in (seconds.start * 1000..seconds.end * 1000).step_by(10) {
            selector.on_delivery(at(ms), (100 - percent) * 1000, percent * 1000);
        }
    }

    #[test]
    fn lasting_loss_brings_the_standard_controller_in_for_a_while() {
        let mut selector = ControllerSelector::new();
        selector.on_ack(at(0), true);
        lose(&mut selector, 0..10, 4);
        assert_eq!(selector.control(), Control::Law, "4 % is no reason");
        lose(&mut selector, 10..11, 20);
        lose(&mut selector, 11..13, 0);
        assert_eq!(selector.control(), Control::Law, "a second is no reason");
        lose(&mut selector, 13..17, 20);
        assert_eq!(selector.control(), Control::Both);
        lose(&mut selector, 17..22, 0);
        assert_eq!(selector.control(), Control::Both, "not yet");
        lose(&mut selector, 22..30, 0);
        assert_eq!(selector.control(), Control::Law);
        lose(&mut selector, 30..34, 20);
        lose(&mut selector, 34..48, 0);
        assert_eq!(selector.control(), Control::Both, "the second time lasts twice as long");
    }
}
