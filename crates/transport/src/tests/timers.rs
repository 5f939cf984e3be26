//! Retransmission timeouts and idle times of each law with a timer. The test sets the delay of the path.

use std::cell::Cell;
use std::rc::Rc;

use levelflow_laws::{Any, Opening, Protocol};
use proptest::prelude::*;

use super::*;

/// Returns the laws that have a handshake and an RTO and need no router.
fn timed() -> Vec<&'static str> {
    let waits = |law: &LawInfo| {
        let (transport, sender) = (Any::transport(&params(law.name)), sender(params(law.name)));
        transport.tracks_losses
            && transport.opening == Opening::Handshake
            && sender.law().timeout().is_none()
            && !law.signalling.is_explicit()
    };
    LAWS.iter().filter(|law| waits(law)).map(|law| law.name).collect()
}

/// Returns the laws of the TCP family.
fn family() -> Vec<&'static str> {
    let windowed = |law: &&LawInfo| law.params.iter().any(|row| row.name == "after_idle");
    LAWS.iter().filter(windowed).map(|law| law.name).collect()
}

fn sender(params: AnyParams) -> Sender {
    Sender::new(params, FlowInfo::of(PACKET), 77).with_application()
}

/// Creates a flow over a path with a forward delay of 10 ms and an adjustable reverse delay.
fn path(params: AnyParams, back: Duration) -> (World, Rc<Cell<Duration>>) {
    let mut world = World::new(params.law().name, 1, false).at("10 Gb/s");
    world.senders = vec![sender(params)];
    let back = Rc::new(Cell::new(back));
    let own = Rc::clone(&back);
    world.fate = Box::new(move |_| vec![own.get()]);
    (world, back)
}

impl World {
    /// Delivers a response. The last packet was sent one round-trip time before this method returns.
    fn deliver(&mut self, packets: u64) {
        self.respond(packets, ms(1));
        while !self.senders[0].is_delivered() {
            self.respond(0, ms(1));
        }
    }

    /// Waits on a path with constant delay until no data has been sent for `timeouts` RTOs.
    fn idle(&mut self, rtt: Duration, timeouts: f64) {
        let idle = timeouts * (rtt.as_secs_f64() + 0.2) - rtt.as_secs_f64();
        self.respond(0, Duration::from_secs_f64(idle.max(0.0)).unwrap());
    }

    /// Writes a response of `packets` packets, and runs for the time `then`.
    fn respond(&mut self, packets: u64, then: Duration) {
        self.senders[0].write(packets * PACKET.get());
        self.run((self.now + then).since(Time::ZERO));
    }

    /// Returns the number of packets of the next response that leave before an ACK can arrive.
    fn burst(&mut self, packets: u64, rtt: Duration) -> u64 {
        let before = self.senders[0].counters().packets;
        self.respond(packets, rtt.saturating_sub(Duration::from_ms(1)));
        self.senders[0].counters().packets - before
    }
}

#[test]
fn laws_with_a_timer_are_those_of_tcp_and_bbr() {
    assert!(
        family().len() >= 13 && timed().len() >= family().len() + 2,
        "{:?}",
        timed()
    );
}

