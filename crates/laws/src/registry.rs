//! Enums of all signallings and of all laws.

extern crate alloc;
pub use alloc::boxed::Box;

/// Defines a method that calls the method of the variant in `self`, without parameters of the law.
macro_rules! each {
    ([$($law:ident)+] $self:ident $half:ident: fn $name:ident() -> $result:ty) => {
        #[inline]
        fn $name(&$self) -> $result {
            match $self { $(Self::$law($half) => $half.$name()),+ }
        }
    };
}
pub(crate) use each;

/// Defines a method that calls the method of the variant in `self`, with the parameters of its law and other arguments.
macro_rules! both {
    ([$($law:ident)+] $self:ident $half:ident $params:ident:
        fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $result:ty) => {
        #[inline]
        fn $name(&$self, params: &Self::Params $(, $arg: $type)*) -> $result {
            both!(@ [$($law)+] $self params $half.$name($params $(, $arg)*))
        }
    };
    ([$($law:ident)+] $self:ident $half:ident $params:ident:
        fn $name:ident(&mut self $(, $arg:ident: $type:ty)*) -> $result:ty) => {
        #[inline]
        fn $name(&mut $self, params: &Self::Params $(, $arg: $type)*) -> $result {
            both!(@ [$($law)+] $self params $half.$name($params $(, $arg)*))
        }
    };
    (@ [$($law:ident)+] $self:ident $all:ident $half:ident.$name:ident($params:ident $(, $arg:ident)*)) => {
        both!(@@ [$($law)+] ($self, $all) ($half, $params) $half.$name($params $(, $arg)*))
    };
    (@@ [$($law:ident)+] ($self:ident, $all:ident) ($half:ident, $params:ident) $call:expr) => {
        match ($self, $all) {
            $((Self::$law($half), Given::$law($params)) => $call,)+
            #[allow(unreachable_patterns, reason = "with one law there is no mismatch")]
            _ => unreachable!("{MIXED}"),
        }
    };
}
pub(crate) use both;

/// Expands to the type of a sender in `AnySender`. Senders of laws listed as `boxed` are in a `Box`.
macro_rules! held {
    ($sender:ty) => { $sender };
    ($sender:ty, boxed) => { crate::registry::Box<$sender> };
}
pub(crate) use held;

