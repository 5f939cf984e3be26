//! The engine that a network gets: one compiled for its only law, or the one for any mix of laws. All give the same results.

use std::fmt::Debug;

use levelflow_laws::cubic::Cubic;
use levelflow_laws::dctcp::Dctcp;
use levelflow_laws::emkc::Emkc;
use levelflow_laws::jetmax::JetMax;
use levelflow_laws::newreno::NewReno;
use levelflow_laws::rcp::Rcp;
use levelflow_laws::{Any, Protocol, Registered};
use levelflow_results::{Recorder, Summary};
use levelflow_scenario::Network;
use levelflow_units::Time;

use crate::counters::Violation;
use crate::engine::Sim;
use crate::limit::MemoryExceeded;
use crate::run::{Division, Run, Threads};

/// A run on one of the engines; see [`Run`].
pub trait Running: Debug + Send + Sync {
    /// See [`Run::now`].
    fn now(&self) -> Time;
    /// See [`Run::events`].
    fn events(&self) -> u64;
    /// See [`Run::packet_hops`].
    fn packet_hops(&self) -> u64;
    /// See [`Run::memory`].
    fn memory(&self) -> usize;
    /// See [`Run::division`].
    fn division(&self) -> &Division;
    /// See [`Run::recorder`].
    fn recorder(&mut self) -> &mut Recorder;
    /// See [`Run::summary`].
    ///
    /// # Errors
    /// Likewise.
    fn summary(&mut self) -> Result<Summary, Violation>;
    /// See [`Run::advance`].
    ///
    /// # Errors
    /// Likewise.
    fn advance(&mut self, until: Time, budget: u64) -> Result<bool, MemoryExceeded>;
    /// What has been captured since the last call, as pcapng.
    fn captured(&mut self) -> Vec<u8>;
}

impl<P: Protocol + Clone> Running for Run<P>
where
    Sim<P>: Send + Sync,
    P::Header: Send,
{
    fn now(&self) -> Time {
        self.now()
    }

    fn events(&self) -> u64 {
        self.events()
    }

    fn packet_hops(&self) -> u64 {
        self.packet_hops()
    }

    fn memory(&self) -> usize {
        self.memory()
    }

    fn division(&self) -> &Division {
        self.division()
    }

    fn recorder(&mut self) -> &mut Recorder {
        self.recorder()
    }

    fn summary(&mut self) -> Result<Summary, Violation> {
        self.summary()
    }

    fn advance(&mut self, until: Time, budget: u64) -> Result<bool, MemoryExceeded> {
        self.advance(until, budget)
    }

    fn captured(&mut self) -> Vec<u8> {
        let capture = self.sole().and_then(|sim| sim.capture.as_mut());
        capture.map(|capture| capture.take()).unwrap_or_default()
    }
}

/// Whether an engine is for a network, and what starts a run on it.
type Engine = (fn(&Network<Any>) -> bool, fn(Network<Any>, Threads) -> Box<dyn Running>);

/// Engines for one law, where no packet asks which law it is of: 0.87 to 0.95 of the time. Each takes a quarter of a megabyte of
/// the library and three seconds to compile, so only laws of which many or large networks are simulated have one.
const ENGINES: [Engine; 6] = [
    only::<JetMax>(),
    only::<Emkc>(),
    only::<Rcp>(),
    only::<NewReno>(),
    only::<Cubic>(),
    only::<Dctcp>(),
];

const fn only<L: Registered + Clone + Debug + 'static>() -> Engine
where
    Sim<L>: Debug + Send + Sync,
    L::Header: Send,
{
    (Network::has_only::<L>, |network, threads| {
        Box::new(Run::new(network.of_only::<L>(), threads))
    })
}

/// A run at time zero.
#[must_use]
pub fn start(network: Network<Any>, threads: Threads) -> Box<dyn Running> {
    match ENGINES.iter().find(|(is_for, _)| is_for(&network)) {
        Some((_, start)) => start(network, threads),
        None => Box::new(Run::new(network, threads)),
    }
}
