//! Queueing delays of service classes: the two queues of DualPI2, or the flow queues of each flow entry.

use levelflow_laws::{HeaderOf, Protocol};
use levelflow_path::scheduler::{Classes, Queued};
use levelflow_results::{ClassSummary, Delays};

use super::Link;
use super::served::Served;
use crate::id::PacketId;
use crate::packet::Slab;

impl Served {
    /// Records the queueing delay of the packet in service for its service class.
    pub(super) fn count_class(&mut self) {
        let Some(class) = self.class else { return };
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Delays::default);
        }
        self.classes[class].record(self.delay.as_ps());
    }
}

impl<P: Protocol> Link<P> {
    /// Records the service class of a packet that the scheduler puts into service.
    pub(super) fn classify(&mut self, queued: &Queued<PacketId>, packets: &Slab<HeaderOf<P>>) {
        let Some(served) = self.served.as_deref_mut() else {
            return;
        };
        served.class = match served.scheduler.as_ref().map(|scheduler| scheduler.classes()) {
            Some(Classes::Latency) => Some(queued.class.ecn.latency_class()),
            Some(Classes::Flows) => Some(packets.entry_class(queued.packet)),
            Some(Classes::One) | None => None,
        };
    }

    /// Returns the queueing delays of the classes that had packets. `entry` returns the name of a flow entry.
    pub fn classes<'a>(&self, entry: impl Fn(usize) -> &'a str) -> Vec<ClassSummary> {
        let Some(served) = &self.served else { return Vec::new() };
        let division = served
            .scheduler
            .as_ref()
            .map_or(Classes::One, |scheduler| scheduler.classes());
        let classes = served.classes.iter().enumerate();
        let classes = classes.map(|(index, delays)| ClassSummary {
            name: division.name(index, &entry),
            queueing_delay_s: delays.quantiles(),
        });
        classes.filter(|class| class.queueing_delay_s.is_some()).collect()
    }

    /// Returns the memory used for the delays of service classes, bytes.
    pub(super) fn classes_memory(&self) -> usize {
        let classes = self.served.iter().flat_map(|served| &served.classes);
        classes.map(|delays| size_of::<Delays>() + delays.memory()).sum()
    }
}
