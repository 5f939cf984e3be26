use levelflow_units::{Duration, Time};
use proptest::prelude::*;

use super::testing::{PACKET, Path, at, close, params};
use super::{ECN, Tcp, TcpSender};
use crate::newreno::NewRenoState;
use crate::reno::RenoState;
use crate::{Feedback, FlowInfo, Kind, Law, Loss, NoHeader, Opening, Outgoing, Protocol, RecoveryScheme, SenderLaw};

const RTT: Duration = Duration::from_ms(100);

/// Sender with packets and ACKs from the test.
struct Hand {
    params: super::TcpParams<super::SackParams>,
    sender: TcpSender<RenoState>,
    next: u32,
}

impl Hand {
    fn new(changes: &[(&str, f64)]) -> Self {
        let params = params::<RenoState>(changes);
        let sender = TcpSender::new(&params, &FlowInfo::of(PACKET));
        Self {
            params,
            sender,
            next: 0,
        }
    }

    /// Sends up to packet `last`.
    fn send(&mut self, last: u32) {
        let outgoing = Outgoing {
            number: last,
            size: PACKET,
            kind: Kind::Data,
        };
        self.sender.on_send(&self.params, Time::ZERO, &outgoing);
        self.next = last + 1;
    }

    /// Returns an ACK for packet `number` while the window is full.
    fn full(&self, number: u32) -> Feedback<NoHeader> {
        Feedback {
            outstanding: self.sender.window() - 1,
            ..Feedback::plain(number, Kind::Data, RTT, NoHeader)
        }
    }

    fn take(&mut self, feedback: &Feedback<NoHeader>) {
        self.sender.on_feedback(&self.params, Time::ZERO, feedback);
    }

    fn lose(&mut self, number: u32) {
        let loss = Loss {
            number,
            next: self.next,
            outstanding: 0,
        };
        self.sender.on_loss(&self.params, Time::ZERO, &loss);
    }

    fn size(&self) -> f64 {
        self.sender.window.size
    }
}

#[test]
fn slow_start_doubles_the_window_in_each_round_trip() {
    let mut path = Path::<RenoState>::open(&[], 1e9, 0.1);
    for round in 1..10 {
        path.run(at(0.1 * f64::from(round) + 0.05));
        close(path.window(), f64::from(1 << round), 0.0);
    }
}

/// Verifies the growth per ACK. It is one packet (RFC 5681, section 3.1). With delayed ACKs, it is the number of
/// acknowledged packets (Linux and RFC 9406).
#[test]
fn slow_start_doubles_the_window_with_delayed_acks_too() {
    for (delayed_ack, grown) in [(0.0, 1.0), (1.0, 2.0)] {
        let mut hand = Hand::new(&[("initial_window", 10.0), ("delayed_ack", delayed_ack)]);
        hand.take(&Feedback {
            acked: 2,
            outstanding: 8,
            ..Feedback::plain(1, Kind::Data, RTT, NoHeader)
        });
        close(hand.size(), 10.0 + grown, 0.0);
    }
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut path = Path::<RenoState>::open(&[("initial_ssthresh", 32.0)], 1e9, 0.1);
    path.run(at(0.55));
    close(path.window(), 32.0, 0.0);
    path.run(at(0.65));
    close(path.window(), 33.0, 0.02);
}

/// Verifies Zhang 2008, eq 12-18: ACKs arrive at rate `C`, and each ACK adds `1/W` to the window.
#[test]
fn a_window_over_a_full_link_grows_with_the_root_of_time() {
    let (capacity, first) = (250.0, 40.0);
    let changes = [("initial_window", first), ("slow_start", 0.0)];
    let mut path = Path::<RenoState>::open(&changes, capacity, 0.06);
    // The handshake and the first packet each take a round-trip time.
    for seconds in [10.0, 40.0, 160.0] {
        path.run(at(seconds + 0.12));
        let expected = (2.0 * capacity * seconds + first * first).sqrt();
        close(path.window(), expected, 0.002 * expected);
    }
}

