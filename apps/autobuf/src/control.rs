//! Control of a queue by a buffer-sizing algorithm, which computes the next limit from the queue's counters.

use std::collections::BTreeMap;

use levelflow_laws::PortInfo;
use levelflow_laws::buffers::{AnyBufferAlgorithm, BUFFER_ALGORITHMS, BufferAlgorithmInfo, Load};
use levelflow_scenario::buffer_algorithm_named;
use levelflow_units::{Bytes, Duration, Rate};
use serde_json::{Value, json};

use super::memory::Memory;
use super::notes::check_use;
use super::queue::SizedQueue;
use levelflow_host::Error;
use levelflow_host::limit::Limit;
use levelflow_host::limit::Unit;

/// Default upper bound of the buffer, packets. Algorithms stop at this bound if no buffer meets the targets.
const MAX_DEFAULT_BUFFER_PACKETS: u64 = 10_000;
/// Default upper bound of the buffer, as the transmission time of a full buffer. The smaller of this bound and the
/// bound in packets applies.
const MAX_DEFAULT_BUFFER_TIME: Duration = Duration::from_ms(1000);
/// Largest limit that an algorithm can set, in packets.
const MAX_LIMIT_PACKETS: u64 = 1_000_000_000;
/// Minimum time between two decisions. In a shorter interval, counters would contain mostly noise.
const MIN_INTERVAL: Duration = Duration::from_ms(100);
/// Parameters that have their own option, so that `--set` may not set them.
const OPTIONS: [(&str, &str); 6] = [
    ("utilisation", "--utilisation"),
    ("loss", "--loss"),
    ("delay", "--delay"),
    ("interval", "--every"),
    ("initial", "the limit that the queue has"),
    ("largest", "--max"),
];

/// Targets and bounds for every queue of the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// Name of the buffer-sizing algorithm.
    pub algorithm: String,
    /// Target utilisation of the line.
    pub utilisation: Option<f64>,
    /// Target loss rate, the fraction of bytes that may be dropped.
    pub loss: Option<f64>,
    /// Target delay: the largest mean queueing delay allowed.
    pub delay: Option<Duration>,
    /// Time between two decisions.
    pub every: Duration,
    /// Additional parameters of the algorithm.
    pub sets: BTreeMap<String, Value>,
    /// Lower bound of each queue's limit, if the user sets it.
    pub least: Option<Limit>,
    /// Upper bound of each queue's limit, if the user sets it.
    pub most: Option<Limit>,
    /// Memory that all queues share. It bounds the sum of their limits.
    pub memory: Option<Memory>,
}

impl Targets {
    /// Rejects targets that no queue can meet on any line.
    ///
    /// # Errors
    /// When a target is out of range. The message lists the allowed values.
    pub fn check(&self) -> Result<(), Error> {
        let known: Vec<&str> = BUFFER_ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        let Some(algorithm) = BUFFER_ALGORITHMS
            .iter()
            .find(|algorithm| algorithm.name == self.algorithm)
        else {
            return Err(Error::input(format!(
                "--algorithm {}: unknown (allowed: {})",
                self.algorithm,
                known.join(", ")
            )));
        };
        let targets = [
            ("utilisation", self.utilisation.is_some()),
            ("loss", self.loss.is_some()),
            ("delay", self.delay.is_some()),
        ];
        for (name, _) in targets.iter().filter(|(_, given)| *given) {
            if !algorithm.params.iter().any(|row| row.name == *name) {
                return Err(Error::input(format!("--{name}: {} has no such target", algorithm.name)));
            }
        }
        self.check_targets(algorithm)?;
        if targets.iter().all(|(_, given)| !given) {
            return Err(Error::input(
                "abs: no target; needs at least one of --utilisation SHARE, --loss SHARE and --delay TIME",
            ));
        }
        if let Some((name, option)) = OPTIONS.iter().find(|(name, _)| self.sets.contains_key(*name)) {
            return Err(Error::input(format!("--set {name}: set by {option}")));
        }
        Ok(())
    }

