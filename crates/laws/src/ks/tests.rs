use levelflow_units::{Bytes, Duration, Time};

use super::{Ks, Params, Sender};
use crate::testing::both;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, Protocol, SenderLaw};

const UNIT: f64 = 0.02;
const DATA: Bytes = Bytes::new(32);
const LOG: f64 = 0.0;
const POWER: f64 = 1.0;

fn params(changes: &[(&str, f64)]) -> Params {
    both::<Ks>(changes).sender
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected.abs(),
        "{measured}, expected {expected} within {tolerance} of it"
    );
}

/// Sender, and a path that returns ACKs.
struct Flow {
    params: Params,
    sender: Sender,
    /// Round-trip time in time units.
    d: f64,
    number: u32,
    owed: f64,
}

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    IsMarked,
    IsLost,
}

impl Flow {
    fn new(d: f64, changes: &[(&str, f64)]) -> Self {
        let params = params(changes);
        let sender = Sender::new(&params, &FlowInfo::of(DATA));
        let mut flow = Self {
            params,
            sender,
            d,
            number: 0,
            owed: 0.0,
        };
        flow.ack(Kind::Syn, false);
        flow
    }

    fn ack(&mut self, kind: Kind, marked: bool) {
        let rtt = Duration::from_secs_f64(self.d * UNIT).unwrap();
        let feedback = Feedback {
            marked,
            ..Feedback::plain(self.number, kind, rtt, NoHeader)
        };
        self.sender.on_feedback(&self.params, Time::ZERO, &feedback);
    }

    fn packet(&mut self, fate: Fate) {
        self.number += 1;
        let sent = Outgoing {
            number: self.number,
            size: DATA,
            kind: Kind::Data,
        };
        self.sender.on_send(&self.params, Time::ZERO, &sent);
        if fate == Fate::IsLost {
            let loss = Loss {
                number: self.number,
                next: self.number + 4,
                outstanding: 3,
            };
            self.sender.on_loss(&self.params, Time::ZERO, &loss);
        } else {
            self.ack(Kind::Data, fate == Fate::IsMarked);
        }
    }

    /// Sends a packet. A fraction `p` of the packets, evenly spaced, has the fate `fate`.
    fn with_chance(&mut self, p: f64, fate: Fate) {
        self.owed += p;
        if self.owed >= 1.0 {
            self.owed -= 1.0;
            self.packet(fate);
        } else {
            self.packet(Fate::Arrives);
        }
    }

    /// Returns the rate, in packets per time unit.
    fn rate(&self) -> f64 {
        self.sender.rate().bps() * UNIT / DATA.as_bits_f64()
    }

    /// Returns the mean rate in equilibrium. On the path, a fraction `p(rate)` of the packets has the fate `fate`.
    fn settled(&mut self, p: impl Fn(f64) -> f64, fate: Fate) -> f64 {
        (0..200_000).for_each(|_| self.with_chance(p(self.rate()), fate));
        let mut time = 0.0;
        for _ in 0..200_000 {
            time += 1.0 / self.rate();
            self.with_chance(p(self.rate()), fate);
        }
        200_000.0 / time
    }
}

#[test]
fn one_step_of_eq_12_13_20_and_21() {
    // Columns: utility, nu, true delay, configured delay, W, increase per ACK, decrease per lost packet. kappa = 0.1, w
    // = 3, beta = 0.5.
    for (utility, nu, d, delay, w, up, down) in [
        (LOG, 1.0, 2.0, 0.0, 12.0, 0.1 * 3.0 * 4.0 / 12.0, 0.1 * 0.5 * 2.0),
        (LOG, 1.0, 2.0, 1.0, 12.0, 0.1 * 3.0 / 12.0, 0.1 * 0.5),
        (POWER, 1.0, 2.0, 0.0, 12.0, 0.1 * 3.0 * 4.0 / 12.0, 0.1 * 0.5 * 12.0),
        (
            POWER,
            2.0,
            2.0,
            0.0,
            12.0,
            0.1 * 2.0 * 3.0 * 4.0 / 12.0,
            0.1 * 0.5 * 144.0 / 2.0,
        ),
        (
            POWER,
            0.5,
            4.0,
            0.0,
            16.0,
            0.1 * 0.5 * 3.0 * 16.0 / 16.0,
            0.1 * 0.5 * 4.0 * 2.0,
        ),
        (POWER, 2.0, 4.0, 1.0, 16.0, 0.1 * 2.0 * 3.0 / 16.0, 0.1 * 0.5 * 256.0),
    ] {
        let changes = [
            ("utility", utility),
            ("nu", nu),
            ("kappa", 0.1),
            ("weight", 3.0),
            ("delay", delay),
        ];
        let mut flow = Flow::new(d, &changes);
        flow.sender.level = w;
        flow.packet(Fate::Arrives);
        close(w + up, flow.sender.level, 1e-12);
        flow.sender.level = w;
        flow.packet(Fate::IsLost);
        close(w + up - down, flow.sender.level, 1e-12);
    }
}

