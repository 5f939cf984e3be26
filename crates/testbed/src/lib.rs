//! Networks on one machine: namespaces, the links between them, and the programs inside.
//!
//! [`choose`] reads a scenario, [`plan`] plans its namespaces and links, and [`run`] builds them. The scenario then
//! runs in real time, with the same result files as in the simulator.

mod choose;
mod collect;
mod frame;
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
