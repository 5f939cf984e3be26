//! Relay that runs until it is dropped.

use std::net::SocketAddr;
use std::sync::Arc;

use levelflow_units::{Buffer, Duration, Rate};

use levelflow_host::stop::Stop;
use levelflow_router::direction::Bottleneck;
use levelflow_router::relay::{Config, Relay};
use levelflow_router::snapshot::{Board, Snapshot};
use levelflow_scenario::settings;

/// Relay in a separate thread.
pub struct Router {
    address: SocketAddr,
    stop: Arc<Stop>,
    board: Board,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Router {
    /// Starts a relay with a queue of 100 packets and a delay in each direction. `mbps` is the rate of the line towards
    /// the server.
    #[must_use]
    pub fn start(law: &str, sets: &[&str], mbps: f64, delay_ms: u64, server: SocketAddr) -> Self {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let relay = Relay::bind(Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            to: server,
            forward: Bottleneck {
                params: settings::router_params(law, &sets).unwrap(),
                capacity: Rate::new(mbps * 1e6).unwrap(),
                buffer: Buffer::Packets(100),
            },
            backward: None,
            delay: Duration::from_ms(delay_ms),
            capacity: None,
            id: 7,
        })
        .unwrap();
        let address = relay.address().unwrap();
        let (stop, board) = (Arc::new(Stop::new().unwrap()), Board::default());
        let (inside, shown) = (Arc::clone(&stop), board.clone());
        let thread = std::thread::spawn(move || relay.run(&inside, &shown).unwrap());
        Self {
            address,
            stop,
            board,
            thread: Some(thread),
        }
    }

    /// Returns the address of the relay for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the relay. Returns its last reading.
    #[must_use]
    pub fn end(mut self) -> Snapshot {
        self.stop.now();
        self.thread.take().unwrap().join().unwrap();
        self.board.read()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop.now();
    }
}
