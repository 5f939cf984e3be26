//! Enum of all queue disciplines.

/// Generates [`AnyQueue`](super::AnyQueue), its parameters, the list of disciplines and the conformance tests of each
/// discipline, from lines `file => Discipline`.
macro_rules! queues {
    ($($module:ident => $queue:ident),+ $(,)?) => {
        /// Parameters of any discipline.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyQueueParams { $($queue(<$module::$queue as Queue>::Params)),+ }

        /// Any discipline.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "a variant per line of the list, which its module documents")]
        pub enum AnyQueue { $($queue($module::$queue)),+ }

        /// Every discipline, in the order of registration.
        pub const QUEUES: &[QueueInfo] = &[$(<$module::$queue as Queue>::INFO),+];

        /// Builds the parameters of the discipline called `name` from values in the order of its table.
        ///
        /// # Errors
        /// When values conflict.
        ///
        /// # Panics
        /// When there is no discipline called `name`.
        pub fn queue_params(name: &str, values: &[f64]) -> Result<AnyQueueParams, ParamError> {
            $(if name == <$module::$queue as Queue>::INFO.name {
                return <$module::$queue as Queue>::Params::read(values).map(AnyQueueParams::$queue);
            })+
            panic!("no queue discipline is named {name}")
        }

        impl AnyQueueParams {
            /// Returns the description of the discipline that has these parameters.
            #[must_use]
            pub fn discipline(&self) -> &'static QueueInfo {
                match self { $(Self::$queue(_) => const { &<$module::$queue as Queue>::INFO }),+ }
            }

            /// See [`Queue::ecn`].
            #[must_use]
            pub fn ecn(&self) -> bool {
                match self { $(Self::$queue(p) => <$module::$queue as Queue>::ecn(p)),+ }
            }

            /// See [`Queue::rate`].
            #[must_use]
            pub fn rate(&self) -> Option<Rate> {
                match self { $(Self::$queue(p) => <$module::$queue as Queue>::rate(p)),+ }
            }

            /// See [`Queue::interval`].
            #[must_use]
            pub fn interval(&self) -> Option<Duration> {
                match self { $(Self::$queue(p) => <$module::$queue as Queue>::interval(p)),+ }
            }

            /// See [`Queue::OVERFLOW`].
            #[must_use]
            pub fn overflow(&self) -> Overflow {
                match self { $(Self::$queue(_) => <$module::$queue as Queue>::OVERFLOW),+ }
            }

            /// See [`Queue::ACTS_ON_DEPARTURE`].
            #[must_use]
            pub fn acts_on_departure(&self) -> bool {
                match self { $(Self::$queue(_) => <$module::$queue as Queue>::ACTS_ON_DEPARTURE),+ }
            }

            /// See [`Queue::SCHEDULES`].
            #[must_use]
            pub fn schedules(&self) -> bool {
                match self { $(Self::$queue(_) => <$module::$queue as Queue>::SCHEDULES),+ }
            }

            /// See [`Queue::DRAWS`].
            #[must_use]
            pub fn draws(&self) -> bool {
                match self { $(Self::$queue(_) => <$module::$queue as Queue>::DRAWS),+ }
            }
        }

        const MIXED: &str = "a discipline is always called with its own parameters";

        #[allow(missing_docs, clippy::missing_panics_doc, reason = "methods forward to the trait, which documents them")]
        impl AnyQueue {
            #[must_use]
            pub fn new(params: &AnyQueueParams, port: &PortInfo) -> Self {
                match params { $(AnyQueueParams::$queue(p) => Self::$queue(Queue::new(p, port))),+ }
            }

            pub fn on_capacity(&mut self, params: &AnyQueueParams, now: Time, capacity: Rate) {
                match (self, params) {
                    $((Self::$queue(q), AnyQueueParams::$queue(p)) => q.on_capacity(p, now, capacity),)+
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline]
            pub fn on_arrival(&mut self, params: &AnyQueueParams, packet: &Arriving, draw: f64) -> Verdict {
                match (self, params) {
                    $((Self::$queue(q), AnyQueueParams::$queue(p)) => q.on_arrival(p, packet, draw),)+
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[inline]
            pub fn on_departure(&mut self, params: &AnyQueueParams, now: Time, waited: Duration, port: &PortView) -> Verdict {
                match (self, params) {
                    $((Self::$queue(q), AnyQueueParams::$queue(p)) => q.on_departure(p, now, waited, port),)+
                    _ => unreachable!("{MIXED}"),
                }
            }

            pub fn on_interval(&mut self, params: &AnyQueueParams, elapsed: Duration, port: &PortView) {
                match (self, params) {
                    $((Self::$queue(q), AnyQueueParams::$queue(p)) => q.on_interval(p, elapsed, port),)+
                    _ => unreachable!("{MIXED}"),
                }
            }

            #[must_use]
            pub fn signal(&self) -> f64 {
                match self { $(Self::$queue(q) => q.signal()),+ }
            }
        }

        #[cfg(test)]
        mod queues_conform {
            $(mod $module { crate::aqm::conformance::suite!(crate::aqm::$module::$queue); })+
        }
    };
}
pub(super) use queues;
