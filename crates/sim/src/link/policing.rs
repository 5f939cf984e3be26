//! Policers of the routers of a link.

use levelflow_laws::police::{Police, Verdict};
use levelflow_laws::{HeaderOf, Protocol, RouterLaw, RouterOf};
use levelflow_random::Stream;
use levelflow_results::PoliceSummary;
use levelflow_scenario::LinkSpec;
use levelflow_units::{Bytes, Rate, Time};

use super::Link;
use crate::id::PacketId;
use crate::packet::Slab;

impl<P: Protocol> Link<P> {
    /// Returns the policer of each router, if the routers police headers.
    pub(super) fn policers(spec: &LinkSpec<P>, seed: u64) -> Vec<Police> {
        let mut stream = Stream::new(seed, "police", &spec.name);
        let routers = spec.routers.iter().filter(|_| spec.police);
        routers
            .map(|_| Police::new(stream.bits(), spec.capacity.bps()))
            .collect()
    }

    /// Corrects the header of an arriving data packet. Returns true if the policer drops the packet. The routers do not
    /// count a dropped packet.
    #[cold]
    #[inline(never)]
    pub(super) fn refuses(&mut self, now: Time, id: PacketId, packets: &mut Slab<HeaderOf<P>>) -> bool {
        self.catch_up(now, packets);
        let flow = packets.class(id).flow;
        let packet = &mut packets[id];
        if packet.label.is_ack() {
            return false;
        }
        let size = Bytes::new(packet.size.into());
        for (port, police) in self.ports.iter().zip(&mut self.police) {
            let Some(gap) = RouterOf::<P>::claimed(&port.params, &packet.header) else {
                continue;
            };
            match police.on_arrival(now, flow.into(), size, port.law.permitted(), gap) {
                Verdict::Pass(limits) => port.law.correct(&port.params, size, &limits, &mut packet.header),
                Verdict::Drop => {
                    self.counters.arrived(size.get(), self.backlog);
                    self.window.dropped += 1;
                    self.window.dropped_bytes += size.get();
                    self.counters.dropped(size.get());
                    return true;
                }
            }
        }
        false
    }

    /// Notifies the policers of a new capacity.
    pub(super) fn notify_police(&mut self, capacity: Rate) {
        for police in &mut self.police {
            police.on_capacity(capacity.bps());
        }
    }

    /// Returns the counters of the policers; `None` without policers.
    pub fn police_summary(&self) -> Option<PoliceSummary> {
        let debts = self.police.iter().map(Police::largest_debt);
        (!self.police.is_empty()).then(|| PoliceSummary {
            convictions: self.police.iter().map(Police::convictions).sum(),
            largest_debt: debts.fold(0.0, f64::max),
        })
    }
}
