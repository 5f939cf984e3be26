//! The engine that a network gets: one compiled for its only law, or the one for any mix of laws. All give the same results.

use std::fmt::Debug;

use levelflow_laws::cubic::Cubic;
use levelflow_laws::dctcp::Dctcp;
use levelflow_laws::emkc::Emkc;
use levelflow_laws::jetmax::JetMax;
use levelflow_laws::newreno::NewReno;
use levelflow_laws::rcp::Rcp;
use levelflow_laws::{Any, Registered};
use levelflow_scenario::Network;

use crate::engine::Sim;
use crate::run::{Run, Running, Threads};

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
