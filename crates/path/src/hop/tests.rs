//! Worked examples of a hop. A property test verifies that packets are conserved and stay in order.

use proptest::prelude::*;

use levelflow_units::Duration;

use super::*;
use crate::fifo::Backlog;
use crate::wire::WireLoss;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// Returns settings with a transmission time of 1 ms for 1000 bytes.
fn settings() -> Settings {
    Settings {
        rate: Rate::new(8e6),
        wire: after(Duration::from_ms(5)),
        ..Settings::default()
    }
}

fn after(delay: Duration) -> Propagation {
    Propagation {
        delay,
        ..Propagation::default()
    }
}

fn drain(hop: &mut Hop<u32>) -> Vec<(Time, u32)> {
    std::iter::from_fn(|| {
        hop.poll_timeout()
            .and_then(|due| hop.poll_output(due).or_else(|| hop.poll_output(us(1 << 40))))
    })
    .collect()
}

fn hop(settings: Settings) -> Hop<u32> {
    Hop::new(settings, 1, "test")
}

#[test]
fn packets_wait_for_each_other_then_travel() {
    let mut hop = hop(settings());
    for (at, name) in [(0, 1), (200, 2), (10_000, 3)] {
        hop.handle_input(us(at), Bytes::new(1000), name).unwrap();
    }
    assert_eq!(hop.poll_timeout(), Some(us(6000)));
    assert_eq!(hop.poll_output(us(5999)), None);
    assert_eq!(drain(&mut hop), [(us(6000), 1), (us(7000), 2), (us(16_000), 3)]);
}

#[test]
fn without_a_rate_packets_only_travel() {
    let mut hop = hop(Settings {
        rate: None,
        ..settings()
    });
    hop.handle_input(us(3), Bytes::new(1500), 1).unwrap();
    hop.handle_input(us(3), Bytes::new(1500), 2).unwrap();
    assert_eq!(drain(&mut hop), [(us(5003), 1), (us(5003), 2)]);
}

/// Law that records the backlog at one given time.
struct Look(Option<Time>, Backlog);

impl HopLaw<u32> for Look {
    fn poll_timeout(&self) -> Option<Time> {
        self.0
    }

    fn handle_timeout(&mut self, _: Time, backlog: Backlog) {
        *self = Self(None, backlog);
    }
}

#[test]
fn a_law_receives_the_size_of_the_packet_in_service() {
    for (at, expected) in [(0, (1580, 3, 1500)), (1_520, (80, 2, 40)), (2_000, (0, 0, 0))] {
        let mut hop = Hop::under(Look(Some(us(at)), Backlog::default()), settings(), 0, "");
        for size in [1500, 40, 40] {
            hop.law.0 = None;
            hop.handle_input(us(0), Bytes::new(size), 0).unwrap();
        }
        hop.law.0 = Some(us(at));
        hop.handle_timeout(us(at));
        let Backlog {
            bytes,
            packets,
            in_service,
        } = hop.law.1;
        assert_eq!((bytes.get(), packets, in_service.get()), expected, "at {at} us");
    }
}

#[test]
fn a_full_buffer_drops_arrivals_and_includes_the_packet_in_service() {
    for buffer in [Buffer::Packets(3), Buffer::Bytes(Bytes::new(3500))] {
        let mut hop = hop(Settings { buffer, ..settings() });
        let taken: Vec<bool> = (0..5)
            .map(|n| hop.handle_input(us(0), Bytes::new(1000), n).is_ok())
            .collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert_eq!(hop.backlog(us(0)), (Bytes::new(3000), 3));
        assert!(
            hop.handle_input(us(999), Bytes::new(1000), 9).is_err(),
            "the first is in service"
        );
        assert!(
            hop.handle_input(us(1000), Bytes::new(1000), 5).is_ok(),
            "the first has departed"
        );
        assert_eq!(hop.counters().dropped, 3);
        assert_eq!(hop.counters().peak, 3000);
    }
}

#[test]
fn a_new_rate_applies_to_the_rest_of_a_packet() {
    let mut hop = hop(settings());
    for name in 1..=3 {
        hop.handle_input(us(0), Bytes::new(1000), name).unwrap();
    }
    // Half of the first packet has been transmitted. The remaining half continues at a quarter of the rate.
    hop.set(
        us(500),
        Settings {
            rate: Rate::new(2e6),
            ..settings()
        },
    );
    hop.handle_input(us(600), Bytes::new(500), 4).unwrap();
    assert_eq!(
        drain(&mut hop),
        [(us(7500), 1), (us(11_500), 2), (us(15_500), 3), (us(17_500), 4)]
    );
}