/// Idle time is not starvation. After an idle time, the second packet follows the first packet at the pace of the law.
#[test]
fn an_idle_time_slows_no_law_down() {
    let paced = LAWS.iter().filter(|law| Any::transport(&params(law.name)).acknowledged);
    let (mut compared, rtt) = (0, ms(50));
    for law in paced {
        let (mut world, _) = path(params(law.name), ms(40));
        world.respond(20, Duration::from_secs(60));
        world.respond(1, ms(0));
        if !world.senders[0].law().paces() {
            continue;
        }
        let before = world.senders[0].counters().packets;
        let gap = world.senders[0].rate().time_to_send(PACKET).unwrap();
        world.respond(1, (gap + gap).min(rtt));
        if gap + gap < rtt {
            compared += 1;
            assert_eq!(world.senders[0].counters().packets, before + 1, "{}", law.name);
        }
    }
    assert!(compared > 3, "{compared}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A path delay that increases by less than `min_timeout` causes no timeout. Nothing is declared lost or
    /// retransmitted. This holds for any path delay.
    #[test]
    fn a_longer_path_is_no_timeout(
        law in prop::sample::select(timed()), back_ms in 1_u64..2000, step in 0.0..0.99_f64, packets in 1_u64..20,
        (min_timeout_s, think_ms) in (0.001..1.0_f64, 0_u64..5000),
    ) {
        let own = with(law, &[]).law().params.iter().any(|row| row.name == "min_timeout");
        let changes = [("min_timeout", min_timeout_s)];
        let floor = if own { min_timeout_s } else { 0.2 };
        let (mut world, back) = path(with(law, if own { &changes } else { &[] }), ms(back_ms));
        let pause = ms(10 * (10 + back_ms) + think_ms);
        world.respond(packets, pause);
        for _ in 0..60 {
            world.respond(packets, pause);
        }
        back.set(back.get() + Duration::from_secs_f64(step * floor).unwrap());
        for _ in 0..3 {
            world.respond(packets, pause);
        }
        let data = world.senders[0].counters().data;
        prop_assert_eq!((data.timeouts, data.lost, data.retransmitted), (0, 0, 0));
        prop_assert!(data.delivered > 0);
    }

    // **Invariant** (The transport): after an idle time of more than an RTO, a TCP law restarts with its initial
    // window. A shorter idle time does not change the window. See `a_short_pause_keeps_the_window`.
    /// RFC 5681, section 4.1: after an idle time of more than an RTO, the sender sends at most the initial window at
    /// once.
    #[test]
    fn an_idle_sender_starts_with_its_first_window(
        law in prop::sample::select(family()), back_ms in 10_u64..300, first in 1_u64..20, more in 0.001..30.0_f64,
    ) {
        let changes = [("initial_window", first as f64), ("after_idle", 0.0), ("paced", 0.0)];
        let (mut world, _) = path(with(law, &changes), ms(back_ms));
        let rtt = ms(10 + back_ms);
        world.deliver(300);
        world.idle(rtt, 1.05 + more);
        let window = u64::from(world.senders[0].window());
        prop_assert_eq!(world.burst(2000, rtt), first.min(window), "of {}", window);
    }

    /// A pause of less than an RTO leaves the congestion window unchanged, with any rule.
    #[test]
    fn a_short_pause_keeps_the_window(
        law in prop::sample::select(family()), back_ms in 10_u64..300, rule in 0_u8..4, share in 0.0..0.95_f64,
    ) {
        let changes = [("after_idle", f64::from(rule)), ("paced", 0.0)];
        let (mut world, _) = path(with(law, &changes), ms(back_ms));
        let rtt = ms(10 + back_ms);
        world.deliver(300);
        world.idle(rtt, share);
        let window = u64::from(world.senders[0].window());
        let burst = world.burst(2000, rtt);
        // A paced window is sent over a smoothed round-trip time. This time is slightly longer than the round-trip time
        // of the path.
        let least = if rule == 2 { 0.9 * window as f64 - 1.0 } else { window as f64 };
        prop_assert!(burst <= window && burst as f64 >= least, "{} of {}", burst, window);
    }

    /// Each RTO of idle time halves the congestion window, down to the initial window, as in Linux.
    #[test]
    fn a_window_is_halved_once_per_rto_where_asked(
        law in prop::sample::select(family()), back_ms in 10_u64..300, first in 1_u64..20, timeouts in 0_i32..12,
    ) {
        let changes = [("initial_window", first as f64), ("after_idle", 1.0), ("paced", 0.0)];
        let (mut world, _) = path(with(law, &changes), ms(back_ms));
        let rtt = ms(10 + back_ms);
        world.deliver(300);
        world.idle(rtt, f64::from(timeouts) + 0.5);
        let window = world.senders[0].window();
        let halved = (f64::from(window) / 2_f64.powi(timeouts)).max(first.min(u64::from(window)) as f64);
        let burst = world.burst(2000, rtt);
        // The window may have a fraction of a packet.
        prop_assert!(burst as f64 >= halved.floor() && burst as f64 <= halved + 1.0, "{} of {}", burst, window);
    }

    /// RFC 9002, section 7.7: a sender that keeps its congestion window after an idle time paces this window over a
    /// round-trip time.
    #[test]
    fn a_window_is_paced_where_asked(
        law in prop::sample::select(family()), back_ms in 10_u64..300, timeouts in 0.0..30.0_f64,
    ) {
        let changes = [("after_idle", 2.0), ("paced", 0.0)];
        let (mut world, _) = path(with(law, &changes), ms(back_ms));
        let rtt = ms(10 + back_ms);
        world.deliver(300);
        world.idle(rtt, timeouts);
        let (window, srtt) = (f64::from(world.senders[0].window()), world.senders[0].rtt().unwrap());
        for tenth in 1..10 {
            let time = Duration::from_ps(srtt.as_ps() / 10);
            let sent = world.burst(if tenth == 1 { 2000 } else { 0 }, time + ms(1));
            prop_assert!((sent as f64 - window / 10.0).abs() <= 1.5, "{} of {} in tenth {}", sent, window, tenth);
        }
    }
}