/// Generates [`AnySignalling`](crate::AnySignalling), its associated types and the list of signallings from lines
/// `Variant => Signalling`.
macro_rules! signals {
    ($($variant:ident => $signals:ty),+ $(,)?) => {
        /// Enum of all signallings, itself a signalling. A network of this type carries packets of any signalling.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct AnySignalling;

        /// Parameters of the routers of any signalling.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyRouterParams { $($variant(<$signals as Signalling>::Params)),+ }

        /// Header of any signalling.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyHeader { $($variant(<$signals as Signalling>::Header)),+ }

        /// Router of any signalling.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyRouter { $($variant(<$signals as Signalling>::Router)),+ }

        /// Per-flow receiver state of any signalling. The state is empty before the first packet. Most signallings have
        /// no receiver state.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct AnyReceiver(Option<crate::registry::Box<Remembered>>);

        #[derive(Debug, Clone, PartialEq)]
        enum Remembered { $($variant(<$signals as Signalling>::Receiver)),+ }

        /// Every signalling, in the order of registration.
        pub const SIGNALLINGS: &[SignallingInfo] = &[$(<$signals as WireSignalling>::INFO),+];

        /// Returns the signallings whose routers send feedback. They have a number on the wire.
        pub fn on_the_wire() -> impl Iterator<Item = &'static SignallingInfo> {
            SIGNALLINGS.iter().filter(|signalling| signalling.is_explicit())
        }

        /// Builds the router parameters of the signalling called `name`, from values in the order of its table.
        ///
        /// # Errors
        /// When values conflict.
        ///
        /// # Panics
        /// When there is no signalling called `name`.
        pub fn router_params(name: &str, values: &[f64]) -> Result<AnyRouterParams, ParamError> {
            $(if name == <$signals as WireSignalling>::INFO.name {
                return <$signals as Signalling>::Params::read(values).map(AnyRouterParams::$variant);
            })+
            panic!("no signalling is named {name}")
        }

        impl AnyRouterParams {
            /// Returns the description of the signalling that has these parameters.
            #[must_use]
            pub fn signalling(&self) -> &'static SignallingInfo {
                match self { $(Self::$variant(_) => const { &<$signals as WireSignalling>::INFO }),+ }
            }
        }

        /// Signalling in the list of `signals!`. Converts between its own types and the types of any signalling.
        pub trait ListedSignalling: WireSignalling {
            /// Returns the parameters if they belong to this signalling.
            fn own(params: &AnyRouterParams) -> Option<&Self::Params>;
            /// Converts the header into a header of any signalling.
            fn any(header: Self::Header) -> AnyHeader;
            /// Returns the header if it belongs to this signalling.
            fn header(any: &AnyHeader) -> Option<&Self::Header>;
        }

        $(impl ListedSignalling for $signals {
            fn own(params: &AnyRouterParams) -> Option<&Self::Params> {
                match params {
                    AnyRouterParams::$variant(own) => Some(own),
                    #[allow(unreachable_patterns, reason = "with one signalling there is no other")]
                    _ => None,
                }
            }

            #[inline(always)]
            fn any(header: Self::Header) -> AnyHeader {
                AnyHeader::$variant(header)
            }

            #[inline(always)]
            fn header(any: &AnyHeader) -> Option<&Self::Header> {
                match any {
                    AnyHeader::$variant(own) => Some(own),
                    #[allow(unreachable_patterns, reason = "with one signalling there is no other")]
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
                    $(Self::$variant(h) => {
                        h.encode(out);
                        const { <$signals as WireSignalling>::INFO.header_bytes() }
                    })+
                }
            }

            /// Returns the description of the signalling that has this header.
            #[must_use]
            pub fn signalling(&self) -> &'static SignallingInfo {
                match self { $(Self::$variant(_) => const { &<$signals as WireSignalling>::INFO }),+ }
            }

            /// See [`Header::seen_by_router`].
            #[must_use]
            pub fn seen_by_router(&self) -> Option<bool> {
                match self { $(Self::$variant(h) => h.seen_by_router()),+ }
            }

            /// Reads a header of this signalling.
            ///
            /// # Errors
            /// When the bytes are not a header of this signalling.
            ///
            /// # Panics
            /// When the signalling is not in the list.
            pub fn decode(signalling: &SignallingInfo, bytes: &[u8]) -> Result<Self, bytes::DecodeError> {
                $(if signalling.number == <$signals as WireSignalling>::INFO.number {
                    return Header::decode(bytes).map(Self::$variant);
                })+
                panic!("no signalling has the number {}", signalling.number)
            }
        }

        impl Signalling for AnySignalling {
            type Params = AnyRouterParams;
            type Header = AnyHeader;
            type Router = AnyRouter;
            type Receiver = AnyReceiver;

            #[inline]
            fn reflect(receiver: &mut AnyReceiver, arrived: &Arrived, header: &AnyHeader) -> AnyHeader {
                let mut header = *header;
                Self::reflect_in_place(receiver, arrived, &mut header);
                header
            }

            #[inline]
            fn reflect_in_place(receiver: &mut AnyReceiver, arrived: &Arrived, header: &mut AnyHeader) {
                match header {
                    $(AnyHeader::$variant(h) => {
                        if const { size_of::<<$signals as Signalling>::Receiver>() == 0 } {
                            return <$signals>::reflect_in_place(&mut Default::default(), arrived, h);
                        }
                        if !matches!(receiver.0.as_deref(), Some(Remembered::$variant(_))) {
                            receiver.0 = Some(crate::registry::Box::new(Remembered::$variant(Default::default())));
                        }
                        let Some(Remembered::$variant(r)) = receiver.0.as_deref_mut() else {
                            unreachable!("assigned above")
                        };
                        <$signals>::reflect_in_place(r, arrived, h);
                    })+
                }
            }
        }

        const _: () = {
            use crate::registry::{MIXED, both, each};
            use levelflow_units::{Bytes as B, Duration as D, Rate as R};
            use AnyRouterParams as Given;

            impl RouterLaw for AnyRouter {
                type Params = AnyRouterParams;
                type Header = AnyHeader;

                fn new(params: &AnyRouterParams, port: &PortInfo) -> Self {
                    match params { $(Given::$variant(p) => Self::$variant(RouterLaw::new(p, port))),+ }
                }
                each! { [$($variant)+] self r: fn stamps_departures() -> bool }
                each! { [$($variant)+] self r: fn target() -> R }
                each! { [$($variant)+] self r: fn signal() -> f64 }
                each! { [$($variant)+] self r: fn share() -> Option<R> }
                each! { [$($variant)+] self r: fn permitted() -> f64 }
                both! { [$($variant)+] self r p: fn on_capacity(&mut self, capacity: R) -> () }
                both! { [$($variant)+] self r p: fn interval(&self) -> D }
                both! { [$($variant)+] self r p: fn on_interval(&mut self, elapsed: D, port: &PortView) -> () }

                #[inline]
                fn on_arrival(&mut self, params: &Given, packet: &Arriving, header: Option<&mut AnyHeader>) {
                    match (self, params) {
                        $((Self::$variant(r), Given::$variant(p)) => {
                            let own = match header { Some(AnyHeader::$variant(h)) => Some(h), _ => None };
                            r.on_arrival(p, packet, own);
                        })+
                        #[allow(unreachable_patterns, reason = "with one signalling there is no mismatch")]
                        _ => unreachable!("{MIXED}"),
                    }
                }

                fn claimed(params: &Given, header: &AnyHeader) -> Option<f32> {
                    match (params, header) {
                        $((Given::$variant(p), AnyHeader::$variant(h)) => {
                            <<$signals as Signalling>::Router as RouterLaw>::claimed(p, h)
                        })+
                        #[allow(unreachable_patterns, reason = "with one signalling there is no mismatch")]
                        _ => None,
                    }
                }

                fn correct(&self, params: &Given, size: B, limits: &police::Limits, header: &mut AnyHeader) {
                    match (self, params, header) {
                        $((Self::$variant(r), Given::$variant(p), AnyHeader::$variant(h)) => r.correct(p, size, limits, h),)+
                        #[allow(unreachable_patterns, reason = "with one signalling there is no mismatch")]
                        _ => {}
                    }
                }

                #[inline]
                fn on_departure(&mut self, params: &Given, size: B, header: &mut AnyHeader) {
                    match (self, params, header) {
                        $((Self::$variant(r), Given::$variant(p), AnyHeader::$variant(h)) => r.on_departure(p, size, h),)+
                        #[allow(unreachable_patterns, reason = "with one signalling there is no mismatch")]
                        _ => {}
                    }
                }
            }

            impl offload::Offload for AnyRouter {
                both! { [$($variant)+] self r p: fn lacks(&self) -> Option<&'static str> }
                both! { [$($variant)+] self r p: fn words(&self, queue: B) -> offload::Words }
                both! { [$($variant)+] self r p: fn absorb(&mut self, counted: &offload::Counts) -> () }
            }
        };
    };
}
pub(crate) use signals;

