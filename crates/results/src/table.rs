//! Samples of a run. They are stored as columns until the caller collects them.

/// Column of numbers.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant has the name of its number type")]
pub enum Column {
    F64(Vec<f64>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    I32(Vec<i32>),
}

/// Table of named columns of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name and values of each column, in the order of writing.
    pub columns: Vec<(&'static str, Column)>,
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::I32(values) => values.len(),
        }
    }

    fn split_front(&mut self, rows: usize) -> Self {
        match self {
            Self::F64(values) => Self::F64(values.drain(..rows).collect()),
            Self::U64(values) => Self::U64(values.drain(..rows).collect()),
            Self::U32(values) => Self::U32(values.drain(..rows).collect()),
            Self::I32(values) => Self::I32(values.drain(..rows).collect()),
        }
    }

    fn extend(&mut self, more: &Self) {
        match (self, more) {
            (Self::F64(all), Self::F64(more)) => all.extend(more),
            (Self::U64(all), Self::U64(more)) => all.extend(more),
            (Self::U32(all), Self::U32(more)) => all.extend(more),
            (Self::I32(all), Self::I32(more)) => all.extend(more),
            _ => unreachable!("a column keeps its kind"),
        }
    }
}

impl Table {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Appends the rows of another table with the same columns.
    pub(crate) fn extend(&mut self, more: &Self) {
        for ((_, all), (_, more)) in self.columns.iter_mut().zip(&more.columns) {
            all.extend(more);
        }
    }

    /// Removes and returns the first `rows` rows.
    pub(crate) fn split_front(&mut self, rows: usize) -> Self {
        let columns = self
            .columns
            .iter_mut()
            .map(|(name, column)| (*name, column.split_front(rows)));
        Self {
            columns: columns.collect(),
        }
    }
}

/// Declares a table by its columns. Defines a row type and a list of rows that converts into a [`Table`].
macro_rules! table {
    ($(#[$doc:meta])* $row:ident, $buffer:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ident($type:ty)),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $row { $($(#[$field_doc])* pub $field: $type),+ }

        #[derive(Debug, Default)]
        struct $buffer { $($field: Vec<$type>),+ }

        impl $buffer {
            fn push(&mut self, row: &$row) {
                $(self.$field.push(row.$field);)+
            }

            fn take(&mut self) -> Table {
                Table { columns: vec![$((stringify!($field), Column::$kind(std::mem::take(&mut self.$field)))),+] }
            }
        }
    };
}

table! {
    /// Sample of one flow entry.
    FlowRow, FlowRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the entry.
        flow: U32(u32),
        /// Number of active flows.
        active: U32(u32),
        /// Throughput: rate of all bytes that receivers received since the last sample, headers included, bit/s.
        throughput_bps: F64(f64),
        /// Goodput: rate of transfer data that receivers received since the last sample, without duplicates, bit/s.
        goodput_bps: F64(f64),
        /// Sending rate: rate of all bytes that senders sent since the last sample, headers included, bit/s.
        sending_rate_bps: F64(f64),
        /// Sum over active senders of the rates permitted by their laws, bit/s. The permitted rate is the pacing rate,
        /// or `congestion window / smoothed round-trip time`.
        law_rate_bps: F64(f64),
        /// Sum of the congestion windows, packets; 0 for laws without a window.
        window_packets: F64(f64),
        /// Sum of the rates that senders propose to routers, bit/s.
        proposal_bps: F64(f64),
        /// Mean round-trip time since the last sample, s; NaN without measurements.
        rtt_s: F64(f64),
        /// Data packets dropped or lost since the last sample.
        lost: U32(u32),
        /// Index of the link that limits the flow. -1 if unknown, or if the entry has several flows.
        bottleneck: I32(i32),
    }
}

table! {
    /// Sample of one flow of an entry.
    MemberRow, MemberRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the entry.
        flow: U32(u32),
        /// Number of the flow in its entry, counted from 0 in order of start times.
        member: U32(u32),
        /// Throughput since the last sample, bit/s.
        throughput_bps: F64(f64),
        /// Rate permitted by the flow's law, bit/s.
        law_rate_bps: F64(f64),
    }
}

