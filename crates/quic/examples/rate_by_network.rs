//! A QUIC connection whose rate the network sets: `cargo run --release -p levelflow-quic --example rate_by_network`.
//!
//! A server, a router with a line of 20 Mb/s and a client, all in one process. The client sends as fast as the
//! connection permits; the router sets that rate.

use levelflow_units::Buffer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use levelflow_host::law;
use levelflow_host::stop::Stop;
use levelflow_quic::{Config, Endpoint, Trust};
use levelflow_router::direction::Bottleneck;
use levelflow_router::relay::{self, Relay};
use levelflow_router::snapshot::Board;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let local: SocketAddr = "127.0.0.1:0".parse()?;
    let server = Endpoint::bind(local, Config::new(b"example"), Some(Trust::Anyone))?;
    let (address, key) = (server.local_address()?, server.identity().fingerprint());
    tokio::spawn(sink(server));
    let (router, stop) = router(local, address)?;

    // New for a user of QUIC: the law in the configuration, and the rate that the connection reports.
    let config = Config::new(b"example").with_law("jetmax", &[])?;
    let client = Endpoint::bind(local, config, None)?;
    let connection = client.connect(router, Trust::Keys(vec![key])).await?;
    let (mut send, _) = connection.quic().open_bi().await?;
    tokio::spawn(async move { while send.write_all(&[7; 10_000]).await.is_ok() {} });
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let rate = connection.status().ok_or("no law")?.rate;
        println!("{rate} by {}", connection.control());
    }
    connection.close();
    stop.now();
    Ok(())
}

/// Accepts a connection, reads its data and discards it.
async fn sink(server: Endpoint) -> Option<()> {
    let connection = server.accept().await?.finish().await.ok()?;
    let (_, mut receive) = connection.quic().accept_bi().await.ok()?;
    while receive.read_chunk(1 << 16).await.ok()?.is_some() {}
    Some(())
}

/// Starts a router in front of the server, in a thread; returns the address for clients.
fn router(listen: SocketAddr, to: SocketAddr) -> Result<(SocketAddr, Arc<Stop>), Failure> {
    let relay = Relay::bind(relay::Config {
        listen,
        to,
        forward: Bottleneck {
            params: law::router_params("jetmax", &["gamma=0.95".into(), "interval=30 ms".into()])?,
            capacity: "20 Mb/s".parse()?,
            buffer: Buffer::Packets(100),
        },
        backward: None,
        delay: "5 ms".parse()?,
        capacity: None,
        id: 1,
    })?;
    let (address, stop) = (relay.address()?, Arc::new(Stop::new()?));
    let until = Arc::clone(&stop);
    std::thread::spawn(move || relay.run(&until, &Board::default()));
    Ok((address, stop))
}