/// Generates [`Any`](crate::Any), its associated types, the list of laws and the conformance tests of each law, from
/// lines `folder => Law`. `boxed` puts the sender of a law in a `Box`. Large senders are boxed to keep `AnySender`
/// small.
macro_rules! laws {
    ($($module:ident => $law:ident $($boxed:ident)?),+ $(,)?) => {
        use crate::registry::held;

        /// Enum of all laws and of [laws of the caller](external), itself a law. Any mix of laws can run in one network
        /// of this type.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Any;

        /// Parameters of senders of any law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyParams { $($law(<$module::$law as Protocol>::Params),)+ External(external::Params) }

        /// Sender of any law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnySender {
            $($law(held!(<$module::$law as Protocol>::Sender $(, $boxed)?)),)+
            External(crate::registry::Box<external::Sender>),
        }

        /// Every law, in the order of registration.
        pub const LAWS: &[LawInfo] = &[$(<$module::$law as Law>::INFO),+];

        /// Returns the laws with router feedback.
        pub fn explicit_laws() -> impl Iterator<Item = &'static LawInfo> {
            LAWS.iter().filter(|law| law.signalling.is_explicit())
        }

        /// Builds the sender parameters of the law called `name`, from values in the order of its table.
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
            /// Returns the description of the law that has these parameters.
            #[must_use]
            pub fn law(&self) -> &'static LawInfo {
                match self {
                    $(Self::$law(_) => const { &<$module::$law as Law>::INFO },)+
                    Self::External(params) => params.law.info(),
                }
            }
        }

        /// Law in the list of `laws!`.
        pub trait ListedLaw: Protocol<Signalling: ListedSignalling> {
            /// Returns the parameters if they belong to this law.
            fn own(params: &AnyParams) -> Option<&Self::Params>;
        }

        $(impl ListedLaw for $module::$law {
            fn own(params: &AnyParams) -> Option<&Self::Params> {
                match params {
                    AnyParams::$law(own) => Some(own),
                    _ => None,
                }
            }
        })+

        impl Protocol for Any {
            type Signalling = AnySignalling;
            type Params = AnyParams;
            type Sender = AnySender;

            fn transport(params: &AnyParams) -> Transport {
                match params {
                    $(AnyParams::$law(p) => $module::$law::transport(p),)+
                    AnyParams::External(p) => p.law.transport(),
                }
            }
        }

        const _: () = {
            use crate::registry::{MIXED, both, each};
            use levelflow_units::{Bytes as B, Duration as D, Rate as R, Time as T};
            use AnyParams as Given;

            impl SenderLaw for AnySender {
                type Params = AnyParams;
                type Header = AnyHeader;

                fn new(params: &AnyParams, flow: &FlowInfo) -> Self {
                    match params {
                        $(Given::$law(p) => Self::$law(<<$module::$law as Protocol>::Sender>::new(p, flow).into()),)+
                        Given::External(p) => Self::External(external::Sender::new(p, flow).into()),
                    }
                }
                each! { [$($law)+ External] self s: fn rate() -> R }
                each! { [$($law)+ External] self s: fn paces() -> bool }
                each! { [$($law)+ External] self s: fn pace() -> R }
                each! { [$($law)+ External] self s: fn opens_at() -> T }
                each! { [$($law)+ External] self s: fn timeout() -> Option<D> }
                each! { [$($law)+ External] self s: fn window() -> u32 }
                each! { [$($law)+ External] self s: fn proposal() -> R }
                each! { [$($law)+ External] self s: fn bottleneck() -> Bottleneck }
                both! { [$($law)+ External] self s p: fn packet_size(&self) -> B }
                both! { [$($law)+ External] self s p: fn on_flight(&mut self, now: T, flight: &Flight) -> () }
                both! { [$($law)+ External] self s p: fn on_restart(&mut self, now: T, restart: &Restart) -> () }
                both! { [$($law)+ External] self s p: fn on_loss(&mut self, now: T, loss: &Loss) -> () }
                both! { [$($law)+ External] self s p: fn on_timeout(&mut self, now: T, next: u32) -> () }

                #[inline]
                fn on_send(&mut self, params: &Given, now: T, packet: &Outgoing) -> AnyHeader {
                    match (self, params) {
                        $((Self::$law(s), Given::$law(p)) => {
                            <$module::$law as Protocol>::Signalling::any(s.on_send(p, now, packet))
                        })+
                        (Self::External(s), Given::External(p)) => NoSignals::any(s.on_send(p, now, packet)),
                        _ => unreachable!("{MIXED}"),
                    }
                }

                #[inline(always)]
                fn on_feedback(&mut self, params: &Given, now: T, feedback: &Feedback<AnyHeader>) {
                    match (self, params) {
                        $((Self::$law(s), Given::$law(p)) => {
                            if let Some(own) = <$module::$law as Protocol>::Signalling::header(&feedback.header) {
                                s.on_feedback(p, now, &feedback.map_header(|_| *own));
                            }
                        })+
                        (Self::External(s), Given::External(p)) => {
                            s.on_feedback(p, now, &feedback.map_header(|_| NoHeader));
                        }
                        _ => unreachable!("{MIXED}"),
                    }
                }
            }
        };

        #[cfg(test)]
        mod laws_conform {
            $(mod $module { crate::conformance::suite!(crate::$module::$law); })+
        }
    };
}
pub(crate) use laws;

/// Message of the panic when a sender or router is called with parameters of another law.
pub const MIXED: &str = "senders and routers are always called with parameters of their own variant";
