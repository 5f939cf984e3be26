//! Metrics for Prometheus, over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tiny_http::{Header, Response, Server};

use super::snapshot::{Board, Snapshot};
use crate::Error;

/// A server that answers as long as it lives.
pub struct Metrics {
    server: Arc<Server>,
}

#[derive(Debug)]
struct Readings(Board);

impl Metrics {
    /// Serves what is on the board at `http://ADDRESS/metrics`.
    ///
    /// # Errors
    /// When the address is taken, or not of this machine.
    pub fn serve(address: SocketAddr, board: &Board) -> Result<Self, Error> {
        Self::serve_all(address, Box::new(Readings(board.clone())))
    }

    /// Serves what a collector finds at `http://ADDRESS/metrics`.
    ///
    /// # Errors
    /// When the address is taken, or not of this machine.
    pub fn serve_all(address: SocketAddr, readings: Box<dyn Collector>) -> Result<Self, Error> {
        let server = Server::http(address).map_err(|e| Error::failed(format!("--metrics {address}: {e}")))?;
        let server = Arc::new(server);
        let mut registry = Registry::default();
        registry.register_collector(readings);
        let requests = Arc::clone(&server);
        std::thread::spawn(move || {
            for request in requests.incoming_requests() {
                // Whoever asked may have gone.
                let _ = match request.url() {
                    "/metrics" => request.respond(page(&registry)),
                    _ => request.respond(Response::from_string("look at /metrics\n").with_status_code(404)),
                };
            }
        });
        Ok(Self { server })
    }

    /// Where it listens, with the port that the system chose if none was given.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.server_addr().to_ip()
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // Nobody waits for the thread: a client that does not read its answer would hold it for ever.
        self.server.unblock();
    }
}

fn page(registry: &Registry) -> Response<std::io::Cursor<Vec<u8>>> {
    let mut text = String::new();
    if encode(&mut text, registry).is_err() {
        return Response::from_string("no reading\n").with_status_code(500);
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let header = Header::from_bytes("Content-Type", kind);
    let response = Response::from_string(text);
    match header {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}

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
        ("levelflow_router_capacity_bits", "Line rate, bit/s", now.capacity),
        (
            "levelflow_router_target_bits",
            "Load that the law aims at, bit/s",
            now.target,
        ),
        (
            "levelflow_router_signal",
            "Price, rate (bit/s) or change (bytes) fed back",
            now.signal,
        ),
        ("levelflow_router_queue_bytes", "Bytes waiting", now.queue_bytes as f64),
        (
            "levelflow_router_queue_packets",
            "Packets waiting",
            now.queue_packets as f64,
        ),
        (
            "levelflow_router_worst_late_seconds",
            "By how much the latest end of an interval was late",
            now.counters.worst_late_ns as f64 / 1e9,
        ),
    ];
    if let Some(share) = now.share {
        rows.push(("levelflow_router_share_bits", "Fair share of a flow, bit/s", share));
    }
    if let Some(clients) = now.clients {
        rows.push(("levelflow_router_clients", "Clients of the relay", clients as f64));
    }
    rows
}

fn counters(now: &Snapshot) -> [Row<u64>; 11] {
    let c = &now.counters;
    [
        ("levelflow_router_packets", "Packets that came", c.packets),
        ("levelflow_router_bytes", "Their bytes on the wire", c.bytes),
        (
            "levelflow_router_stamped",
            "Packets whose header the law saw",
            c.stamped,
        ),
        ("levelflow_router_answers", "Answers", c.answers),
        (
            "levelflow_router_refused",
            "Packets with a header that nobody writes",
            c.refused,
        ),
        ("levelflow_router_foreign", "Other packets", c.foreign),
        (
            "levelflow_router_dropped",
            "Packets dropped for want of room",
            c.dropped,
        ),
        ("levelflow_router_dropped_bytes", "Their bytes", c.dropped_bytes),
        ("levelflow_router_intervals", "Intervals closed", c.intervals),
        (
            "levelflow_router_unsent",
            "Datagrams that could not be sent on",
            now.unsent,
        ),
        (
            "levelflow_router_turned_away",
            "Datagrams of clients for which there was no room",
            now.turned_away,
        ),
    ]
}
