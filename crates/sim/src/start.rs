//! Selects the engine for a network. If the network has one law and this law has an engine, the run uses this engine.
//! Otherwise, and without the feature `law-engines`, it uses the general engine. All engines give the same results.

use levelflow_laws::Any;
use levelflow_scenario::Network;

use crate::run::{ParallelRun, Running, Threads};

/// Creates a run at time zero.
#[must_use]
pub fn start(network: Network<Any>, threads: Threads) -> Box<dyn Running> {
    if network.has_liars() {
        return Box::new(ParallelRun::new(network.with_liars(), threads));
    }
    #[cfg(feature = "law-engines")]
    if let Some((_, start)) = law_engines::ENGINES.iter().find(|(is_for, _)| is_for(&network)) {
        return start(network, threads);
    }
    Box::new(ParallelRun::new(network, threads))
}

#[cfg(feature = "law-engines")]
mod law_engines {
    use std::fmt::Debug;

    use levelflow_laws::cubic::Cubic;
    use levelflow_laws::dctcp::Dctcp;
    use levelflow_laws::emkc::Emkc;
    use levelflow_laws::jetmax::JetMax;
    use levelflow_laws::newreno::NewReno;
    use levelflow_laws::rcp::Rcp;
    use levelflow_laws::{Any, HeaderOf, ListedLaw};
    use levelflow_scenario::Network;

    use crate::engine::Sim;
    use crate::run::{ParallelRun, Running, Threads};

    /// Two functions of an engine. The first returns true if the engine fits a network. The second starts a run.
    type Engine = (fn(&Network<Any>) -> bool, fn(Network<Any>, Threads) -> Box<dyn Running>);

    /// Engines compiled for one law. They need no dispatch per packet and reduce the run time by 5 to 13 %. Each engine
    /// adds a quarter of a megabyte to the library. Only laws that are often or heavily simulated have an engine.
    pub(super) const ENGINES: [Engine; 6] = [
        only::<JetMax>(),
        only::<Emkc>(),
        only::<Rcp>(),
        only::<NewReno>(),
        only::<Cubic>(),
        only::<Dctcp>(),
    ];

    const fn only<L: ListedLaw + Clone + Debug + 'static>() -> Engine
    where
        Sim<L>: Debug + Send + Sync,
        HeaderOf<L>: Send,
    {
        (Network::has_only::<L>, |network, threads| {
            Box::new(ParallelRun::new(network.of_only::<L>(), threads))
        })
    }
}
