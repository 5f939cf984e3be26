//! The sum of all laws.

/// Given `folder => Law` lines, generates [`Any`](crate::Any), its parts, the list of laws, and the conformance
/// tests of each law.
macro_rules! laws {
    ($($module:ident => $law:ident),+ $(,)?) => {
        use levelflow_units::{Bytes as B, Duration as D, Rate as R, Time as T};

        /// The sum of all laws: any mix of them can run in one network.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Any;

        /// Parameters of some law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyParams { $($law(<$module::$law as Protocol>::Params)),+ }

        /// Header of some law.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyHeader { $($law(<$module::$law as Protocol>::Header)),+ }

        /// Sender of some law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnySender { $($law(<$module::$law as Protocol>::Sender)),+ }

        /// Router half of some law.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyRouter { $($law(<$module::$law as Protocol>::Router)),+ }

        /// What a receiver remembers of a flow of some law; nothing before its first packet.
        #[derive(Debug, Clone, Default, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyReceiver { #[default] New, $($law(<$module::$law as Protocol>::Receiver)),+ }

        /// Every law, in the order of registration.
        pub const LAWS: &[LawInfo] = &[$(<$module::$law as Law>::INFO),+];

        /// Laws that routers run: those with a number on the wire.
        pub fn on_the_wire() -> impl Iterator<Item = &'static LawInfo> {
            LAWS.iter().filter(|law| law.number > 0)
        }

        /// Builds the parameters of the law of that name from values in the order of its table.
        ///
        /// # Errors
        /// When the values do not fit together.
        ///
        /// # Panics
        /// When there is no law of that name.
        pub fn params(name: &str, values: &[f64]) -> Result<AnyParams, ParamError> {
            $(if name == <$module::$law as Law>::INFO.name {
                return <$module::$law as Law>::params(values).map(AnyParams::$law);
            })+
            panic!("no law is named {name}")
        }

        impl AnyParams {
            /// Which law these belong to.
            #[must_use]
            pub fn law(&self) -> &'static LawInfo {
                match self { $(Self::$law(_) => const { &<$module::$law as Law>::INFO }),+ }
            }
        }

        impl AnyHeader {
            /// Writes the header to `out` and gives its length.
            ///
            /// # Panics
            /// When `out` is shorter than the header.
            pub fn encode(&self, out: &mut [u8]) -> usize {
                match self {
                    $(Self::$law(h) => {
                        h.encode(out);
                        <$module::$law as Law>::INFO.header_bytes
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
            /// When the bytes are not one.
            pub fn decode(params: &AnyParams, bytes: &[u8]) -> Result<Self, wire::DecodeError> {
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
                match (params, header) {
                    $((AnyParams::$law(p), AnyHeader::$law(h)) => {
                        if !matches!(receiver, AnyReceiver::$law(_)) {
                            *receiver = AnyReceiver::$law(Default::default());
                        }
                        let AnyReceiver::$law(r) = receiver else { unreachable!("just made so") };
                        AnyHeader::$law($module::$law::reflect(p, r, arrived, h))
                    })+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }
        }

        const MIXED: &str = "senders, routers and receivers are always called with the parameters of its own law";

        impl SenderLaw for AnySender {
            type Params = AnyParams;
            type Header = AnyHeader;

            fn new(params: &AnyParams, flow: &FlowInfo) -> Self {
                match params { $(AnyParams::$law(p) => Self::$law(SenderLaw::new(p, flow))),+ }
            }

            #[inline]
            fn rate(&self) -> R {
                match self { $(Self::$law(s) => s.rate()),+ }
            }

            #[inline]
            fn paces(&self) -> bool {
                match self { $(Self::$law(s) => s.paces()),+ }
            }

            #[inline]
            fn window(&self) -> u32 {
                match self { $(Self::$law(s) => s.window()),+ }
            }

            #[inline]
            fn packet_size(&self, params: &AnyParams) -> B {
                match (self, params) {
                    $((Self::$law(s), AnyParams::$law(p)) => s.packet_size(p),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline]
            fn on_send(&mut self, params: &AnyParams, now: T, packet: &Outgoing) -> AnyHeader {
                match (self, params) {
                    $((Self::$law(s), AnyParams::$law(p)) => AnyHeader::$law(s.on_send(p, now, packet)),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline]
            fn on_feedback(&mut self, params: &AnyParams, now: T, feedback: &Feedback<AnyHeader>) {
                let Feedback { number, kind, rtt, header, marked, acked, outstanding, gap, delivery } = *feedback;
                match (self, params, header) {
                    $((Self::$law(s), AnyParams::$law(p), AnyHeader::$law(header)) => {
                        let own = Feedback { number, kind, rtt, header, marked, acked, outstanding, gap, delivery };
                        s.on_feedback(p, now, &own);
                    })+
                    #[allow(unreachable_patterns)]
                    _ => {}
                }
            }

            fn on_loss(&mut self, params: &AnyParams, now: T, loss: &Loss) {
                match (self, params) {
                    $((Self::$law(s), AnyParams::$law(p)) => s.on_loss(p, now, loss),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn on_timeout(&mut self, params: &AnyParams, now: T, next: u32) {
                match (self, params) {
                    $((Self::$law(s), AnyParams::$law(p)) => s.on_timeout(p, now, next),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn proposal(&self) -> R {
                match self { $(Self::$law(s) => s.proposal()),+ }
            }

            fn bottleneck(&self) -> Bottleneck {
                match self { $(Self::$law(s) => s.bottleneck()),+ }
            }
        }

        impl RouterLaw for AnyRouter {
            type Params = AnyParams;
            type Header = AnyHeader;

            fn new(params: &AnyParams, port: &PortInfo) -> Self {
                match params { $(AnyParams::$law(p) => Self::$law(RouterLaw::new(p, port))),+ }
            }

            #[inline]
            fn on_arrival(&mut self, params: &AnyParams, packet: &Arriving, header: Option<&mut AnyHeader>) {
                match (self, params) {
                    $((Self::$law(r), AnyParams::$law(p)) => {
                        let own = match header { Some(AnyHeader::$law(h)) => Some(h), _ => None };
                        r.on_arrival(p, packet, own);
                    })+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn stamps_departures(&self) -> bool {
                match self { $(Self::$law(r) => r.stamps_departures()),+ }
            }

            #[inline]
            fn on_departure(&mut self, params: &AnyParams, size: B, header: &mut AnyHeader) {
                match (self, params, header) {
                    $((Self::$law(r), AnyParams::$law(p), AnyHeader::$law(h)) => r.on_departure(p, size, h),)+
                    #[allow(unreachable_patterns)]
                    _ => {}
                }
            }

            fn interval(&self, params: &AnyParams) -> D {
                match (self, params) {
                    $((Self::$law(r), AnyParams::$law(p)) => r.interval(p),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn on_interval(&mut self, params: &AnyParams, elapsed: D, port: &PortView) {
                match (self, params) {
                    $((Self::$law(r), AnyParams::$law(p)) => r.on_interval(p, elapsed, port),)+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn target(&self) -> R {
                match self { $(Self::$law(r) => r.target()),+ }
            }

            fn signal(&self) -> f64 {
                match self { $(Self::$law(r) => r.signal()),+ }
            }
        }

        #[cfg(test)]
        mod laws_conform {
            $(mod $module { crate::conformance::suite!(crate::$module::$law); })+
        }
    };
}
pub(crate) use laws;
