//! Metrics of the latest decisions, for Prometheus.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::reading::Reading;

/// Latest decision about each queue, and counts since the start. All clones refer to the same decisions and counts.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Vec<Latest>>>);

#[derive(Debug, Clone)]
struct Latest {
    reading: Reading,
    sent: u64,
    drops: u64,
    decisions: u64,
}

type Row<T> = (&'static str, &'static str, fn(&Latest) -> T);

const GAUGES: [Row<f64>; 6] = [
    ("levelflow_abs_limit", "Limit of the queue, in packets or bytes", |l| {
        f64::from(if l.reading.set {
            l.reading.limit
        } else {
            l.reading.before
        })
    }),
    (
        "levelflow_abs_wanted",
        "Limit that the algorithm requests; can exceed the limit if queues share a memory",
        |l| l.reading.wanted.into(),
    ),
    ("levelflow_abs_utilisation", "Share of the line used", |l| {
        l.reading.utilisation
    }),
    ("levelflow_abs_loss", "Share of the bytes dropped", |l| l.reading.loss),
    ("levelflow_abs_wait_seconds", "Mean queueing delay, s", |l| {
        l.reading.wait
    }),
    ("levelflow_abs_queue_bytes", "Mean backlog, bytes", |l| {
        l.reading.queue as f64
    }),
];

const COUNTERS: [Row<u64>; 3] = [
    ("levelflow_abs_sent_bytes", "Bytes sent", |l| l.sent),
    ("levelflow_abs_dropped_packets", "Packets dropped", |l| l.drops),
    ("levelflow_abs_decisions", "Decisions", |l| l.decisions),
];

impl Board {
    /// Publishes a decision.
    pub fn post(&self, queue: usize, reading: &Reading) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(latest) = all.get_mut(queue) {
            latest.reading = reading.clone();
            latest.sent += reading.sent;
            latest.drops += u64::from(reading.drops);
            latest.decisions += 1;
        } else {
            all.push(Latest {
                reading: reading.clone(),
                sent: reading.sent,
                drops: reading.drops.into(),
                decisions: 1,
            });
        }
    }
}

impl Collector for Board {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let labels = |l: &Latest| {
            [
                ("device", l.reading.device.clone()),
                ("qdisc", l.reading.qdisc.to_string()),
                ("unit", l.reading.unit.to_owned()),
            ]
        };
        for (name, help, value) in GAUGES {
            let kind = ConstGauge::new(0.0).metric_type();
            let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
            for latest in &all {
                ConstGauge::new(value(latest)).encode(encoder.encode_family(&labels(latest))?)?;
            }
        }
        for (name, help, value) in COUNTERS {
            let kind = ConstCounter::new(0_u64).metric_type();
            let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
            for latest in &all {
                ConstCounter::new(value(latest)).encode(encoder.encode_family(&labels(latest))?)?;
            }
        }
        Ok(())
    }
}
