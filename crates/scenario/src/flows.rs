//! Reads flow entries: converts the structure that users write to the specification that the simulator runs.

use levelflow_laws::{Any, AnyParams, Protocol};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::framing::Framing;

use crate::application::ApplicationSpec;
use crate::choice::LawTables;
use crate::context::{LARGEST_PACKET, propagation};
use crate::encapsulation::Encapsulation;
use crate::error::{Fallible, Place, Problem, ScenarioError};
use crate::format::{ApplicationChoice, ArrivalProcess, Flow, OnOff, OwnLaws, Responses};
use crate::laws::{all_laws, law_named, read_params, read_table};
use crate::lie::LieSpec;
use crate::network::{AckDelaySpec, FlowSpec, LinkSpec, RouteSpec, Routes, SessionSpec, check_rate};
use crate::profile::Profile;
use crate::quantity::{Base, Count, Share, Size, Varying};
use crate::traffic::{Arrivals, Dist};

/// Limit on the keys `count` and `batch`: the flows of an entry, and the flows of one batch.
const MOST_FLOWS: u64 = 10_000_000;
/// Limit on the objects of a page and on the pages of a session. All objects of a page start at once.
const MOST_OBJECTS: f64 = 1e5;
/// Limit on the number of `on` periods that an application needs to send one packet.
const MOST_PERIODS: f64 = 1e6;
/// Highest allowed arrival rate, per second. The time between two arrivals is then 1000 clock units of 1 ps.
const FASTEST_ARRIVALS: f64 = 1e9;

/// Reader of one flow entry.
pub struct FlowReader<'a> {
    pub place: &'a Place,
    pub flow: &'a Flow,
    pub links: &'a [LinkSpec<Any>],
    pub routes: Fallible<Routes>,
    /// Function that returns the numbers of the first and last node of routes.
    pub nodes: &'a dyn Fn(&Routes) -> [u32; 2],
    /// Processing time per packet in the scenario. `None` for the default.
    pub overhead: Option<Duration>,
    pub own_laws: &'a OwnLaws,
    pub profile: Profile,
    pub encapsulation: Encapsulation,
}

