//! Network with one law. Such a network may run on an engine that is compiled only for this law.

use levelflow_laws::{Any, ListedLaw, ListedSignalling, Protocol, RouterParamsOf};

use crate::lie::LieSpec;
use crate::network::{FlowSpec, LinkSpec, Network};

impl Network<Any> {
    /// Returns true if all flows have this law, all routers have its signalling, and no host lies.
    #[must_use]
    pub fn has_only<L: ListedLaw>(&self) -> bool {
        let mut routers = self.links.iter().flat_map(|link| &link.routers);
        routers.all(|params| <L as Protocol>::Signalling::own(params).is_some())
            && self
                .flows
                .iter()
                .all(|flow| L::own(&flow.params).is_some() && flow.lie.is_none())
    }

    /// Converts the network to the types of its only law.
    ///
    /// # Panics
    /// Panics if a flow or router has another law.
    #[must_use]
    pub fn of_only<L: ListedLaw>(self) -> Network<L> {
        let router = |params: &RouterParamsOf<Any>| {
            <L as Protocol>::Signalling::own(params)
                .expect("every router has the signalling of the only law")
                .clone()
        };
        self.map(router, |params, _| {
            L::own(params).expect("every flow has the only law").clone()
        })
    }

    /// Converts the network to the types of another protocol. `router` converts the parameters of routers. `sender`
    /// converts the parameters of senders and the lies of their hosts.
    pub(crate) fn map<P: Protocol>(
        self,
        router: impl Fn(&RouterParamsOf<Any>) -> RouterParamsOf<P>,
        sender: impl Fn(&<Any as Protocol>::Params, Option<&LieSpec>) -> P::Params,
    ) -> Network<P> {
        Network {
            duration: self.duration,
            sample: self.sample,
            seed: self.seed,
            memory_limit: self.memory_limit,
            event_limit: self.event_limit,
            links: self.links.into_iter().map(|any| link(any, &router)).collect(),
            flows: self.flows.into_iter().map(|any| flow(any, &sender)).collect(),
            memories: self.memories,
        }
    }
}

fn link<P: Protocol>(any: LinkSpec<Any>, router: impl Fn(&RouterParamsOf<Any>) -> RouterParamsOf<P>) -> LinkSpec<P> {
    LinkSpec {
        name: any.name,
        capacity: any.capacity,
        slow: any.slow,
        wire: any.wire,
        buffer: any.buffer,
        algorithm: any.algorithm,
        changes: any.changes,
        measured: any.measured,
        police: any.police,
        queue: any.queue,
        routers: any.routers.iter().map(router).collect(),
    }
}

fn flow<P: Protocol>(
    any: FlowSpec<Any>,
    sender: impl Fn(&<Any as Protocol>::Params, Option<&LieSpec>) -> P::Params,
) -> FlowSpec<P> {
    FlowSpec {
        name: any.name,
        params: sender(&any.params, any.lie.as_ref()),
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
        lie: any.lie,
    }
}
