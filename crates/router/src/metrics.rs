//! Metrics of a router, for Prometheus. Names have base units, such as bytes per second and not bits per second.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::snapshot::{Board, Snapshot};

/// Collector of the latest reading.
#[derive(Debug)]
pub struct Readings(pub Board);

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let now = self.0.read();
        let labels = [("place", now.place.clone()), ("law", now.law.clone())];
        for (name, help, value) in gauges(&now) {
            let metric = ConstGauge::new(value);
            let mut encoder = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        for (name, help, value) in counters(&now) {
            let metric = ConstCounter::new(value);
            let mut encoder = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

type Row<T> = (&'static str, &'static str, T);

fn gauges(now: &Snapshot) -> Vec<Row<f64>> {
    let mut rows = vec![
        (
            "levelflow_router_capacity_bytes_per_second",
            "Line rate",
            now.capacity / 8.0,
        ),
        (
            "levelflow_router_target_bytes_per_second",
            "Target load of the law",
            now.target / 8.0,
        ),
        (
            "levelflow_router_signal",
            "Feedback signal: price, rate (bit/s) or change (bytes)",
            now.signal,
        ),
        ("levelflow_router_queue_bytes", "Bytes waiting", now.queue_bytes as f64),
        (
            "levelflow_router_queue_packets",
            "Packets waiting",
            now.queue_packets as f64,
        ),
        (
            "levelflow_router_interval_delay_max_seconds",
            "Largest delay with which an interval ended",
            now.counters.worst_late_ns as f64 / 1e9,
        ),
    ];
    if let Some(share) = now.share {
        rows.push((
            "levelflow_router_share_bytes_per_second",
            "Fair share of a flow",
            share / 8.0,
        ));
    }
    if let Some(clients) = now.clients {
        rows.push(("levelflow_router_clients", "Clients of the relay", clients as f64));
    }
    rows
}

fn counters(now: &Snapshot) -> [Row<u64>; 11] {
    let c = &now.counters;
    [
        ("levelflow_router_received_packets", "Packets received", c.packets),
        (
            "levelflow_router_received_bytes",
            "Bytes received, as on the wire",
            c.bytes,
        ),
        (
            "levelflow_router_stamped_packets",
            "Packets whose header the law processed",
            c.stamped,
        ),
        ("levelflow_router_ack_packets", "ACKs", c.acks),
        (
            "levelflow_router_invalid_packets",
            "Packets with an invalid header of the law",
            c.refused,
        ),
        (
            "levelflow_router_foreign_packets",
            "Packets without a header of the law",
            c.foreign,
        ),
        (
            "levelflow_router_dropped_packets",
            "Packets dropped because the queue was full",
            c.dropped,
        ),
        (
            "levelflow_router_dropped_bytes",
            "Bytes of dropped packets",
            c.dropped_bytes,
        ),
        ("levelflow_router_intervals", "Intervals closed", c.intervals),
        (
            "levelflow_router_unsent_datagrams",
            "Datagrams that could not be forwarded",
            now.unsent,
        ),
        (
            "levelflow_router_rejected_datagrams",
            "Datagrams dropped because the table of clients was full",
            now.turned_away,
        ),
    ]
}
