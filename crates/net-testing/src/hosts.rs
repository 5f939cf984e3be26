//! Two hosts in namespaces with a JetMax router between them, for tests with hostile input.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

pub use crate::program::Guard;
use levelflow_laws::AnyParams;
use levelflow_router::kernel;
use levelflow_scenario::settings;
use levelflow_testbed::{End, Namespace, veth};

const SETS: [&str; 3] = ["gamma=0.95", "interval=30 ms", "initial_rate=500 kb/s"];

/// Returns a `levelflow-net` command that discards standard error.
#[must_use]
pub fn net(args: &[&str]) -> Command {
    let mut command = crate::program::net(args);
    command.stderr(Stdio::null());
    command
}

/// Returns the command of a JetMax router with 12 Mb/s.
#[must_use]
pub fn router(place: &[&str]) -> Command {
    let mut args = vec![
        "router",
        "--law",
        "jetmax",
        "--capacity",
        "12 Mb/s",
        "--json",
        "--duration",
        "30 s",
    ];
    args.extend(SETS.iter().flat_map(|set| ["--set", set]));
    args.extend(place);
    net(&args)
}

/// Returns the JetMax parameters that [`router`] sets.
pub fn params() -> AnyParams {
    settings::params("jetmax", &SETS.map(str::to_owned)).unwrap()
}

/// Returns the time that is `ms` milliseconds after `start`.
#[must_use]
pub fn after(start: Instant, ms: u64) -> Instant {
    start + Span::from_millis(ms)
}

/// Two hosts, joined by a veth pair or by an emulated link.
pub struct Hosts {
    /// Sending host.
    pub here: Namespace,
    /// Receiving host.
    pub there: Namespace,
}

impl Hosts {
    /// Creates two hosts with a veth pair between them.
    #[must_use]
    pub fn joined() -> Self {
        let (here, there) = (
            Namespace::new("lf-h-here").unwrap(),
            Namespace::new("lf-h-there").unwrap(),
        );
        let (a, b) = (end(&here, "lf0"), end(&there, "lf1"));
        veth(a, b, 1500).unwrap();
        let hosts = Self { here, there };
        hosts.address();
        hosts
    }

    /// Assigns addresses to the devices of both hosts.
    pub fn address(&self) {
        address(end(&self.here, "lf0"), [10, 9, 8, 1]);
        address(end(&self.there, "lf1"), [10, 9, 8, 2]);
    }

    /// Starts the router at `lf0` and waits until it is attached.
    #[must_use]
    pub fn router(&self) -> Guard {
        let guard = Guard(self.here.spawn(router(&["--dev", "lf0"])).unwrap());
        let begun = Instant::now();
        while !self.here.run(|| kernel::attached("lf0").unwrap()).unwrap() {
            assert!(begun.elapsed() < Span::from_secs(5), "the router does not start");
            sleep(Span::from_millis(10));
        }
        guard
    }

    /// Opens a socket at the receiving host.
    #[must_use]
    pub fn server(&self) -> UdpSocket {
        self.there.run(|| UdpSocket::bind("10.9.8.2:0").unwrap()).unwrap()
    }
}

/// Assigns an address in a /24 network to a device.
pub fn address(end: End<'_>, address: [u8; 4]) {
    let (address, device) = (Ipv4Addr::from(address), end.device);
    let line = format!("address add {address}/24 dev {device}");
    end.namespace.ip(&line).unwrap();
}

/// Returns the end of a veth pair, given by its namespace and device.
#[must_use]
pub fn end<'a>(namespace: &'a Namespace, device: &'a str) -> End<'a> {
    End { namespace, device }
}
