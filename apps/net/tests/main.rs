//! Tests of `levelflow-net` commands, run as a user runs them.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

mod abs;
mod abs_line;
mod abs_memory;
mod abs_targets;
mod abs_traffic;
mod abs_undo;
mod completion;
mod guide;
mod hostile_input;
mod hostile_path;
mod journal;
mod link;
mod load;
mod marks;
mod privileges;
mod probe;
mod router_command;
mod router_device;
mod testbed;