impl FlowReader<'_> {
    fn error(&self, key: &str, problem: Problem) -> ScenarioError {
        self.place.key(key).error(problem)
    }

    fn conflict(&self, key: &str, problem: impl Into<String>) -> ScenarioError {
        self.error(key, Problem::Conflict(problem.into()))
    }

    fn value(&self, key: &str, problem: impl Into<String>) -> ScenarioError {
        self.error(key, Problem::Value(problem.into()))
    }

    fn dist<T: Base>(&self, key: &str, value: Option<&Varying<T>>) -> Fallible<Option<Dist>> {
        let read = value.map(|v| v.dist(self.payload())).transpose();
        read.map_err(|problem| self.value(key, problem))
    }

    /// Returns the payload of a full packet.
    fn payload(&self) -> Bytes {
        self.framing().payload()
    }

    /// Returns the packet sizes of the flow. Headers of an unknown law have no size.
    fn framing(&self) -> Framing {
        let choice = self.flow.law.single();
        let law = choice.and_then(|(name, _)| all_laws(self.own_laws).find(|law| law.name == name));
        Framing {
            packet: self.flow.packet,
            headers: law.map_or(Bytes::ZERO, |law| self.encapsulation.headers(law)),
        }
    }

    pub fn read(&self, defaults: &LawTables) -> Fallible<FlowSpec<Any>> {
        let flow = self.flow;
        // The reader of scenario files has already replaced an entry that names a file by the transfers in this file.
        if flow.transfers.is_some() {
            return Err(self.conflict(
                "transfers",
                "files are not read here; write the transfers as flow entries",
            ));
        }
        self.check_packets()?;
        let routes = self.routes.clone()?;
        let route = routes.first();
        let size = self.sizes()?;
        if size.as_ref().is_some_and(|s| s.constant() == Some(0.0)) {
            return Err(self.value("size", "must be above 0"));
        }
        let params = self.params(defaults)?;
        let smallest_ack = self.encapsulation.smallest_ack(params.law());
        if flow.reliable == Some(false) && Any::transport(&params).tracks_losses {
            let problem = format!("{} always retransmits lost data", params.law().name);
            return Err(self.conflict("reliable", problem));
        }
        let session = self.session(size.is_some())?;
        let arrivals = self.arrivals(route, size.as_ref(), session.as_ref())?;
        let application = self.application()?;
        let responds = matches!(application, Some(ApplicationSpec::Responses { .. }));
        let reliable = self.reliable(&params, size.is_some(), responds)?;
        let lie = self.lie(&params, route)?;
        Ok(FlowSpec {
            name: flow.name.clone(),
            overhead: self.overhead.unwrap_or_else(|| self.usual_overhead(route)),
            slow: 0.0,
            params,
            rtt: self.rtt(&routes)?,
            ends: (self.nodes)(&routes),
            routes,
            start: self.dist("start", flow.start.as_ref())?.unwrap_or(Dist::Constant(0.0)),
            stop: self.stop()?,
            last_arrival: self.last_arrival()?,
            lifetime: self.dist("lifetime", flow.lifetime.as_ref())?,
            size,
            size_unit: self.size_unit(),
            reliable,
            arrivals,
            session,
            application,
            packet: flow.packet,
            headers: self.framing().headers,
            control: flow.ack.max(smallest_ack),
            ack_delay: self.ack_delay()?,
            lie,
        })
    }

    fn check_packets(&self) -> Fallible<()> {
        let least = self.framing().headers.get() + 1;
        for (key, size, least) in [("packet", self.flow.packet, least), ("ack", self.flow.ack, 1)] {
            if !(least..=LARGEST_PACKET).contains(&size.get()) {
                return Err(self.error(key, Problem::range(size, format!("{least} B to {LARGEST_PACKET} B"))));
            }
        }
        Ok(())
    }

    /// Returns true if the flow retransmits lost data until all data is delivered.
    fn reliable(&self, params: &AnyParams, finite: bool, responds: bool) -> Fallible<bool> {
        let (asked, law) = (self.flow.reliable, params.law().name);
        if responds && asked == Some(false) {
            return Err(self.conflict("reliable", "must be true with responses, which are delivered in full"));
        }
        let acknowledged = Any::transport(params).acknowledged;
        if !acknowledged && responds {
            let problem =
                format!("responses are delivered in full, and {law} has no ACKs; allowed: {law} = {{ acks = true }}");
            return Err(self.conflict("application", problem));
        }
        if !acknowledged && asked == Some(true) {
            let problem =
                format!("{law} has no ACKs, so lost data cannot be retransmitted; allowed: {law} = {{ acks = true }}");
            return Err(self.conflict("reliable", problem));
        }
        let reliable = asked.unwrap_or(acknowledged && (finite || responds));
        if reliable && !finite && !responds {
            let problem = "needs a size: only a finite transfer can be delivered in full";
            return Err(self.conflict("reliable", problem));
        }
        Ok(reliable)
    }

    fn params(&self, defaults: &LawTables) -> Fallible<AnyParams> {
        let place = self.place.key("law");
        let Some((name, own)) = self.flow.law.single() else {
            return Err(self.value("law", "needs exactly one law"));
        };
        let info = law_named(self.own_laws, &place, name)?;
        if let Some(own) = own {
            // This rejects parameters of routers, which have no effect on a flow.
            read_table(self.profile, &place.key(name), info.params, &[own])?;
        }
        let layers: Vec<_> = [defaults.get(name), own].into_iter().flatten().collect();
        read_params(self.own_laws, self.profile, self.encapsulation, &place, name, &layers)
    }

    /// Returns the default of `overhead`, the bound of a random delay per packet: the transmission time of one packet
    /// at the bottleneck. Without this delay, ACK-clocked senders and constant-rate streams of equal rate would
    /// synchronise. Source: Floyd, Jacobson 1992, On Traffic Phase Effects in Packet-Switched Gateways; `overhead_` of
    /// ns-2.
    fn usual_overhead(&self, route: &RouteSpec) -> Duration {
        if self.profile == Profile::Paper {
            return Duration::ZERO;
        }
        let transmissions = route
            .forward
            .iter()
            .map(|&l| &self.links[l as usize])
            .map(|link| link.service_rate(link.capacity).time_to_send(self.flow.packet));
        transmissions.flatten().max().unwrap_or(Duration::ZERO)
    }

    fn rtt(&self, routes: &Routes) -> Fallible<Option<Dist>> {
        let Some(rtt) = self.dist("rtt", self.flow.rtt.as_ref())? else {
            return Ok(None);
        };
        let on_links = routes.at_first().filter_map(|path| propagation(path, self.links));
        let on_links = on_links.max().unwrap_or(Duration::ZERO);
        if rtt.min() < on_links.as_secs_f64() * (1.0 - 1e-12) {
            let problem = format!("must be at least {on_links}, the round-trip propagation delay of its links");
            return Err(self.conflict("rtt", problem));
        }
        Ok(Some(rtt))
    }

    fn stop(&self) -> Fallible<Option<Time>> {
        self.after_start("stop", self.flow.stop)
    }

    fn last_arrival(&self) -> Fallible<Option<Time>> {
        if self.flow.last_arrival.is_some() && self.flow.arrivals.is_none() {
            return Err(self.conflict("last_arrival", "needs arrivals"));
        }
        self.after_start("last_arrival", self.flow.last_arrival)
    }

    fn after_start(&self, key: &str, at: Option<Duration>) -> Fallible<Option<Time>> {
        let Some(at) = at else { return Ok(None) };
        let start = self.dist("start", self.flow.start.as_ref())?.map_or(0.0, |d| d.min());
        if at.as_secs_f64() <= start {
            return Err(self.conflict(key, "must be after start"));
        }
        Ok(Some(Time::ZERO + at))
    }

    /// Returns the sizes of transfers. `None` if flows are unlimited.
    fn sizes(&self) -> Fallible<Option<Dist>> {
        let Some(ArrivalProcess::Transfers(all)) = &self.flow.arrivals else {
            return self.dist("size", self.flow.size.as_ref());
        };
        if self.flow.size.is_some() {
            return Err(self.conflict(
                "size",
                "cannot go with arrivals = { transfers = [...] }, which have sizes",
            ));
        }
        let sizes: Vec<f64> = all.iter().map(|(_, size)| size.base(self.payload())).collect();
        if sizes.is_empty() || sizes.contains(&0.0) {
            return Err(self.value("arrivals", "transfers must not be empty, and each size must be above 0"));
        }
        Ok(Some(Dist::List(sizes)))
    }

    /// Returns the unit to which sizes are rounded up. The unit is a packet for sizes in packets, and a byte otherwise.
    fn size_unit(&self) -> Bytes {
        let in_packets = |size: &Varying<Size>| size.any(|v| matches!(v, Size::Packets(_)));
        match &self.flow.size {
            Some(size) if in_packets(size) => self.payload(),
            _ => Bytes::new(1),
        }
    }

    fn session(&self, has_size: bool) -> Fallible<Option<SessionSpec>> {
        let Some(session) = &self.flow.session else {
            return Ok(None);
        };
        let Flow { lifetime, arrivals, .. } = self.flow;
        if !has_size || lifetime.is_some() || arrivals.is_none() {
            let rule = "needs arrivals and size (the size of an object), and cannot go with lifetime";
            return Err(self.conflict("session", rule));
        }
        let wrong = |problem| self.value("session", problem);
        let count = |what: &str, value: &Varying<Count>| {
            let dist = value.dist(self.payload()).map_err(wrong)?;
            let largest = if dist.max().is_finite() {
                dist.max()
            } else {
                dist.mean_rounded_up(1.0)
            };
            if !(1.0..=MOST_OBJECTS).contains(&largest) {
                let problem = format!("{what} of {largest} are out of range; allowed: 1 to {MOST_OBJECTS}");
                return Err(wrong(problem));
            }
            Ok(dist)
        };
        Ok(Some(SessionSpec {
            pages: count("pages", &session.pages)?,
            objects: count("objects", &session.objects)?,
            think: session.think.dist(self.payload()).map_err(wrong)?,
        }))
    }

    fn application(&self) -> Fallible<Option<ApplicationSpec>> {
        let wrong = |problem: String| self.value("application", problem);
        let check = |rate: Rate| check_rate(rate).map_err(|problem| self.error("application", problem));
        let Some(application) = &self.flow.application else {
            return Ok(None);
        };
        if self.flow.session.is_some() {
            return Err(self.conflict(
                "application",
                "cannot go with session, which defines the traffic itself",
            ));
        }
        Ok(Some(match application {
            &ApplicationChoice::Rate(rate) => {
                check(rate)?;
                ApplicationSpec::OnOff { rate, periods: None }
            }
            &ApplicationChoice::OnOff(OnOff { rate, ref on, ref off }) => {
                check(rate)?;
                let [on, off] = [on, off].map(|time| time.dist(self.payload()).map_err(wrong));
                let (on, off) = (on?, off?);
                let packet = rate
                    .time_to_send(self.payload())
                    .map_or(f64::INFINITY, Duration::as_secs_f64);
                if on.max() * MOST_PERIODS < packet {
                    return Err(wrong(format!(
                        "on must be at least a millionth of the transmission time of a packet, {packet} s"
                    )));
                }
                ApplicationSpec::OnOff {
                    rate,
                    periods: Some(Box::new([on, off])),
                }
            }
            ApplicationChoice::Responses(Responses { size, think }) => ApplicationSpec::Responses {
                size: size.dist(self.payload()).map_err(wrong)?,
                think: think.dist(self.payload()).map_err(wrong)?,
            },
        }))
    }

    /// Returns the arrival rate, per second, for an offered load. The load is a fraction of the service rate of the
    /// slowest link on the path.
    fn arrivals_for(
        &self,
        Share(load): Share,
        route: &RouteSpec,
        size: Option<&Dist>,
        session: Option<&SessionSpec>,
    ) -> Fallible<f64> {
        if !(load > 0.0 && load <= 10.0) {
            let problem = Problem::range(format!("load {load}"), "above 0 to 10, or \"1000 %\"");
            return Err(self.error("arrivals", problem));
        }
        let size = size.ok_or_else(|| self.conflict("arrivals", "load needs a size"))?;
        let objects = session.map_or(1.0, |s| s.pages.mean_rounded_up(1.0) * s.objects.mean_rounded_up(1.0));
        let links = route.forward.iter().map(|&l| &self.links[l as usize]);
        let rates = links.map(|link| link.service_rate(link.capacity).bps());
        let mean = size.mean_on_the_wire(self.size_unit(), &self.framing());
        Ok(load * rates.fold(f64::INFINITY, f64::min) / (8.0 * mean * objects))
    }

    fn arrivals(&self, route: &RouteSpec, size: Option<&Dist>, session: Option<&SessionSpec>) -> Fallible<Arrivals> {
        let Flow {
            arrivals, count, limit, ..
        } = self.flow;
        if *limit == Some(0) {
            return Err(self.value("limit", "must be at least 1"));
        }
        if limit.is_some() && !matches!(arrivals, Some(a) if !matches!(a, ArrivalProcess::Times(_))) {
            return Err(self.conflict("limit", "needs arrivals: poisson, load, interval or batches"));
        }
        let Some(arrivals) = arrivals else {
            let count = count.unwrap_or(1);
            Problem::check(&count, &(1..=MOST_FLOWS)).map_err(|problem| self.error("count", problem))?;
            return Ok(Arrivals::Once { count: count as u32 });
        };
        if count.is_some() {
            return Err(self.conflict(
                "count",
                "cannot go with arrivals; use batches for several flows at a time",
            ));
        }
        let process = |at_start, interval: Dist, batch: u64| {
            if interval.max() <= 0.0 {
                return Err(self.value("arrivals", "the interval must be above 0"));
            }
            if !(1..=MOST_FLOWS).contains(&batch) {
                let problem = Problem::range(format!("batch {batch}"), format!("1 to {MOST_FLOWS}"));
                return Err(self.error("arrivals", problem));
            }
            Ok(Arrivals::Process {
                at_start,
                interval,
                batch: batch as u32,
                limit: *limit,
            })
        };
        let interval = |value: &Varying<Duration>| {
            value
                .dist(self.payload())
                .map_err(|problem| self.value("arrivals", problem))
        };
        let poisson = |rate: f64| {
            if rate > FASTEST_ARRIVALS {
                let problem = Problem::range(format!("{rate} /s"), format!("up to {FASTEST_ARRIVALS} /s"));
                return Err(self.error("arrivals", problem));
            }
            process(false, Dist::Exponential { mean: 1.0 / rate }, 1)
        };
        match arrivals {
            ArrivalProcess::Poisson(rate) => poisson(rate.per_second()),
            ArrivalProcess::Load(load) => poisson(self.arrivals_for(*load, route, size, session)?),
            ArrivalProcess::Interval(value) => process(true, interval(value)?, 1),
            ArrivalProcess::Batches { batch, interval: value } => process(true, interval(value)?, *batch),
            ArrivalProcess::Times(times) => Ok(Arrivals::Times(times.iter().map(|t| t.as_secs_f64()).collect())),
            ArrivalProcess::Transfers(_) if session.is_some() => {
                Err(self.conflict("arrivals", "transfers cannot go with session"))
            }
            ArrivalProcess::Transfers(all) => Ok(Arrivals::Transfers(self.listed(all))),
        }
    }

    fn listed(&self, transfers: &[(Duration, Size)]) -> Vec<(f64, f64)> {
        let read = |(at, size): &(Duration, Size)| (at.as_secs_f64(), size.base(self.payload()));
        transfers.iter().map(read).collect()
    }

    fn ack_delay(&self) -> Fallible<Option<AckDelaySpec>> {
        let withheld = self.flow.lie.as_ref().and_then(|lie| lie.withheld);
        let withheld = withheld.map_or(0.0, |Share(withheld)| withheld);
        let dist = |problem| self.value("ack_delay", problem);
        let delay = match &self.flow.ack_delay {
            Some(delay) => AckDelaySpec {
                every: delay.every.dist(self.payload()).map_err(dist)?,
                hold: delay.hold.dist(self.payload()).map_err(dist)?,
                spacing: delay.spacing,
                withheld,
            },
            None if withheld > 0.0 => AckDelaySpec {
                withheld,
                ..AckDelaySpec::NONE
            },
            None => return Ok(None),
        };
        Ok(Some(delay))
    }

    fn lie(&self, params: &AnyParams, route: &RouteSpec) -> Fallible<Option<LieSpec>> {
        let Some(lie) = &self.flow.lie else {
            return Ok(None);
        };
        let place = self.place.key("lie");
        let (law, transport) = (params.law(), Any::transport(params));
        if let Some(Share(withheld)) = lie.withheld {
            Problem::check(&withheld, &(0.0..=1.0)).map_err(|problem| place.key("withheld").error(problem))?;
            if !transport.acknowledged {
                let problem = format!("{} has no ACKs to withhold", law.name);
                return Err(place.key("withheld").error(Problem::Conflict(problem)));
            }
        }
        if lie.unmarked && !transport.ecn {
            let problem = format!("{} does not react to marks", law.name);
            return Err(place.key("unmarked").error(Problem::Conflict(problem)));
        }
        let first = &self.links[route.forward[0] as usize];
        lie.read(&place, law, first.largest_capacity()).map(Some)
    }
}