/// Returns the gain for `beta = 0.5` at which a lost packet reduces the window at rate `x` by a hundredth. For
/// logarithmic utility, `nu` is 0.
fn small_gain(x: f64, nu: f64) -> f64 {
    0.02 * x.powf(1.0 - nu)
}

/// Verifies the equilibrium of eq 4 with only random loss: `w U'(x) = beta p`. Therefore `x = w/(beta p)` or `x^(nu+1)
/// = nu w/(beta p)`.
#[test]
fn a_window_rests_where_eq_4_says() {
    let (w, beta, p) = (2.0, 0.5, 0.02);
    for (utility, nu) in [(LOG, 0.0), (POWER, 0.5), (POWER, 1.0), (POWER, 2.0)] {
        let price: f64 = beta * p / w;
        let expected = if utility == LOG {
            1.0 / price
        } else {
            (nu / price).powf(1.0 / (nu + 1.0))
        };
        let kappa = small_gain(expected, nu);
        for d in [0.5, 1.0, 3.0] {
            let changes = [
                ("utility", utility),
                ("nu", nu.max(0.01)),
                ("kappa", kappa),
                ("weight", w),
            ];
            close(Flow::new(d, &changes).settled(|_| p, Fate::IsLost), expected, 0.01);
        }
    }
}

#[test]
fn a_rate_rests_where_eq_4_says_whatever_the_delay() {
    for (utility, nu, expected) in [(LOG, 0.0, 100.0), (POWER, 1.0, 10.0), (POWER, 2.0, 200_f64.cbrt())] {
        let kappa = small_gain(expected, nu);
        for d in [0.1, 5.0] {
            let changes = [
                ("control", 1.0),
                ("utility", utility),
                ("nu", nu.max(0.01)),
                ("kappa", kappa),
            ];
            let mut flow = Flow::new(d, &changes);
            close(flow.settled(|_| 0.02, Fate::IsLost), expected, 0.01);
            assert_eq!(flow.sender.window(), u32::MAX);
        }
    }
}

/// Verifies eq 9 with `z = x`: the rate grows by `kappa w` per time unit.
#[test]
fn an_undisturbed_rate_grows_linearly_in_time() {
    let mut flow = Flow::new(
        1.0,
        &[("control", 1.0), ("utility", LOG), ("kappa", 0.01), ("weight", 4.0)],
    );
    let (start, mut time) = (flow.rate(), 0.0);
    for _ in 0..100_000 {
        time += 1.0 / flow.rate();
        flow.packet(Fate::Arrives);
    }
    close(flow.rate() - start, 0.04 * time, 0.01);
}

/// Verifies eq 18, the utility of TCP with random loss. With the parameter `delay = 1`, the rate is proportional to
/// `1/d`.
#[test]
fn random_loss_limits_a_tcp_user_as_eq_18_says() {
    for (beta, rate) in [(0.5, 6.3246), (core::f64::consts::LN_2, 5.3716)] {
        let mut flow = Flow::new(1.0, &[("beta", beta), ("kappa", 0.01), ("delay", 1.0)]);
        close(flow.settled(|_| 0.05, Fate::IsLost), rate, 0.01);
        let mut far = Flow::new(4.0, &[("beta", beta), ("kappa", 0.01), ("delay", 1.0)]);
        close(far.settled(|_| 0.05, Fate::IsLost), rate / 4.0, 0.01);
    }
}

