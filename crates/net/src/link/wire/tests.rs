//! Times by hand, books that balance.

use proptest::prelude::*;

use super::*;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// 1000 bytes take 1 ms.
fn settings() -> Settings {
    Settings {
        rate: Rate::new(8e6),
        delay: Duration::from_ms(5),
        ..Settings::default()
    }
}

fn drain(wire: &mut Wire<u32>) -> Vec<(Time, u32)> {
    std::iter::from_fn(|| {
        wire.due()
            .and_then(|due| wire.take(due).or_else(|| wire.take(us(1 << 40))))
    })
    .collect()
}

fn wire(settings: Settings) -> Wire<u32> {
    Wire::new(settings, 1, "test")
}

#[test]
fn packets_wait_for_each_other_then_travel() {
    let mut wire = wire(settings());
    for (at, name) in [(0, 1), (200, 2), (10_000, 3)] {
        assert!(wire.offer(us(at), Bytes::new(1000), name));
    }
    assert_eq!(wire.due(), Some(us(6000)));
    assert_eq!(wire.take(us(5999)), None);
    assert_eq!(drain(&mut wire), [(us(6000), 1), (us(7000), 2), (us(16_000), 3)]);
    assert!(
        wire.waits().max().abs_diff(800_000) < 1000,
        "the second waited 800 us, to three digits"
    );
}

#[test]
fn without_a_rate_packets_only_travel() {
    let mut wire = wire(Settings {
        rate: None,
        ..settings()
    });
    wire.offer(us(3), Bytes::new(1500), 1);
    wire.offer(us(3), Bytes::new(1500), 2);
    assert_eq!(drain(&mut wire), [(us(5003), 1), (us(5003), 2)]);
}

#[test]
fn a_full_buffer_drops_what_comes_and_room_includes_the_packet_in_service() {
    for buffer in [Buffer::Packets(3), Buffer::Bytes(Bytes::new(3500))] {
        let mut wire = wire(Settings { buffer, ..settings() });
        let taken: Vec<bool> = (0..5).map(|n| wire.offer(us(0), Bytes::new(1000), n)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert_eq!(wire.backlog(us(0)), (Bytes::new(3000), 3));
        assert!(
            !wire.offer(us(999), Bytes::new(1000), 9),
            "the first is still being sent"
        );
        assert!(wire.offer(us(1000), Bytes::new(1000), 5), "it has left");
        assert_eq!(wire.counters().dropped, 3);
        assert_eq!(wire.counters().peak, 3000);
    }
}

#[test]
fn a_new_rate_holds_for_what_is_left() {
    let mut wire = wire(settings());
    for name in 1..=3 {
        wire.offer(us(0), Bytes::new(1000), name);
    }
    // Half of the first is sent; the rest goes at a quarter of the rate.
    wire.set(
        us(500),
        Settings {
            rate: Rate::new(2e6),
            ..settings()
        },
    );
    wire.offer(us(600), Bytes::new(500), 4);
    assert_eq!(
        drain(&mut wire),
        [(us(7500), 1), (us(11_500), 2), (us(15_500), 3), (us(17_500), 4)]
    );
}

#[test]
fn without_a_rate_any_more_all_leave_at_once() {
    let mut wire = wire(settings());
    wire.offer(us(0), Bytes::new(1000), 1);
    wire.offer(us(0), Bytes::new(1000), 2);
    wire.set(
        us(100),
        Settings {
            rate: None,
            ..settings()
        },
    );
    assert_eq!(drain(&mut wire), [(us(5100), 1), (us(5100), 2)]);
}

#[test]
fn a_shorter_way_does_not_overtake_unless_it_may() {
    for (reorder, expected) in [
        (false, [(us(6000), 1), (us(6000), 2)]),
        (true, [(us(3000), 2), (us(6000), 1)]),
    ] {
        let mut wire = wire(Settings { reorder, ..settings() });
        wire.offer(us(0), Bytes::new(1000), 1);
        wire.set(
            us(1500),
            Settings {
                reorder,
                delay: Duration::from_us(500),
                ..settings()
            },
        );
        wire.offer(us(1500), Bytes::new(1000), 2);
        assert_eq!(drain(&mut wire), expected);
    }
}

#[test]
fn losses_are_as_frequent_as_asked_and_the_same_for_the_same_seed() {
    let count = |seed| {
        let mut wire = Wire::new(
            Settings {
                loss: 0.1,
                ..Settings::default()
            },
            seed,
            "x",
        );
        (0..20_000).for_each(|n| {
            wire.offer(us(n), Bytes::new(100), n);
        });
        wire.counters().lost
    };
    // Four standard deviations of a binomial: 4 sqrt(20000 0.1 0.9) = 170.
    assert!(count(1).abs_diff(2000) < 170, "{}", count(1));
    assert_eq!(count(1), count(1));
    assert_ne!(count(1), count(2));
}

#[test]
fn jitter_is_uniform_in_its_range() {
    let jitter = Duration::from_ms(4);
    let mut wire = wire(Settings {
        jitter,
        reorder: true,
        ..Settings::default()
    });
    for n in 0..2000 {
        wire.offer(us(u64::from(n) * 10_000), Bytes::new(100), n);
    }
    let late: Vec<f64> = drain(&mut wire)
        .iter()
        .map(|&(due, n)| due.since(us(u64::from(n) * 10_000)).as_secs_f64())
        .collect();
    let mean = late.iter().sum::<f64>() / 2000.0;
    // A uniform variable of width 4 ms has a deviation of 1.155 ms; of the mean of 2000, 26 us.
    assert!((mean - 2e-3).abs() < 1.1e-4, "{mean}");
    assert!(late.iter().all(|&late| (0.0..=4e-3).contains(&late)));
}

proptest! {
    /// Whatever comes, is set and is taken: nothing is lost from the books, order is kept, and nothing is early.
    #[test]
    fn books_balance_and_order_is_kept(
        steps in prop::collection::vec((0u64..3000, 64u64..1500, 0u8..8, 1u64..50), 1..200),
        loss in prop_oneof![Just(0.0), 0.0..1.0f64],
        jitter in 0u64..5000,
    ) {
        let base = Settings { loss, jitter: Duration::from_us(jitter), buffer: Buffer::Packets(8), ..settings() };
        let mut wire = wire(base);
        let (mut now, mut last, mut delivered) = (Time::ZERO, None, 0);
        for (n, (gap, size, action, megabits)) in steps.into_iter().enumerate() {
            now += Duration::from_us(gap);
            match action {
                0 => wire.set(now, Settings { rate: Rate::new(megabits as f64 * 1e6), ..base }),
                1 => wire.set(now, Settings { delay: Duration::from_us(megabits * 100), ..base }),
                2 | 3 => while let Some((due, name)) = wire.take(now) {
                    prop_assert!(due <= now && Some(name) > last);
                    (last, delivered) = (Some(name), delivered + 1);
                },
                _ => {
                    wire.offer(now, Bytes::new(size), n as u32);
                }
            }
            let c = wire.counters();
            prop_assert_eq!(c.arrived, c.dropped + c.lost + c.delivered + wire.under_way() as u64);
            prop_assert_eq!(c.delivered, delivered);
            prop_assert!(wire.backlog(now).1 <= 8);
        }
    }
}
