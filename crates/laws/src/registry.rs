//! Sum type of all laws.

extern crate alloc;
pub use alloc::boxed::Box;

/// Defines a method that forwards to the law of `self`, without parameters of the law.
macro_rules! each {
    ([$($law:ident)+] $self:ident $half:ident: fn $name:ident() -> $result:ty) => {
        #[inline]
        fn $name(&$self) -> $result {
            match $self { $(Self::$law($half) => $half.$name()),+ }
        }
    };
}
pub(crate) use each;

/// Defines a method that forwards to the law of `self` with its parameters, and optionally more arguments.
macro_rules! both {
    ([$($law:ident)+] $self:ident $half:ident $params:ident:
        fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $result:ty) => {
        #[inline]
        fn $name(&$self, params: &AnyParams $(, $arg: $type)*) -> $result {
            both!(@ [$($law)+] $self params $half.$name($params $(, $arg)*))
        }
    };
    ([$($law:ident)+] $self:ident $half:ident $params:ident:
        fn $name:ident(&mut self $(, $arg:ident: $type:ty)*) -> $result:ty) => {
        #[inline]
        fn $name(&mut $self, params: &AnyParams $(, $arg: $type)*) -> $result {
            both!(@ [$($law)+] $self params $half.$name($params $(, $arg)*))
        }
    };
    (@ [$($law:ident)+] $self:ident $all:ident $half:ident.$name:ident($params:ident $(, $arg:ident)*)) => {
        both!(@@ [$($law)+] ($self, $all) ($half, $params) $half.$name($params $(, $arg)*))
    };
    (@@ [$($law:ident)+] ($self:ident, $all:ident) ($half:ident, $params:ident) $call:expr) => {
        match ($self, $all) {
            $((Self::$law($half), AnyParams::$law($params)) => $call,)+
            #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
            _ => unreachable!("{MIXED}"),
        }
    };
}
pub(crate) use both;

/// Expands to the type of a sender in `AnySender`: a box for laws listed as `boxed`.
macro_rules! held {
    ($sender:ty) => { $sender };
    ($sender:ty, boxed) => { crate::registry::Box<$sender> };
}
pub(crate) use held;

