//! Signalling: the header and the feedback algorithms that hosts and routers agree on.

use core::fmt::Debug;

use super::router::{NoRouter, RouterLaw};
use crate::header::{Header, Layout, NoHeader};
use crate::law::{Arrived, Signal};
use crate::params::{ParamSpec, Parameters};

/// Feedback to senders: a packet header, the router algorithm that changes the header, and the receiver algorithm that
/// returns the header. A port runs one router per signalling. This router processes the packets of all laws with that
/// signalling.
pub trait Signalling: Debug + 'static {
    /// Parameters of routers, validated on construction.
    type Params: Clone + Debug + PartialEq;
    /// Header of a packet.
    type Header: Copy + Debug + PartialEq;
    /// Router algorithm, one instance per output port; [`NoRouter`] if routers send no feedback.
    type Router: RouterLaw<Params = Self::Params, Header = Self::Header>;
    /// Per-flow state of a receiver; `()` for none.
    type Receiver: Clone + Debug + Default + PartialEq;

    /// Returns the header of the ACK for a received packet. By default, the ACK echoes the packet's header.
    #[inline]
    fn reflect(_receiver: &mut Self::Receiver, _arrived: &Arrived, header: &Self::Header) -> Self::Header {
        *header
    }
    /// Applies [`reflect`](Self::reflect) in place, for the simulator. Only [`AnySignalling`](crate::AnySignalling)
    /// overrides this method; signallings implement `reflect` instead.
    #[inline]
    fn reflect_in_place(receiver: &mut Self::Receiver, arrived: &Arrived, header: &mut Self::Header) {
        *header = Self::reflect(receiver, arrived, header);
    }
}

/// Signalling with a name, a parameter table and a wire format.
pub trait WireSignalling: Signalling<Header: Header, Params: Parameters> {
    /// Name, number, layout and parameter table.
    const INFO: SignallingInfo;
}

/// Static description of a signalling.
#[derive(Debug, Clone, Copy)]
pub struct SignallingInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// Unique number on the wire; 0 if routers send no feedback.
    pub number: u8,
    /// Type of the feedback that routers write into headers and return from [`RouterLaw::signal`].
    pub signal: Signal,
    /// Layout of the header.
    pub header: Layout,
    /// Cost of a router per packet, in arithmetic operations.
    pub cost: &'static str,
    /// Router properties that data planes and tools need.
    pub routers: RouterInfo,
    /// Parameter table of routers.
    pub params: &'static [ParamSpec],
}

impl SignallingInfo {
    /// Returns true if routers send feedback.
    #[must_use]
    pub const fn is_explicit(&self) -> bool {
        self.number != 0
    }

    /// Returns the header length on the wire, in bytes.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        self.header.bytes()
    }
}

/// Router properties that data planes and tools need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterInfo {
    /// Counters that a router in the kernel uses (see [`Offload`](crate::offload::Offload)). `None` if the kernel
    /// cannot run the per-packet code of these routers.
    pub kernel: Option<Counting>,
    /// Parameter that sets the control interval of routers; `None` if routers choose it.
    pub interval: Option<&'static str>,
    /// Parameter that sets the target load as a fraction of the capacity; `None` if the target is the full capacity.
    pub utilisation: Option<&'static str>,
}

/// Counters of a data path outside Rust, such as a program in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// One set of integer counters per CPU. Their sum does not depend on the packet order.
    PerProcessor,
    /// One shared state under a lock, because sums of floats depend on the packet order.
    Locked,
}

/// Signalling of laws that need no router: it has no header and no feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSignals;

impl Signalling for NoSignals {
    type Params = ();
    type Header = NoHeader;
    type Router = NoRouter;
    type Receiver = ();
}

impl WireSignalling for NoSignals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "none",
        number: 0,
        signal: Signal::Nothing,
        header: Layout::NONE,
        cost: "none",
        routers: RouterInfo {
            kernel: None,
            interval: None,
            utilisation: None,
        },
        params: &[],
    };
}
