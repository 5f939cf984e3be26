//! The sum of all sizers.

/// Given `file => Sizer` lines, generates [`AnySizer`](super::AnySizer), its parameters, the list of sizers, and the
/// conformance tests of each.
macro_rules! sizers {
    ($($module:ident => $sizer:ident),+ $(,)?) => {
        /// Parameters of some sizer.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnySizerParams { $($sizer(<$module::$sizer as Sizer>::Params)),+ }

        /// Some sizer, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnySizer { $($sizer($module::$sizer, <$module::$sizer as Sizer>::Params)),+ }

        /// Every sizer, in the order of registration.
        pub const SIZERS: &[SizerInfo] = &[$(<$module::$sizer as Sizer>::INFO),+];

        /// Builds the parameters of the sizer of that name from values in the order of its table.
        ///
        /// # Errors
        /// When the values do not fit together.
        ///
        /// # Panics
        /// When there is no sizer of that name.
        pub fn sizer_params(name: &str, values: &[f64]) -> Result<AnySizerParams, ParamError> {
            $(if name == <$module::$sizer as Sizer>::INFO.name {
                return <$module::$sizer as Sizer>::params(values).map(AnySizerParams::$sizer);
            })+
            panic!("no sizer is named {name}")
        }

        #[allow(missing_docs)]
        impl AnySizer {
            #[must_use]
            pub fn new(params: &AnySizerParams, port: &PortInfo) -> Self {
                match params { $(AnySizerParams::$sizer(p) => Self::$sizer(Sizer::new(p, port), p.clone())),+ }
            }

            #[must_use]
            pub fn interval(&self) -> Duration {
                match self { $(Self::$sizer(_, p) => <$module::$sizer as Sizer>::interval(p)),+ }
            }

            pub fn on_interval(&mut self, load: &Load) {
                match self { $(Self::$sizer(s, p) => s.on_interval(p, load)),+ }
            }

            pub fn on_grant(&mut self, packets: f64) {
                match self { $(Self::$sizer(s, p) => s.on_grant(p, packets)),+ }
            }

            #[must_use]
            pub fn packets(&self) -> f64 {
                match self { $(Self::$sizer(s, _) => s.packets()),+ }
            }
        }

        #[cfg(test)]
        mod sizers_conform {
            $(mod $module { crate::buffers::conformance::suite!(crate::buffers::$module::$sizer); })+
        }
    };
}
pub(super) use sizers;