    fn check_targets(&self, algorithm: &BufferAlgorithmInfo) -> Result<(), Error> {
        let row = |name: &str| algorithm.params.iter().find(|row| row.name == name);
        for (name, target) in [("utilisation", self.utilisation), ("loss", self.loss)] {
            let Some((share, row)) = target.zip(row(name)) else {
                continue;
            };
            let most = row.range.1;
            if !(share > 0.0 && share <= most) {
                return Err(Error::input(format!(
                    "--{name} {share}: not a possible target (allowed: above 0, up to {most})"
                )));
            }
        }
        let longest = |name: &str| row(name).and_then(|row| Duration::from_secs_f64(row.range.1));
        if let Some((delay, longest)) = self
            .delay
            .zip(longest("delay"))
            .filter(|(delay, longest)| delay > longest)
        {
            return Err(Error::input(format!(
                "--delay {delay}: too long (allowed: up to {longest})"
            )));
        }
        let longest = longest("interval").unwrap_or(Duration::MAX);
        if !(MIN_INTERVAL..=longest).contains(&self.every) {
            return Err(Error::input(format!(
                "--every {}: allowed are {MIN_INTERVAL} to {longest}",
                self.every
            )));
        }
        check_size("--min", self.least)?;
        check_size("--max", self.most)
    }

    /// Returns the algorithm's parameters for a queue, in the form that scenarios use.
    fn table(&self, initial: u64, largest: u64) -> BTreeMap<String, Value> {
        let has = |name: &str| {
            let algorithm = BUFFER_ALGORITHMS
                .iter()
                .find(|algorithm| algorithm.name == self.algorithm);
            algorithm.is_some_and(|algorithm| algorithm.params.iter().any(|row| row.name == name))
        };
        let mut table = self.sets.clone();
        let mut put = |name: &str, value: Value| {
            if has(name) {
                table.insert(name.to_owned(), value);
            }
        };
        put("utilisation", self.utilisation.unwrap_or(0.0).into());
        put("loss", self.loss.unwrap_or(0.0).into());
        put("delay", self.delay.unwrap_or(Duration::ZERO).to_string().into());
        put("interval", self.every.to_string().into());
        put("initial", format!("{initial} packets").into());
        put("largest", format!("{largest} packets").into());
        table
    }
}

/// Controller of one queue.
#[derive(Debug, Clone)]
pub struct Control {
    /// Buffer in the form that the simulator's scenarios use: `{ abs_log = { loss = 0.01 } }`.
    pub buffer: Value,
    algorithm: AnyBufferAlgorithm,
    port: PortInfo,
    unit: Unit,
    frame: u32,
    least: u32,
    most: u32,
}

impl Control {
    /// Creates the controller of a queue. It starts with the current limit of the queue, or with the nearest allowed
    /// limit.
    ///
    /// # Errors
    /// When the line is too slow for the delay target, the lower bound exceeds the upper bound, or parameters are out
    /// of range.
    pub fn new(targets: &Targets, place: &SizedQueue) -> Result<Self, Error> {
        check_delay(targets.delay, place.capacity, place.frame)?;
        check_use(place, targets.utilisation)?;
        let (unit, frame) = (place.unit, place.frame);
        check_room("--min", targets.least, frame)?;
        check_room("--max", targets.most, frame)?;
        let one = unit.limit(Limit::Packets(1), frame);
        let least = targets.least.map_or(one, |size| unit.limit(size, frame));
        let sends = place.capacity.bps() * MAX_DEFAULT_BUFFER_TIME.as_secs_f64() / 8.0 / f64::from(frame);
        let usual = Limit::Packets(MAX_DEFAULT_BUFFER_PACKETS.min(sends as u64).max(1));
        let usual = || unit.limit(usual, frame).max(place.limit);
        let most = targets.most.map_or_else(usual, |size| unit.limit(size, frame));
        let most = most.min(unit.limit(Limit::Packets(MAX_LIMIT_PACKETS), frame));
        if most < least {
            let (most, least) = (unit.text(most), unit.text(least));
            return Err(Error::input(format!(
                "--max {most}: below the smallest limit, {least} (a packet of this device is {frame} bytes)"
            )));
        }
        let packets = |limit: u32| match unit {
            Unit::Packets => u64::from(limit),
            Unit::Bytes => u64::from(limit / frame),
        };
        let initial = packets(place.limit.clamp(least, most)).max(1);
        let table = targets.table(initial, packets(most).max(initial));
        let params =
            buffer_algorithm_named(&targets.algorithm, &table).map_err(|e| Error::input(format!("--set: {e}")))?;
        let port = PortInfo {
            id: 1,
            capacity: place.capacity,
        };
        Ok(Self {
            buffer: json!({ &targets.algorithm: table }),
            algorithm: AnyBufferAlgorithm::new(&params, &port),
            port,
            unit,
            frame,
            least,
            most,
        })
    }

