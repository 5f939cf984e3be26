//! Network with one law. Such a network may run on an engine that is compiled only for this law.

use levelflow_laws::{Any, ListedLaw, ListedSignalling, Protocol};

use crate::network::{FlowSpec, LinkSpec, Network};

impl Network<Any> {
    /// Returns true if all flows have this law, and all routers have its signalling.
    #[must_use]
    pub fn has_only<L: ListedLaw>(&self) -> bool {
        let mut routers = self.links.iter().flat_map(|link| &link.routers);
        routers.all(|params| <L as Protocol>::Signalling::own(params).is_some())
            && self.flows.iter().all(|flow| L::own(&flow.params).is_some())
    }

    /// Converts the network to the types of its only law.
    ///
    /// # Panics
    /// Panics if a flow or router has another law.
    #[must_use]
    pub fn of_only<L: ListedLaw>(self) -> Network<L> {
        Network {
            duration: self.duration,
            sample: self.sample,
            seed: self.seed,
            memory_limit: self.memory_limit,
            event_limit: self.event_limit,
            links: self.links.into_iter().map(link).collect(),
            flows: self.flows.into_iter().map(flow).collect(),
            memories: self.memories,
        }
    }
}

fn link<L: ListedLaw>(any: LinkSpec<Any>) -> LinkSpec<L> {
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
        routers: {
            let own = |params| {
                <L as Protocol>::Signalling::own(params)
                    .expect("every router has the signalling of the only law")
                    .clone()
            };
            any.routers.iter().map(own).collect()
        },
    }
}

fn flow<L: ListedLaw>(any: FlowSpec<Any>) -> FlowSpec<L> {
    FlowSpec {
        name: any.name,
        params: L::own(&any.params).expect("every flow has the only law").clone(),
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
        headers: any.headers,
        control: any.control,
        overhead: any.overhead,
        slow: any.slow,
        ack_delay: any.ack_delay,
    }
}