/// Generates [`Any`](crate::Any), its parts, the list of laws and the conformance tests of each law, from `folder =>
/// Law` lines. Senders much larger than others are `boxed`, so that flows of other laws do not use the memory of a
/// large sender.
macro_rules! laws {
    ($($module:ident => $law:ident $($boxed:ident)?),+ $(,)?) => {
        use crate::registry::{both, each, held};
        use levelflow_units::{Bytes as B, Duration as D, Rate as R, Time as T};

        /// Sum type of all laws. Any mix of laws can run in one network.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Any;

        /// Parameters of any law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyParams { $($law(<$module::$law as Protocol>::Params)),+ }

        /// Header of any law.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyHeader { $($law(<$module::$law as Protocol>::Header)),+ }

        /// Sender of any law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnySender { $($law(held!(<$module::$law as Protocol>::Sender $(, $boxed)?))),+ }

        /// Router half of any law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyRouter { $($law(<$module::$law as Protocol>::Router)),+ }

        /// Per-flow receiver state of any law. It is empty before the first packet; for most laws, it stays empty.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct AnyReceiver(Option<crate::registry::Box<Remembered>>);

        #[derive(Debug, Clone, PartialEq)]
        enum Remembered { $($law(<$module::$law as Protocol>::Receiver)),+ }

        /// Every law, in the order of registration.
        pub const LAWS: &[LawInfo] = &[$(<$module::$law as Law>::INFO),+];

        /// Returns the laws with a number on the wire, which routers run.
        pub fn on_the_wire() -> impl Iterator<Item = &'static LawInfo> {
            LAWS.iter().filter(|law| law.number > 0)
        }

        /// Builds the parameters of the law called `name` from values in the order of its table.
        ///
        /// # Errors
        /// When values conflict.
        ///
        /// # Panics
        /// When there is no law called `name`.
        pub fn params(name: &str, values: &[f64]) -> Result<AnyParams, ParamError> {
            $(if name == <$module::$law as Law>::INFO.name {
                return <$module::$law as Protocol>::Params::read(values).map(AnyParams::$law);
            })+
            panic!("no law is named {name}")
        }

        impl AnyParams {
            /// Returns the description of the law of these parameters.
            #[must_use]
            pub fn law(&self) -> &'static LawInfo {
                match self { $(Self::$law(_) => const { &<$module::$law as Law>::INFO }),+ }
            }
        }

        /// Law in the list of laws.
        pub trait Registered: Protocol {
            /// Returns the parameters, if they are of this law.
            fn own(params: &AnyParams) -> Option<&Self::Params>;
        }

        $(impl Registered for $module::$law {
            fn own(params: &AnyParams) -> Option<&Self::Params> {
                match params {
                    AnyParams::$law(own) => Some(own),
                    #[allow(unreachable_patterns, reason = "with one law there is no other")]
                    _ => None,
                }
            }
        })+

        impl AnyHeader {
            /// Writes the header to `out` and returns its length.
            ///
            /// # Panics
            /// When `out` is shorter than the header.
            pub fn encode(&self, out: &mut [u8]) -> usize {
                match self {
                    $(Self::$law(h) => {
                        h.encode(out);
                        const { <$module::$law as Law>::INFO.header_bytes() }
                    })+
                }
            }

            /// See [`Header::seen_by_router`].
            #[must_use]
            pub fn seen_by_router(&self) -> Option<bool> {
                match self { $(Self::$law(h) => h.seen_by_router()),+ }
            }

            /// Reads a header of the law of these parameters.
            ///
            /// # Errors
            /// When the bytes are not a header of that law.
            pub fn decode(params: &AnyParams, bytes: &[u8]) -> Result<Self, bytes::DecodeError> {
                match params { $(AnyParams::$law(_) => Header::decode(bytes).map(Self::$law)),+ }
            }
        }

        impl Protocol for Any {
            type Params = AnyParams;
            type Header = AnyHeader;
            type Sender = AnySender;
            type Router = AnyRouter;
            type Receiver = AnyReceiver;

            fn transport(params: &AnyParams) -> Transport {
                match params { $(AnyParams::$law(p) => $module::$law::transport(p)),+ }
            }

            #[inline]
            fn reflect(params: &AnyParams, receiver: &mut AnyReceiver, arrived: &Arrived, header: &AnyHeader) -> AnyHeader {
                let mut header = *header;
                Self::reflect_in_place(params, receiver, arrived, &mut header);
                header
            }

            #[inline]
            fn reflect_in_place(params: &AnyParams, receiver: &mut AnyReceiver, arrived: &Arrived, header: &mut AnyHeader) {
                match (params, header) {
                    $((AnyParams::$law(p), AnyHeader::$law(h)) => {
                        if const { size_of::<<$module::$law as Protocol>::Receiver>() == 0 } {
                            return $module::$law::reflect_in_place(p, &mut Default::default(), arrived, h);
                        }
                        if !matches!(receiver.0.as_deref(), Some(Remembered::$law(_))) {
                            receiver.0 = Some(crate::registry::Box::new(Remembered::$law(Default::default())));
                        }
                        let Some(Remembered::$law(r)) = receiver.0.as_deref_mut() else { unreachable!("just made so") };
                        $module::$law::reflect_in_place(p, r, arrived, h);
                    })+
                    #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
                    _ => unreachable!("{MIXED}"),
                }
            }
        }

        const MIXED: &str = "senders, routers and receivers are always called with the parameters of their own law";

        impl SenderLaw for AnySender {
            type Params = AnyParams;
            type Header = AnyHeader;

            fn new(params: &AnyParams, flow: &FlowInfo) -> Self {
                match params {
                    $(AnyParams::$law(p) => Self::$law(<<$module::$law as Protocol>::Sender>::new(p, flow).into())),+
                }
            }
            each! { [$($law)+] self s: fn rate() -> R }
            each! { [$($law)+] self s: fn paces() -> bool }
            each! { [$($law)+] self s: fn pace() -> R }
            each! { [$($law)+] self s: fn timeout() -> Option<D> }
            each! { [$($law)+] self s: fn window() -> u32 }
            each! { [$($law)+] self s: fn proposal() -> R }
            each! { [$($law)+] self s: fn bottleneck() -> Bottleneck }
            both! { [$($law)+] self s p: fn packet_size(&self) -> B }
            both! { [$($law)+] self s p: fn on_flight(&mut self, now: T, flight: &Flight) -> () }
            both! { [$($law)+] self s p: fn on_restart(&mut self, now: T, restart: &Restart) -> () }
            both! { [$($law)+] self s p: fn on_loss(&mut self, now: T, loss: &Loss) -> () }
            both! { [$($law)+] self s p: fn on_timeout(&mut self, now: T, next: u32) -> () }

            #[inline]
            fn on_send(&mut self, params: &AnyParams, now: T, packet: &Outgoing) -> AnyHeader {
                match (self, params) {
                    $((Self::$law(s), AnyParams::$law(p)) => AnyHeader::$law(s.on_send(p, now, packet)),)+
                    #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline(always)]
            fn on_feedback(&mut self, params: &AnyParams, now: T, feedback: &Feedback<AnyHeader>) {
                match (self, params, &feedback.header) {
                    $((Self::$law(s), AnyParams::$law(p), AnyHeader::$law(header)) => {
                        s.on_feedback(p, now, &feedback.map_header(|_| *header));
                    })+
                    #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
                    _ => {}
                }
            }
        }

        impl RouterLaw for AnyRouter {
            type Params = AnyParams;
            type Header = AnyHeader;

            fn new(params: &AnyParams, port: &PortInfo) -> Self {
                match params { $(AnyParams::$law(p) => Self::$law(RouterLaw::new(p, port))),+ }
            }
            each! { [$($law)+] self r: fn stamps_departures() -> bool }
            each! { [$($law)+] self r: fn target() -> R }
            each! { [$($law)+] self r: fn signal() -> f64 }
            each! { [$($law)+] self r: fn share() -> Option<R> }
            both! { [$($law)+] self r p: fn on_capacity(&mut self, capacity: R) -> () }
            both! { [$($law)+] self r p: fn interval(&self) -> D }
            both! { [$($law)+] self r p: fn on_interval(&mut self, elapsed: D, port: &PortView) -> () }

            #[inline]
            fn on_arrival(&mut self, params: &AnyParams, packet: &Arriving, header: Option<&mut AnyHeader>) {
                match (self, params) {
                    $((Self::$law(r), AnyParams::$law(p)) => {
                        let own = match header { Some(AnyHeader::$law(h)) => Some(h), _ => None };
                        r.on_arrival(p, packet, own);
                    })+
                    #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline]
            fn on_departure(&mut self, params: &AnyParams, size: B, header: &mut AnyHeader) {
                match (self, params, header) {
                    $((Self::$law(r), AnyParams::$law(p), AnyHeader::$law(h)) => r.on_departure(p, size, h),)+
                    #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
                    _ => {}
                }
            }
        }

        impl offload::Offload for AnyRouter {
            both! { [$($law)+] self r p: fn lacks(&self) -> Option<&'static str> }
            both! { [$($law)+] self r p: fn words(&self, queue: B) -> offload::Words }
            both! { [$($law)+] self r p: fn absorb(&mut self, counted: &offload::Counts) -> () }
        }

        #[cfg(test)]
        mod laws_conform {
            $(mod $module { crate::conformance::suite!(crate::$module::$law); })+
        }
    };
}
pub(crate) use laws;
