//! Memories shared by buffers. A memory is divided again after each decision of a buffer-sizing algorithm.

use levelflow_laws::Protocol;
use levelflow_laws::buffers::memory::{Share, divide};

use super::Sim;
use crate::id::{IdVec, LinkId};
use levelflow_scenario::MemorySpec;

/// Returns the index of each link's shared memory.
pub(super) fn of_links(memories: &[MemorySpec], links: usize) -> IdVec<LinkId, Option<usize>> {
    let mut of = IdVec::from(vec![None; links]);
    for (m, memory) in memories.iter().enumerate() {
        memory.links.iter().for_each(|&(link, _)| of[LinkId(link)] = Some(m));
    }
    of
}

impl<P: Protocol> Sim<P> {
    /// Divides a memory among the buffers of its links, as requested by their buffer-sizing algorithms.
    pub(super) fn share_memory(&mut self, m: usize) {
        (0..self.memories[m].links.len()).for_each(|k| self.admit_pending(LinkId(self.memories[m].links[k].0)));
        let memory = &self.memories[m];
        let mut shares = Vec::with_capacity(memory.links.len());
        for &(i, unit) in &memory.links {
            let link = &mut self.links[LinkId(i)];
            link.catch_up(self.now, &mut self.packets);
            shares.push(Share {
                weight: self.specs[LinkId(i)].capacity.bps(),
                least: unit,
                wanted: unit * link.wanted_packets().unwrap_or(1.0),
                held: unit * link.queue_packets() as f64,
                // The value 0 means that no limit has been set yet.
                limit: unit
                    * if self.processed == 0 {
                        0.0
                    } else {
                        link.buffer_packets()
                    },
            });
        }
        divide(memory.total, &mut shares);
        for (&(i, unit), share) in memory.links.iter().zip(&shares) {
            self.links[LinkId(i)].grant(share.limit / unit);
        }
    }
}