#[test]
fn only_a_window_in_use_grows() {
    for (slow_start, paced, outstanding, grows) in [
        (1.0, 0.0, 8, true),
        (1.0, 0.0, 7, false),
        (0.0, 0.0, 8, true),
        (0.0, 0.0, 7, false),
        (1.0, 1.0, 4, true),
        (1.0, 1.0, 3, false),
    ] {
        let mut hand = Hand::new(&[("initial_window", 10.0), ("slow_start", slow_start), ("paced", paced)]);
        hand.send(10);
        let feedback = Feedback {
            outstanding,
            ..hand.full(1)
        };
        hand.take(&feedback);
        assert_eq!(hand.size() > 10.0, grows, "{outstanding} in flight");
    }
}

/// Verifies the rule of `tcp_update_pacing_rate` of Linux. Below half of the threshold, the pacing rate is twice the
/// window per round trip. Above half of the threshold, it is 1.2 times the window per round trip.
#[test]
fn the_pace_exceeds_the_window_per_round_trip_by_the_gains() {
    let gains = [("initial_window", 16.0), ("pacing_gain", 1.2), ("pacing_start", 2.0)];
    let gain = |hand: &Hand| hand.sender.pace().bps() / hand.sender.rate().bps();
    let mut hand = Hand::new(&gains);
    close(gain(&hand), 2.0, 1e-6);
    hand.send(15);
    hand.lose(0);
    close(gain(&hand), 1.2, 1e-6); // the window equals the threshold
    hand.sender.on_timeout(&hand.params, Time::ZERO, 16);
    close(gain(&hand), 2.0, 1e-6); // one packet, below half of the threshold
    close(
        gain(&Hand::new(&[&gains[..], &[("slow_start", 0.0)]].concat())),
        1.2,
        1e-6,
    );
    close(gain(&Hand::new(&[])), 1.0, 0.0);
}

#[test]
fn the_window_is_cut_once_per_window_of_marks() {
    let mut hand = Hand::new(&[("initial_window", 32.0)]);
    hand.send(31);
    let mark = |number, hand: &mut Hand| {
        let marked = Feedback {
            marked: true,
            ..hand.full(number)
        };
        hand.take(&marked);
    };
    mark(4, &mut hand);
    close(hand.size(), 16.0, 0.0);
    hand.send(40);
    mark(5, &mut hand);
    mark(31, &mut hand);
    close(hand.size(), 16.0, 0.0);
    mark(32, &mut hand);
    close(hand.size(), 8.0, 0.0);
}

/// Verifies that a loss and a mark of one window cause only one reduction (RFC 3168, section 6.1.2).
#[test]
fn a_loss_and_a_mark_of_one_window_count_once() {
    let mut hand = Hand::new(&[("initial_window", 32.0)]);
    hand.send(31);
    hand.lose(3);
    let marked = Feedback {
        marked: true,
        gap: true,
        ..hand.full(6)
    };
    hand.take(&marked);
    close(hand.size(), 16.0, 0.0);
}

#[test]
fn a_window_that_was_cut_waits_until_all_has_arrived() {
    let mut hand = Hand::new(&[("initial_window", 32.0)]);
    hand.send(31);
    hand.lose(3);
    hand.send(32);
    hand.take(&Feedback {
        gap: true,
        ..hand.full(31)
    });
    close(hand.size(), 16.0, 0.0);
    let ack = hand.full(32);
    hand.take(&ack);
    close(hand.size(), 16.0 + 1.0 / 16.0, 1e-12);
}

#[test]
fn a_timeout_starts_again_from_one_packet() {
    let mut hand = Hand::new(&[("initial_window", 32.0)]);
    hand.send(31);
    hand.sender.on_timeout(&hand.params, Time::ZERO, 32);
    assert_eq!((hand.size(), hand.sender.window.ssthresh), (1.0, 16.0));
    hand.sender.on_timeout(&hand.params, Time::ZERO, 33);
    let kept = hand.sender.window.ssthresh;
    close(kept, 16.0, 0.0);
    hand.send(34);
    hand.lose(20);
    close(hand.size(), 1.0, 0.0);
    let ack = hand.full(34);
    hand.take(&ack);
    close(hand.size(), 2.0, 0.0);
}

