//! Network with one law, for an engine that is compiled for this law only.

use levelflow_laws::{Any, AnyParams, Registered};

use crate::network::{FlowSpec, LinkSpec, Network};

impl Network<Any> {
    /// Returns true if all flows and routers are of this law.
    #[must_use]
    pub fn has_only<L: Registered>(&self) -> bool {
        let routers = self.links.iter().flat_map(|link| &link.routers);
        let mut params = routers.chain(self.flows.iter().map(|flow| &flow.params));
        params.all(|params| L::own(params).is_some())
    }

    /// Converts the network to the types of its only law.
    ///
    /// # Panics
    /// When a flow or router has another law.
    #[must_use]
    pub fn of_only<L: Registered>(self) -> Network<L> {
        Network {
            duration: self.duration,
            sample: self.sample,
            seed: self.seed,
            memory_limit: self.memory_limit,
            links: self.links.into_iter().map(link).collect(),
            flows: self.flows.into_iter().map(flow).collect(),
            memories: self.memories,
        }
    }
}

fn own<L: Registered>(params: &AnyParams) -> L::Params {
    L::own(params).expect("parameters of the only law").clone()
}

fn link<L: Registered>(any: LinkSpec<Any>) -> LinkSpec<L> {
    LinkSpec {
        name: any.name,
        capacity: any.capacity,
        slow: any.slow,
        wire: any.wire,
        buffer: any.buffer,
        algorithm: any.algorithm,
        changes: any.changes,
        measured: any.measured,
        queue: any.queue,
        routers: any.routers.iter().map(own::<L>).collect(),
    }
}

fn flow<L: Registered>(any: FlowSpec<Any>) -> FlowSpec<L> {
    FlowSpec {
        name: any.name,
        params: own::<L>(&any.params),
        routes: any.routes,
        ends: any.ends,
        rtt: any.rtt,
        start: any.start,
        stop: any.stop,
        last_arrival: any.last_arrival,
        lifetime: any.lifetime,
        size: any.size,
        size_unit: any.size_unit,
        reliable: any.reliable,
        arrivals: any.arrivals,
        session: any.session,
        application: any.application,
        packet: any.packet,
        control: any.control,
        overhead: any.overhead,
        slow: any.slow,
        ack_delay: any.ack_delay,
    }
}