    /// Ends an interval. Returns the limit that the algorithm requests for the next interval, within bounds.
    pub fn decide(&mut self, load: &Load) -> u32 {
        self.algorithm.on_interval(load);
        self.nearest(self.asked())
    }

    /// Records that the queue has this limit. Notifies the algorithm if the limit differs from the requested limit.
    pub fn grant(&mut self, limit: u32) {
        let one = self.unit.limit(Limit::Packets(1), self.frame);
        if limit / one != self.asked() / one {
            self.algorithm.on_grant(f64::from(limit) / f64::from(one));
        }
    }

    /// Returns the limit that the algorithm requests, in whole packets. The bounds are not applied.
    fn asked(&self) -> u32 {
        let packets = Limit::Packets(self.algorithm.packets() as u64);
        self.unit.limit(packets, self.frame)
    }

    /// Returns the nearest limit within bounds.
    #[must_use]
    pub fn nearest(&self, limit: u32) -> u32 {
        limit.clamp(self.least, self.most)
    }

    /// Returns the lower bound of the limit.
    #[must_use]
    pub fn least(&self) -> u32 {
        self.least
    }

    /// Returns the utilisation, relative to the capacity of the line. It may exceed 1 while a class borrows capacity.
    #[must_use]
    pub fn utilisation(&self, load: &Load) -> f64 {
        load.utilisation(&self.port)
    }

    /// Returns the mean queueing delay, seconds.
    #[must_use]
    pub fn wait(&self, load: &Load) -> f64 {
        load.queue.as_bits_f64() / self.port.capacity.bps()
    }
}

fn check_size(option: &str, size: Option<Limit>) -> Result<(), Error> {
    match size {
        Some(Limit::Packets(packets)) if packets > MAX_LIMIT_PACKETS => Err(Error::input(format!(
            "{option} {packets} packets: more than algorithms can use (allowed: up to {MAX_LIMIT_PACKETS} packets)"
        ))),
        Some(Limit::Bytes(bytes)) if bytes > u32::MAX.into() => Err(Error::input(format!(
            "{option} {}: above the largest limit of a queue (allowed: up to {} bytes)",
            Bytes::new(bytes),
            u32::MAX
        ))),
        _ => Ok(()),
    }
}

fn check_room(option: &str, size: Option<Limit>, frame: u32) -> Result<(), Error> {
    match size {
        Some(small @ Limit::Bytes(bytes)) if bytes < frame.into() => Err(Error::input(format!(
            "{option} {small}: less than a packet of this device (allowed: {frame} bytes or more)"
        ))),
        _ => Ok(()),
    }
}

fn check_delay(delay: Option<Duration>, capacity: Rate, frame: u32) -> Result<(), Error> {
    let Some(delay) = delay else { return Ok(()) };
    let packet = f64::from(frame) * 8.0 / capacity.bps();
    if delay.as_secs_f64() < packet {
        let packet = Duration::from_secs_f64((packet * 1e6).ceil() * 1e-6).unwrap_or(Duration::MAX);
        return Err(Error::input(format!(
            "--delay {delay}: a packet of {frame} bytes takes longer at {capacity} (allowed: {packet} or more)"
        )));
    }
    Ok(())
}