#[test]
fn the_rate_is_a_window_per_round_trip() {
    let mut hand = Hand::new(&[("initial_window", 10.0)]);
    close(hand.sender.rate().bps(), 10.0 * 8000.0, 0.0);
    hand.take(&Feedback::plain(0, Kind::Syn, RTT, NoHeader));
    close(hand.sender.rate().bps(), 10.0 * 8000.0 / 0.1, 1e-6);
    close(hand.size(), 10.0, 0.0);
    hand.take(&Feedback::plain(0, Kind::Syn, Duration::from_ms(900), NoHeader));
    close(hand.sender.rate().bps(), 10.0 * 8000.0 / 0.2, 1e-6);
}

#[test]
fn the_transport_is_as_the_parameters_say() {
    let plain = Tcp::<RenoState>::transport(&params::<RenoState>(&[]));
    assert_eq!(plain.opening, Opening::Handshake);
    assert!(plain.tracks_losses && !plain.ecn && plain.ack_every == 1);
    let changes = [("ecn", 1.0), ("delayed_ack", 1.0), ("min_timeout", 1.0)];
    let changed = Tcp::<RenoState>::transport(&params::<RenoState>(&changes));
    assert!(changed.ecn && changed.ack_every == 2);
    assert_eq!(changed.ack_delay, Duration::from_ms(40));
    assert_eq!(changed.min_timeout, Duration::from_secs(1));
    assert_eq!(Tcp::<RenoState>::INFO.params[ECN].name, "ecn");
    let without = [("sack", 0.0)];
    assert_eq!(plain.recovery, RecoveryScheme::Selective);
    assert_eq!(
        Tcp::<RenoState>::transport(&params::<RenoState>(&without)).recovery,
        RecoveryScheme::Reno
    );
    let newreno = Tcp::<NewRenoState>::transport(&params::<NewRenoState>(&without));
    assert_eq!(newreno.recovery, RecoveryScheme::NewReno);
}

/// Random event of a sender.
#[derive(Debug, Clone)]
enum Step {
    Send,
    Ack { back: u32, marked: bool, gap: bool },
    Loss { back: u32 },
    Timeout,
}

fn steps() -> impl Strategy<Value = std::vec::Vec<Step>> {
    let ack = (1..40_u32, any::<bool>(), any::<bool>()).prop_map(|(back, marked, gap)| Step::Ack { back, marked, gap });
    let step = prop_oneof![
        8 => Just(Step::Send),
        8 => ack,
        2 => (1..40_u32).prop_map(|back| Step::Loss { back }),
        1 => Just(Step::Timeout),
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Verifies bounds under arbitrary events. The window is at least 1 and at most the limit. Losses and marks never
    /// increase the window: it falls to half or restarts from 1. The threshold is at least 2.
    #[test]
    fn a_window_stays_within_its_limits(steps in steps(), limit in 1.0..100.0_f64) {
        let mut hand = Hand::new(&[("initial_window", 30.0), ("window_limit", limit)]);
        for step in steps {
            let before = hand.size();
            match step {
                Step::Send => hand.send(hand.next),
                Step::Ack { back, marked, gap } => {
                    let ack = hand.full(hand.next.saturating_sub(back));
                    hand.take(&Feedback { marked, gap, ..ack });
                    prop_assert!(!marked || hand.size() <= before);
                    prop_assert!(hand.size() >= before / 2.0 || hand.size() == 1.0);
                    prop_assert!(hand.size() <= before + 1.0);
                }
                Step::Loss { back } => {
                    hand.lose(hand.next.saturating_sub(back));
                    let half = (before / 2.0).max(2.0).min(before);
                    prop_assert!(hand.size() == before || hand.size() == half);
                }
                Step::Timeout => {
                    hand.sender.on_timeout(&hand.params, Time::ZERO, hand.next);
                    prop_assert_eq!(hand.size(), 1.0);
                }
            }
            prop_assert!(hand.size() >= 1.0 && hand.size() <= limit);
            prop_assert!(hand.sender.window.ssthresh >= 2.0);
            prop_assert!(hand.sender.rate().bps() > 0.0);
        }
    }
}
