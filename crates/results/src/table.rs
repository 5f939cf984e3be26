//! Samples of a run, by column, until the caller takes them.

/// A column of numbers.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "names of columns, which docs/guides/results.md explains")]
pub enum Column {
    F64(Vec<f64>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    I32(Vec<i32>),
}

/// A table: named columns of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name and values, in the order in which they are written.
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
    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Adds the rows of a table with the same columns.
    pub(crate) fn extend(&mut self, more: &Self) {
        for ((_, all), (_, more)) in self.columns.iter_mut().zip(&more.columns) {
            all.extend(more);
        }
    }

    /// Takes the first rows out of it.
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

/// Declares a table by its columns: a row type, and a buffer of rows that turns into a [`Table`].
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
    /// A flow entry at a sample.
    FlowRow, FlowRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the entry.
        flow: U32(u32),
        /// Number of active flows.
        active: U32(u32),
        /// Throughput: bytes on the wire that reached receivers since the last sample, bit/s.
        throughput_bps: F64(f64),
        /// Goodput: bytes of transfers that reached receivers since the last sample, each once, bit/s.
        goodput_bps: F64(f64),
        /// Sending rate: bytes on the wire that senders sent since the last sample, bit/s.
        sending_rate_bps: F64(f64),
        /// Sum of the rates that the laws of active senders ask for, bit/s: pacing rate, or window over smoothed round trip.
        law_rate_bps: F64(f64),
        /// Sum of their windows, packets; 0 for laws without one.
        window_packets: F64(f64),
        /// Sum of the rates that senders propose to routers, bit/s.
        proposal_bps: F64(f64),
        /// Mean round trip in the sample, s; NaN without any.
        rtt_s: F64(f64),
        /// Data packets dropped or lost since the last sample.
        lost: U32(u32),
        /// Index of the link that limits the entry's only flow; -1 when not known.
        bottleneck: I32(i32),
    }
}

table! {
    /// One flow of an entry at a sample.
    MemberRow, MemberRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the entry.
        flow: U32(u32),
        /// Number of the flow in its entry, from 0, in order of starts.
        member: U32(u32),
        /// Throughput since the last sample, bit/s.
        throughput_bps: F64(f64),
        /// Rate that its law asks for, bit/s.
        law_rate_bps: F64(f64),
    }
}

table! {
    /// A link at a sample.
    LinkRow, LinkRows {
        /// Time, s.
        t: F64(f64),
        /// Index of the link.
        link: U32(u32),
        /// Arrivals since the last sample, dropped packets included, bit/s.
        arrival_bps: F64(f64),
        /// Largest arrival rate over one interval of the link's router, bit/s.
        peak_bps: F64(f64),
        /// Sent since the last sample, bit/s.
        throughput_bps: F64(f64),
        /// Packets that fit the buffer; NaN if it is in bytes or has no limit.
        buffer_packets: F64(f64),
        /// Backlog, bytes: waiting or in service.
        backlog_bytes: U64(u64),
        /// Backlog, packets.
        backlog_packets: U32(u32),
        /// Largest backlog since the last sample, bytes.
        backlog_max_bytes: U64(u64),
        /// Packets whose queueing delay became known since the last sample.
        delayed_packets: U64(u64),
        /// Mean queueing delay of these packets, s; NaN without any.
        queueing_delay_mean_s: F64(f64),
        /// Longest queueing delay of these packets, s; NaN without any.
        queueing_delay_max_s: F64(f64),
        /// Packets dropped since the last sample.
        dropped: U32(u32),
        /// Their bytes.
        dropped_bytes: U64(u64),
        /// Packets marked since the last sample.
        marked: U32(u32),
        /// Largest share of dropped bytes over one interval of the link's router.
        peak_loss: F64(f64),
        /// Feedback of the link's first router, or else the state of its queue discipline; NaN without either.
        signal: F64(f64),
    }
}

table! {
    /// A transfer that has ended, or that goes on at the end of the run.
    TransferRow, TransferRows {
        /// Index of the entry.
        flow: U32(u32),
        /// Number of the flow in its entry, from 0, in order of starts.
        member: U32(u32),
        /// Start, s.
        start_s: F64(f64),
        /// Size, bytes.
        bytes: U64(u64),
        /// Links on the path of its data.
        hops: U32(u32),
        /// Base round trip, s.
        rtt_s: F64(f64),
        /// Ideal time, s: that of an idle network and a sender that fills its path.
        ideal_s: F64(f64),
        /// Completion time, s: from its first packet sent to its last data received; NaN if it has not finished.
        fct_s: F64(f64),
        /// Completion time over ideal time; NaN if it has not finished.
        slowdown: F64(f64),
        /// Retransmitted packets.
        retransmitted: U32(u32),
        /// An [`Outcome`].
        outcome: U32(u32),
    }
}

/// Outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its receiver has every byte.
    Finished,
    /// Its sender has stopped, and its receiver lacks data.
    Aborted,
    /// It goes on at the end of the run.
    Unfinished,
}

impl Outcome {
    /// Names in results, by [code](Self::code).
    pub const NAMES: [&'static str; 3] = ["finished", "aborted", "unfinished"];

    /// Index of its name.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

impl TransferRow {
    /// Enters how the transfer ended: after this time, or never.
    #[must_use]
    pub fn ended(mut self, outcome: Outcome, fct_s: Option<f64>) -> Self {
        self.outcome = outcome.code();
        self.fct_s = fct_s.unwrap_or(f64::NAN);
        self.slowdown = self.fct_s / self.ideal_s;
        self
    }
}

/// Rows recorded and not yet taken.
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

    /// Takes what has been recorded, as (name, table) pairs.
    pub fn take(&mut self) -> [(&'static str, Table); 4] {
        [
            ("flows", self.flows.take()),
            ("members", self.members.take()),
            ("links", self.links.take()),
            ("transfers", self.transfers.take()),
        ]
    }
}