/// Verifies eq 19: without random loss, `x (x - C) = 1/(beta d^2)`.
#[test]
fn a_link_alone_is_filled_as_eq_19_says() {
    let (c, beta, d) = (8.0, 0.5, 0.5);
    let changes = [("beta", beta), ("kappa", 0.003), ("delay", 1.0)];
    let x = Flow::new(d, &changes).settled(|x| ((x - c) / x).max(0.0), Fate::IsLost);
    let expected = (c + f64::sqrt(c * c + 4.0 / (beta * d * d))) / 2.0;
    close(x * (x - c), 1.0 / (beta * d * d), 0.03);
    close(x, expected, 0.01);
}

/// Verifies remark 3: if the constants ignore the delay, rates are proportional to `1/d`. This is true for power
/// utility with `nu = 1` and for logarithmic utility.
#[test]
fn ignoring_the_delay_favours_the_near() {
    for (utility, kappa) in [(LOG, small_gain(100.0, 0.0)), (POWER, small_gain(10.0, 1.0))] {
        let rate = |d, delay| {
            let changes = [("utility", utility), ("kappa", kappa), ("delay", delay)];
            Flow::new(d, &changes).settled(|_| 0.02, Fate::IsLost)
        };
        close(rate(1.0, 1.0) / rate(2.0, 1.0), 2.0, 0.01);
        close(rate(1.0, 0.0) / rate(2.0, 0.0), 1.0, 0.01);
    }
}

/// Verifies sections III, V-C and V-A. Losses, marks, or both lower the window, and every ACK raises the window.
#[test]
fn each_signal_counts_only_where_it_is_asked_for() {
    for (signal, losses, marks) in [(0.0, true, false), (1.0, false, true), (2.0, true, true)] {
        let changes = [("signal", signal)];
        assert_eq!(Ks::transport(&params(&changes)).ecn, marks);
        for (fate, reacts) in [(Fate::IsLost, losses), (Fate::IsMarked, marks)] {
            let mut flow = Flow::new(1.0, &changes);
            flow.sender.level = 10.0;
            flow.packet(fate);
            assert_eq!(flow.sender.level < 10.0, reacts);
            close(flow.sender.level, if reacts { 10.0 + 0.1 - 5.0 } else { 10.1 }, 1e-12);
        }
    }
}

#[test]
fn a_timeout_is_a_nack_for_each_packet_on_its_way() {
    let timed_out = |signal: f64, sent: u32| {
        let mut flow = Flow::new(2.0, &[("utility", LOG), ("signal", signal)]);
        flow.sender.level = 40.0;
        for number in 0..sent {
            let sent = Outgoing {
                number,
                size: DATA,
                kind: Kind::Data,
            };
            flow.sender.on_send(&flow.params, Time::ZERO, &sent);
        }
        flow.sender.on_timeout(&flow.params, Time::ZERO, sent);
        flow.sender.level
    };
    close(timed_out(0.0, 12), 40.0 - 12.0 * 0.5 * 2.0, 1e-12);
    close(timed_out(1.0, 12), 40.0, 1e-12);
    close(timed_out(0.0, 1000), 0.1, 1e-12);
}

#[test]
fn fractions_of_a_packet_are_paced() {
    for (w, window, gap) in [(0.4, 1, 5.0), (1.6, 2, 1.25), (3.5, 4, 2.0 / 3.5), (4.5, 5, 2.0 / 4.5)] {
        let mut flow = Flow::new(2.0, &[("kappa", 1e-6)]);
        flow.sender.level = w;
        flow.ack(Kind::Syn, false);
        assert_eq!(flow.sender.paces(), w < 4.0, "larger windows are clocked by ACKs");
        assert_eq!(flow.sender.window(), window);
        let measured = flow.sender.rate().time_to_send(DATA).unwrap().as_secs_f64() / UNIT;
        close(measured, gap, 1e-9);
    }
}

#[test]
fn a_window_stays_above_its_floor_and_its_rate_finite() {
    let mut flow = Flow::new(1.0, &[("nu", 10.0), ("floor", 0.01)]);
    (0..1000).for_each(|_| flow.packet(Fate::IsLost));
    assert!(flow.sender.level >= 0.01 && flow.sender.rate().bps() > 0.0);
    let mut flow = Flow::new(0.0, &[("kappa", 1e3), ("weight", 1e9), ("delay", 1e6)]);
    (0..1000).for_each(|_| flow.packet(Fate::Arrives));
    assert!(flow.sender.level.is_finite() && flow.sender.rate().bps().is_finite());
}
