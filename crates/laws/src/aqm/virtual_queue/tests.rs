use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{VirtualQueue, VirtualQueueParams};
use crate::Parameters;
use crate::aqm::{Queue, Verdict};
use crate::law::{Arriving, PortInfo};

/// Capacity: 1000 packets per second.
const C: f64 = 8e6;
const SIZE: u64 = 1000;

struct TestPort {
    params: super::VirtualQueueParams,
    queue: VirtualQueue,
    now: Time,
}

impl TestPort {
    fn new(changes: &[(&str, f64)]) -> Self {
        let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let values: Vec<f64> = VirtualQueueParams::TABLE
            .iter()
            .map(|row| value(row.name).unwrap_or(row.default))
            .collect();
        assert!(
            changes
                .iter()
                .all(|(name, _)| VirtualQueueParams::TABLE.iter().any(|row| row.name == *name))
        );
        let params = VirtualQueueParams::read(&values).unwrap();
        let port = PortInfo {
            id: 1,
            capacity: Rate::new(C).unwrap(),
        };
        Self {
            queue: VirtualQueue::new(&params, &port),
            params,
            now: Time::ZERO,
        }
    }

    /// Sends a packet `gap` seconds after the last packet. Returns true if the packet is marked.
    fn packet(&mut self, gap: f64) -> bool {
        self.now += Duration::from_secs_f64(gap).unwrap();
        let packet = Arriving {
            now: self.now,
            ..Arriving::alone(Bytes::new(SIZE))
        };
        match self.queue.on_arrival(&self.params, &packet, 0.0) {
            Verdict::Pass => false,
            Verdict::Notify => true,
            Verdict::Drop => panic!("a virtual queue only marks"),
        }
    }

    /// Fills the virtual queue with packets at equal distances, and returns the marked fraction of later packets. The
    /// load is `load` times the capacity.
    fn marked(&mut self, load: f64) -> f64 {
        let gap = SIZE as f64 * 8.0 / (load * C);
        (0..10_000).for_each(|_| {
            self.packet(gap);
        });
        (0..10_000).filter(|_| self.packet(gap)).count() as f64 / 10_000.0
    }

    /// Returns `C~/C`.
    fn level(&self) -> f64 {
        self.queue.signal() / C
    }
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

#[test]
fn a_smooth_load_is_marked_by_its_excess() {
    for level in [0.5, 0.9, 1.0] {
        let mut port = TestPort::new(&[("level", level)]);
        close(port.level(), level, 1e-12);
        for load in [0.3, 0.49, 0.6, 0.95, 1.2, 3.0] {
            let excess: f64 = (load - level) / load;
            close(port.marked(load), excess.max(0.0), 2e-4);
        }
    }
}

#[test]
fn a_burst_is_marked_from_where_it_overflows() {
    let mut port = TestPort::new(&[("buffer", 40.0 * SIZE as f64)]);
    assert!((0..40).all(|_| !port.packet(0.0)));
    assert!((0..10).all(|_| port.packet(0.0)));
}

/// Verifies that marking stops when a packet fits. The virtual queue of Gibbens and Kelly marks packets until it is
/// empty.
#[test]
fn marking_stops_at_once() {
    let level = 0.5;
    let mut port = TestPort::new(&[("level", level), ("buffer", 10.0 * SIZE as f64)]);
    let (mut queue, mut marking) = (0.0_f64, false);
    let mut gibbens_kelly = |gap: f64| {
        queue = (queue - level * C / 8.0 * gap).max(0.0);
        marking &= queue > 0.0;
        marking |= queue + SIZE as f64 > 10.0 * SIZE as f64;
        if !marking {
            queue += SIZE as f64;
        }
        marking
    };
    let service = SIZE as f64 * 8.0 / (level * C);
    let gaps = [[0.0; 12].as_slice(), &[service; 8]].concat();
    let both = gaps.into_iter().map(|gap| (port.packet(gap), gibbens_kelly(gap)));
    let (ours, theirs): (Vec<bool>, Vec<bool>) = both.unzip();
    assert_eq!(ours, [[false; 10].as_slice(), &[true; 2], &[false; 8]].concat());
    assert_eq!(theirs, [[false; 10].as_slice(), &[true; 10]].concat());
}

/// Returns the equilibrium load of users with logarithmic utility, divided by `C`. In equilibrium, `n` users send at
/// the total rate `C~ + n/beta`, and the excess over `C~` is marked (section V-A). `users` is `n/(beta C)`.
fn settle(port: &mut TestPort, users: f64) -> f64 {
    let mut load = 0.0;
    for _ in 0..200_000 {
        load = port.level() + users;
        port.packet(SIZE as f64 * 8.0 / (load * C));
    }
    load
}

/// Verifies proposition 3 with equality on one link: `C~ = gamma C - n/beta`.
#[test]
fn an_adaptive_level_brings_the_load_to_its_target() {
    for adapt in [1.0, 2.0] {
        for gamma in [0.9, 1.0] {
            let changes = [("adapt", adapt), ("gamma", gamma), ("level", 0.5), ("every", 100.0)];
            let mut port = TestPort::new(&changes);
            close(settle(&mut port, 0.2), gamma, 1e-3);
            close(port.level(), gamma - 0.2, 1e-3);
        }
    }
}

#[test]
fn an_adaptive_level_stays_in_its_range() {
    for (adapt, highest) in [(1.0, 0.9), (2.0, 1.0)] {
        let mut port = TestPort::new(&[("adapt", adapt), ("gamma", 0.9), ("level", 0.5), ("every", 100.0)]);
        settle(&mut port, 1.5);
        close(port.level(), 0.0, 1e-12);
        assert_eq!(port.marked(1.0), 1.0, "the virtual queue does not drain at level 0");
        (0..1000).for_each(|_| {
            port.packet(10.0);
        });
        close(port.level(), highest, 2e-3);
    }
}

/// Verifies `C~' = a (gamma C - x)`: for a constant load, `C~` is a ramp.
#[test]
fn the_step_size_is_per_second() {
    for adapt in [1.0, 2.0] {
        let mut port = TestPort::new(&[("adapt", adapt), ("level", 0.1), ("step", 0.2), ("every", 10.0)]);
        (0..1000).for_each(|_| {
            port.packet(SIZE as f64 * 8.0 / (0.5 * C));
        });
        let seconds = 1000.0 * 0.002;
        close(port.level(), 0.1 + 0.2 * 0.5 * seconds, 1e-3);
    }
}
