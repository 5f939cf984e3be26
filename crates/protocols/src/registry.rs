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

        /// Every law, in the order of registration.
        pub const LAWS: &[LawInfo] = &[$(<$module::$law as Law>::INFO),+];

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

            fn opening(params: &AnyParams) -> Opening {
                match params { $(AnyParams::$law(p) => $module::$law::opening(p)),+ }
            }

            #[inline]
            fn reflect(header: &AnyHeader) -> AnyHeader {
                match header { $(AnyHeader::$law(h) => AnyHeader::$law($module::$law::reflect(h))),+ }
            }
        }

        const MIXED: &str = "a sender or router is always called with the parameters of its own law";

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
                let Feedback { number, kind, rtt, header } = *feedback;
                match (self, params, header) {
                    $((Self::$law(s), AnyParams::$law(p), AnyHeader::$law(header)) => {
                        s.on_feedback(p, now, &Feedback { number, kind, rtt, header });
                    })+
                    #[allow(unreachable_patterns)]
                    _ => {}
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
            fn on_arrival(&mut self, params: &AnyParams, size: B, header: Option<&mut AnyHeader>) {
                match (self, params) {
                    $((Self::$law(r), AnyParams::$law(p)) => {
                        let own = match header { Some(AnyHeader::$law(h)) => Some(h), _ => None };
                        r.on_arrival(p, size, own);
                    })+
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("{MIXED}"),
                }
            }

            fn stamps_departures(&self) -> bool {
                match self { $(Self::$law(r) => r.stamps_departures()),+ }
            }

            #[inline]
            fn on_departure(&mut self, params: &AnyParams, header: &mut AnyHeader) {
                match (self, params, header) {
                    $((Self::$law(r), AnyParams::$law(p), AnyHeader::$law(h)) => r.on_departure(p, h),)+
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
