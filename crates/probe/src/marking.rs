//! Inference of the relation between marks and queueing delay.

use serde::Serialize;

/// Smallest fraction of marked packets that proves marking.
const MIN_MARKED: f64 = 0.002;
/// Fractions of marked packets at the two ends of a step or a ramp.
const ENDS: (f64, f64) = (0.1, 0.9);
/// Smallest fraction of marks of a ramp at the largest delay.
const MIN_RAMP: f64 = 0.3;
/// Smallest resolution of delays, s.
const MIN_RESOLUTION: f64 = 0.5e-3;
/// Bins of delays in the comparison of a growing and a shrinking queue.
const BINS: usize = 10;
/// Number of samples in a moving median of delays.
const MEDIAN_SAMPLES: usize = 5;
/// Minimum number of packets of a bin.
const MIN_BIN_PACKETS: u64 = 10;
/// Largest difference between the fractions of marks of a growing and a shrinking queue, if marks depend on the
/// current delay only.
const MAX_HYSTERESIS: f64 = 0.25;

/// Marks of a few load packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// One-way delay of the newest packet, ns. It includes the offset between the clocks.
    pub delay: i64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that arrived with a mark.
    pub marked: u64,
}

/// Relation between marks and queueing delay. Delays are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Marking {
    /// Packets are not marked.
    None,
    /// Packets are marked if the queueing delay exceeds a threshold.
    Step {
        /// Threshold.
        at: f64,
        /// Resolution of the measurement.
        resolution: f64,
    },
    /// The fraction of marked packets rises with the queueing delay.
    Ramp {
        /// Delay at which a tenth of the packets is marked.
        from: f64,
        /// Delay at which nine tenths of the packets are marked; `None` if the delay did not reach it.
        to: Option<f64>,
    },
    /// Marks depend on the history of the queue, as those of CoDel, PIE and RED with its averages.
    Smoothed {
        /// Fraction of marked packets.
        share: f64,
    },
}

/// Marks of packets with similar delays.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Smallest delay, s.
    delay: f64,
    packets: u64,
    marked: u64,
}

impl Block {
    fn share(&self) -> f64 {
        self.marked as f64 / self.packets.max(1) as f64
    }
}

impl Marking {
    /// Infers the relation from samples of a queue that grows and then drains. `packet` is the transmission time of a
    /// load packet, and `jitter` the jitter of the idle line, s.
    #[must_use]
    pub fn of(samples: &[Sample], packet: f64, jitter: f64) -> Self {
        let base = samples.iter().map(|sample| sample.delay).min().unwrap_or(0);
        let blocks: Vec<Block> = samples
            .iter()
            .map(|sample| Block {
                delay: sample.delay.abs_diff(base) as f64 / 1e9,
                packets: sample.packets,
                marked: sample.marked,
            })
            .collect();
        let (packets, marked) = blocks.iter().fold((0, 0), |(packets, marked), block| {
            (packets + block.packets, marked + block.marked)
        });
        let share = marked as f64 / packets.max(1) as f64;
        if share < MIN_MARKED {
            return Self::None;
        }
        let (grown, shrunk) = blocks.split_at(peak(&blocks));
        let fit = isotonic(grown);
        let first = |share: f64| fit.iter().find(|block| block.share() >= share).map(|block| block.delay);
        let most = fit.last().map_or(0.0, Block::share);
        let (Some(from), true) = (first(ENDS.0), most >= MIN_RAMP) else {
            return Self::Smoothed { share };
        };
        if hysteresis(grown, shrunk, from) > MAX_HYSTERESIS {
            return Self::Smoothed { share };
        }
        let resolution = (1.5 * packet).max(MIN_RESOLUTION) + jitter;
        match first(ENDS.1) {
            Some(to) if to - from <= resolution => Self::Step { at: from, resolution },
            to => Self::Ramp { from, to },
        }
    }
}

/// Returns the index of the sample with the largest delay, by medians of [`MEDIAN_SAMPLES`] samples.
fn peak(blocks: &[Block]) -> usize {
    let medians = blocks.windows(MEDIAN_SAMPLES).map(|window| {
        let mut delays: Vec<f64> = window.iter().map(|block| block.delay).collect();
        delays.sort_by(f64::total_cmp);
        delays[MEDIAN_SAMPLES / 2]
    });
    let most = medians.enumerate().max_by(|one, other| one.1.total_cmp(&other.1));
    most.map_or(blocks.len(), |(place, _)| place + MEDIAN_SAMPLES / 2 + 1)
}

/// Returns the non-decreasing fractions of marks over the delay with the least squared error (pool adjacent violators).
fn isotonic(blocks: &[Block]) -> Vec<Block> {
    let mut sorted = blocks.to_vec();
    sorted.sort_by(|one, other| one.delay.total_cmp(&other.delay));
    let mut fit: Vec<Block> = Vec::new();
    for mut block in sorted {
        while let Some(last) = fit.last().filter(|last| last.share() >= block.share()) {
            block = Block {
                delay: last.delay,
                packets: last.packets + block.packets,
                marked: last.marked + block.marked,
            };
            fit.pop();
        }
        fit.push(block);
    }
    fit
}

/// Returns the mean absolute difference between the fractions of marks of a growing and a shrinking queue, at the same
/// delays above `from`.
fn hysteresis(grown: &[Block], shrunk: &[Block], from: f64) -> f64 {
    let longest = grown.iter().map(|block| block.delay).fold(from, f64::max);
    let counts = |blocks: &[Block]| {
        let mut bins = [(0, 0); BINS];
        for block in blocks.iter().filter(|block| block.delay >= from) {
            let bin = ((block.delay - from) / (longest - from).max(f64::MIN_POSITIVE) * BINS as f64) as usize;
            let (packets, marked) = &mut bins[bin.min(BINS - 1)];
            *packets += block.packets;
            *marked += block.marked;
        }
        bins
    };
    let share = |(packets, marked): (u64, u64)| marked as f64 / packets as f64;
    let (mut difference, mut weight) = (0.0, 0.0);
    for (up, down) in counts(grown).into_iter().zip(counts(shrunk)) {
        let least = up.0.min(down.0);
        if least >= MIN_BIN_PACKETS {
            difference += least as f64 * (share(up) - share(down)).abs();
            weight += least as f64;
        }
    }
    if weight > 0.0 { difference / weight } else { 0.0 }
}
