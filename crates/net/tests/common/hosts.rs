//! Two hosts in namespaces with a router of JetMax between them, as tests of hostile input want them.

mod program;

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_laws::AnyParams;
use levelflow_net::law;
use levelflow_net::router::kernel;
use levelflow_net::testbed::{End, Namespace, veth};
pub use program::Guard;

const SETS: [&str; 3] = ["gamma=0.95", "interval=30 ms", "initial_rate=500 kb/s"];

/// Leaves a test of the router in the kernel where there is none.
#[macro_export]
macro_rules! needs_kernel {
    ($test:literal) => {
        needs_root!($test);
        if !cfg!(kernel_router) {
            return eprintln!("SKIPPED {}: this build has no kernel router; install clang", $test);
        }
    };
}

pub fn net(args: &[&str]) -> Command {
    let mut command = program::net(args);
    command.stderr(Stdio::null());
    command
}

/// A router of JetMax at 12 Mb/s.
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

pub fn params() -> AnyParams {
    law::params("jetmax", &SETS.map(str::to_owned)).unwrap()
}

/// So many milliseconds later.
pub fn after(start: Instant, ms: u64) -> Instant {
    start + Span::from_millis(ms)
}

/// Two hosts, joined by two devices, or by what lies between them.
pub struct Hosts {
    pub here: Namespace,
    pub there: Namespace,
}

impl Hosts {
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

    pub fn address(&self) {
        end(&self.here, "lf0").address([10, 9, 8, 1].into(), 24).unwrap();
        end(&self.there, "lf1").address([10, 9, 8, 2].into(), 24).unwrap();
    }

    pub fn router(&self) -> Guard {
        let guard = Guard(self.here.spawn(router(&["--dev", "lf0"])).unwrap());
        let begun = Instant::now();
        while !self.here.run(|| kernel::attached("lf0").unwrap()).unwrap() {
            assert!(begun.elapsed() < Span::from_secs(5), "the router does not start");
            sleep(Span::from_millis(10));
        }
        guard
    }

    pub fn server(&self) -> UdpSocket {
        self.there.run(|| UdpSocket::bind("10.9.8.2:0").unwrap()).unwrap()
    }
}

pub fn end<'a>(namespace: &'a Namespace, device: &'a str) -> End<'a> {
    End { namespace, device }
}
