//! The engine that a network gets: one compiled for its only law, or the one for any mix of laws. All give the same results.

use std::fmt::Debug;

use levelflow_laws::cubic::Cubic;
use levelflow_laws::dctcp::Dctcp;
use levelflow_laws::emkc::Emkc;
use levelflow_laws::jetmax::JetMax;
use levelflow_laws::newreno::NewReno;
use levelflow_laws::rcp::Rcp;
use levelflow_laws::{Any, Registered};
use levelflow_results::{Recorder, Summary};
use levelflow_scenario::Network;
use levelflow_units::Time;

use crate::counters::Violation;
use crate::engine::Sim;
use crate::limit::MemoryExceeded;
use crate::run::{Division, Run, Threads};

/// A run under way on one of the engines.
pub trait Running: Debug + Send + Sync {
    /// How it is divided, or why it is not.
    fn division(&self) -> &Division;
    /// Simulated time.
    fn now(&self) -> Time;
    /// Events processed so far.
    fn events(&self) -> u64;
    /// Packets times links they crossed so far.
    fn packet_hops(&self) -> u64;
    /// Bytes of memory held for packets, links and flows.
    fn memory(&self) -> usize;
    /// What has been recorded and not yet taken.
    fn recorder(&mut self) -> &mut Recorder;
    /// Counters up to now.
    ///
    /// # Errors
    /// When a packet was counted twice or not at all: the simulator is wrong.
    fn summary(&mut self) -> Result<Summary, Violation>;
    /// Goes on until `until` or for at least `budget` events; true when the end of the run is reached.
    ///
    /// # Errors
    /// When flows and packets take more memory than they may. What was simulated until then can be recorded and summed up.
    fn advance(&mut self, until: Time, budget: u64) -> Result<bool, MemoryExceeded>;
    /// What has been captured since the last call, as pcapng.
    fn captured(&mut self) -> Vec<u8>;
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