#[test]
fn without_a_rate_any_more_all_leave_at_once() {
    let mut hop = hop(settings());
    hop.handle_input(us(0), Bytes::new(1000), 1).unwrap();
    hop.handle_input(us(0), Bytes::new(1000), 2).unwrap();
    hop.set(
        us(100),
        Settings {
            rate: None,
            ..settings()
        },
    );
    assert_eq!(drain(&mut hop), [(us(5100), 1), (us(5100), 2)]);
}

#[test]
fn a_shorter_way_does_not_overtake_unless_it_may() {
    for (reorder, expected) in [
        (false, [(us(6000), 1), (us(6000), 2)]),
        (true, [(us(3000), 2), (us(6000), 1)]),
    ] {
        let with = |delay| Settings {
            wire: Propagation {
                reorder,
                ..after(delay)
            },
            ..settings()
        };
        let mut hop = hop(with(Duration::from_ms(5)));
        hop.handle_input(us(0), Bytes::new(1000), 1).unwrap();
        hop.set(us(1500), with(Duration::from_us(500)));
        hop.handle_input(us(1500), Bytes::new(1000), 2).unwrap();
        assert_eq!(drain(&mut hop), expected);
    }
}

#[test]
fn losses_are_as_frequent_as_asked_and_the_same_for_the_same_seed() {
    let count = |seed| {
        let wire = Propagation {
            loss: WireLoss::Independent(0.1),
            ..Propagation::default()
        };
        let mut hop = Hop::new(
            Settings {
                wire,
                ..Settings::default()
            },
            seed,
            "x",
        );
        (0..20_000).for_each(|n| hop.handle_input(us(n), Bytes::new(100), ()).unwrap());
        hop.counters().lost
    };
    // The tolerance is four standard deviations of a binomial distribution: `4 sqrt(20000 0.1 0.9) = 170`.
    assert!(count(1).abs_diff(2000) < 170, "{}", count(1));
    assert_eq!(count(1), count(1));
    assert_ne!(count(1), count(2));
}

#[test]
fn jitter_is_uniform_in_its_range() {
    let jitter = Duration::from_ms(4);
    let wire = Propagation {
        jitter,
        reorder: true,
        ..Propagation::default()
    };
    let mut hop = hop(Settings {
        wire,
        ..Settings::default()
    });
    for n in 0..2000 {
        hop.handle_input(us(u64::from(n) * 10_000), Bytes::new(100), n).unwrap();
    }
    let late: Vec<f64> = drain(&mut hop)
        .iter()
        .map(|&(due, n)| due.since(us(u64::from(n) * 10_000)).as_secs_f64())
        .collect();
    let mean = late.iter().sum::<f64>() / 2000.0;
    // Uniform jitter of 4 ms has a standard deviation of 1.155 ms. The mean of 2000 samples has a standard deviation of
    // 26 us.
    assert!((mean - 2e-3).abs() < 1.1e-4, "{mean}");
    assert!(late.iter().all(|&late| (0.0..=4e-3).contains(&late)));
}

proptest! {
    /// Packets are conserved and stay in order, and no packet is delivered early. This holds for any arrivals, settings
    /// and polling times.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        steps in prop::collection::vec((0u64..3000, 64u64..1500, 0u8..8, 1u64..50), 1..200),
        loss in prop_oneof![Just(0.0), 0.0..1.0f64],
        jitter in 0u64..5000,
    ) {
        let with = |delay| Settings {
            wire: Propagation { loss: WireLoss::Independent(loss), jitter: Duration::from_us(jitter), ..after(delay) },
            buffer: Buffer::Packets(8),
            ..settings()
        };
        let base = with(Duration::from_ms(5));
        let mut hop = hop(base);
        let (mut now, mut last, mut delivered) = (Time::ZERO, None, 0);
        for (n, (gap, size, action, megabits)) in steps.into_iter().enumerate() {
            now += Duration::from_us(gap);
            match action {
                0 => hop.set(now, Settings { rate: Rate::new(megabits as f64 * 1e6), ..base }),
                1 => hop.set(now, with(Duration::from_us(megabits * 100))),
                2 | 3 => while let Some((due, name)) = hop.poll_output(now) {
                    prop_assert!(due <= now && Some(name) > last);
                    (last, delivered) = (Some(name), delivered + 1);
                },
                _ => {
                    let _ = hop.handle_input(now, Bytes::new(size), n as u32);
                }
            }
            let c = hop.counters();
            prop_assert_eq!(c.arrived, c.dropped + c.lost + c.delivered + hop.in_flight() as u64);
            prop_assert_eq!(c.delivered, delivered);
            prop_assert!(hop.backlog(now).1 <= 8);
        }
    }
}
