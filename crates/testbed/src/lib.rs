//! Networks on one machine: namespaces, the links between them, and the programs in the namespaces.
//!
//! [`choose`] reads a scenario. [`plan`] plans its namespaces and links. [`run`] builds them and runs the scenario in
//! real time. The result files are the same as in the simulator. A *flow entry* is one `[[flow]]` table of the
//! scenario, which describes one or more flows.

mod choose;
mod collect;
pub mod frame;
mod lab;
mod links;
mod meter;
mod netns;
mod plan;
mod receivers;
mod run;
mod schedule;
mod senders;
mod streams;
mod token_buckets;
mod veth;

pub use choose::{Chosen, choose};
pub use lab::Lab;
pub use netns::Namespace;
pub use plan::{DirectionPlan, FlowPlan, Form, Hop, NamespacePlan, Plan, Setup, VethPair, laws, plan};
pub use run::{Outcome, run};
pub use veth::{End, veth};
