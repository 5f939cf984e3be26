//! Enum of all buffer-sizing algorithms.

/// Generates [`AnyBufferAlgorithm`](super::AnyBufferAlgorithm), its parameters, the list of algorithms and the
/// conformance tests of each algorithm, from lines `file => BufferAlgorithm`.
macro_rules! algorithms {
    ($($module:ident => $algorithm:ident),+ $(,)?) => {
        /// Parameters of any algorithm.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyBufferParams { $($algorithm(<$module::$algorithm as BufferAlgorithm>::Params)),+ }

        /// Any algorithm, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyBufferAlgorithm { $($algorithm($module::$algorithm, <$module::$algorithm as BufferAlgorithm>::Params)),+ }

        /// Every algorithm, in the order of registration.
        pub const BUFFER_ALGORITHMS: &[BufferAlgorithmInfo] = &[$(<$module::$algorithm as BufferAlgorithm>::INFO),+];

        /// Builds the parameters of the algorithm called `name` from values in the order of its table.
        ///
        /// # Errors
        /// When values conflict.
        ///
        /// # Panics
        /// When there is no algorithm called `name`.
        pub fn algorithm_params(name: &str, values: &[f64]) -> Result<AnyBufferParams, ParamError> {
            $(if name == <$module::$algorithm as BufferAlgorithm>::INFO.name {
                return <$module::$algorithm as BufferAlgorithm>::Params::read(values).map(AnyBufferParams::$algorithm);
            })+
            panic!("no buffer-sizing algorithm is named {name}")
        }

        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        impl AnyBufferAlgorithm {
            #[must_use]
            pub fn new(params: &AnyBufferParams, port: &PortInfo) -> Self {
                match params { $(AnyBufferParams::$algorithm(p) => Self::$algorithm(BufferAlgorithm::new(p, port), p.clone())),+ }
            }

            #[must_use]
            pub fn interval(&self) -> Duration {
                match self { $(Self::$algorithm(_, p) => <$module::$algorithm as BufferAlgorithm>::interval(p)),+ }
            }

            pub fn on_interval(&mut self, load: &Load) {
                match self { $(Self::$algorithm(s, p) => s.on_interval(p, load)),+ }
            }

            pub fn on_grant(&mut self, packets: f64) {
                match self { $(Self::$algorithm(s, p) => s.on_grant(p, packets)),+ }
            }

            #[must_use]
            pub fn packets(&self) -> f64 {
                match self { $(Self::$algorithm(s, _) => s.packets()),+ }
            }
        }

        #[cfg(test)]
        mod algorithms_conform {
            $(mod $module { crate::buffers::conformance::suite!(crate::buffers::$module::$algorithm); })+
        }
    };
}
pub(super) use algorithms;
