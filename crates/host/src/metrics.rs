//! HTTP server with metrics for Prometheus.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tiny_http::{Header, Response, Server};

use crate::Error;

/// HTTP server that runs until it is dropped.
pub struct Metrics {
    server: Arc<Server>,
}

impl Metrics {
    /// Opens the socket of a server.
    ///
    /// # Errors
    /// When the address is in use, or does not belong to this machine.
    pub fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
        TcpListener::bind(address).map_err(|e| Error::failed(format!("--metrics {address}: {e}")))
    }

    /// Serves the metrics of a collector at `http://ADDRESS/metrics`. The threads of the server have the rights of the
    /// calling thread.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn serve(socket: TcpListener, readings: Box<dyn Collector>) -> Result<Self, Error> {
        let server = Server::from_listener(socket, None).map_err(|e| Error::failed(format!("--metrics: {e}")))?;
        let server = Arc::new(server);
        let mut registry = Registry::default();
        registry.register_collector(readings);
        let requests = Arc::clone(&server);
        std::thread::spawn(move || {
            for request in requests.incoming_requests() {
                // The client may have disconnected, so errors are ignored.
                let _ = match request.url() {
                    "/metrics" => request.respond(page(&registry)),
                    _ => request.respond(Response::from_string("see /metrics\n").with_status_code(404)),
                };
            }
        });
        Ok(Self { server })
    }

    /// Returns the address of the server, with the port that the system chose if no port was given.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.server_addr().to_ip()
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // The thread is not joined, because a client that does not read its response would block it for ever.
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
