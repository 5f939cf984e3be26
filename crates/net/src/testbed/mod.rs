//! Whole networks on one machine: namespaces, links between them, what runs inside.

mod choose;
mod netns;
mod parquet;
mod plan;
mod results;
mod veth;

pub use choose::{Chosen, choose};
pub use netns::Namespace;
pub use plan::{Cable, FlowPlan, Hop, Place, Plan, Way, plan};
pub use results::Recording;
pub use veth::{End, Queue, veth};