table! {
    /// Sample of a link.
    LinkRow, LinkRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the link.
        link: U32(u32),
        /// Arrival rate since the last sample, bit/s. Dropped packets are included.
        arrival_bps: F64(f64),
        /// Largest arrival rate over one control interval of the link's router, bit/s.
        peak_bps: F64(f64),
        /// Throughput since the last sample, bit/s.
        throughput_bps: F64(f64),
        /// Buffer size, packets. NaN if the buffer is limited in bytes or unlimited.
        buffer_packets: F64(f64),
        /// Backlog: bytes queued or in service.
        backlog_bytes: U64(u64),
        /// Backlog: packets queued or in service.
        backlog_packets: U32(u32),
        /// Largest backlog since the last sample, bytes.
        backlog_max_bytes: U64(u64),
        /// Packets whose queueing delay was recorded since the last sample.
        delayed_packets: U64(u64),
        /// Mean queueing delay of the packets in `delayed_packets`, s; NaN without any.
        queueing_delay_mean_s: F64(f64),
        /// Longest queueing delay of the packets in `delayed_packets`, s; NaN without any.
        queueing_delay_max_s: F64(f64),
        /// Packets dropped since the last sample.
        dropped: U32(u32),
        /// Bytes dropped since the last sample.
        dropped_bytes: U64(u64),
        /// Packets marked since the last sample.
        marked: U32(u32),
        /// Largest ratio of dropped bytes to arrived bytes over one control interval of the link's router.
        peak_loss: F64(f64),
        /// Feedback of the link's first router, or else the signal of its queue discipline. NaN without either.
        signal: F64(f64),
    }
}

table! {
    /// A transfer that has ended, or is unfinished at the end of the run.
    TransferRow, TransferRows {
        /// Index of the entry.
        flow: U32(u32),
        /// Number of the flow in its entry, counted from 0 in order of start times.
        member: U32(u32),
        /// Start, s.
        start_s: F64(f64),
        /// Size, bytes.
        bytes: U64(u64),
        /// Number of links on the data path.
        hops: U32(u32),
        /// Base round-trip time, s.
        rtt_s: F64(f64),
        /// Ideal completion time, s. This is the time of a sender that always fills its path in an otherwise idle
        /// network.
        ideal_s: F64(f64),
        /// Completion time, s; NaN if unfinished. It starts with the first packet sent and ends when all data has been
        /// received.
        fct_s: F64(f64),
        /// Ratio of the completion time to the ideal completion time; NaN if unfinished.
        slowdown: F64(f64),
        /// Retransmitted packets.
        retransmitted: U32(u32),
        /// Number of the outcome, from [`Outcome::code`].
        outcome: U32(u32),
    }
}

/// Outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has every byte.
    Finished,
    /// The sender has stopped, and the receiver lacks data.
    Aborted,
    /// The transfer is unfinished at the end of the run.
    Unfinished,
}

impl Outcome {
    /// Names in results, indexed by [code](Self::code).
    pub const NAMES: [&'static str; 3] = ["finished", "aborted", "unfinished"];

    /// Returns the index of the outcome in [`NAMES`](Self::NAMES).
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

impl TransferRow {
    /// Sets the outcome. For a finished transfer, also sets the completion time and the slowdown.
    #[must_use]
    pub fn ended(mut self, outcome: Outcome, fct_s: Option<f64>) -> Self {
        self.outcome = outcome.code();
        self.fct_s = fct_s.unwrap_or(f64::NAN);
        self.slowdown = self.fct_s / self.ideal_s;
        self
    }
}

/// Recorded rows that the caller has not yet collected.
#[derive(Debug, Default)]
pub struct Recorder {
    flows: FlowRows,
    members: MemberRows,
    links: LinkRows,
    transfers: TransferRows,
}

impl Recorder {
    /// Adds a row to the table of flows.
    pub fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row);
    }

    /// Adds a row to the table of members.
    pub fn member(&mut self, row: &MemberRow) {
        self.members.push(row);
    }

    /// Adds a row to the table of links.
    pub fn link(&mut self, row: &LinkRow) {
        self.links.push(row);
    }

    /// Adds a row to the table of transfers.
    pub fn transfer(&mut self, row: &TransferRow) {
        self.transfers.push(row);
    }

    /// Removes and returns the recorded rows, as pairs of table name and table.
    pub fn take(&mut self) -> [(&'static str, Table); 4] {
        [
            ("flows", self.flows.take()),
            ("members", self.members.take()),
            ("links", self.links.take()),
            ("transfers", self.transfers.take()),
        ]
    }
}
