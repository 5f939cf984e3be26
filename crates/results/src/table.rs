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
        /// Flows under way.
        active: U32(u32),
        /// Sum of their sending rates, bit/s.
        rate_bps: F64(f64),
        /// Sum of their windows, packets; 0 for laws without one.
        window_packets: F64(f64),
        /// Sum of the rates they would like next, bit/s.
        proposal_bps: F64(f64),
        /// Sent since the last sample, bit/s.
        sent_bps: F64(f64),
        /// Delivered since the last sample, bit/s.
        delivered_bps: F64(f64),
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
        /// Its sending rate, bit/s.
        rate_bps: F64(f64),
        /// Delivered since the last sample, bit/s.
        delivered_bps: F64(f64),
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
        /// Bytes in the queue.
        queue_bytes: U64(u64),
        /// Packets in the queue.
        queue_packets: U32(u32),
        /// Most bytes in the queue since the last sample.
        queue_max_bytes: U64(u64),
        /// Packets dropped since the last sample.
        dropped: U32(u32),
        /// Their bytes.
        dropped_bytes: U64(u64),
        /// Packets marked since the last sample.
        marked: U32(u32),
        /// Largest share of dropped bytes over one interval of the link's router.
        peak_loss: F64(f64),
        /// What the link's first router feeds back, or else what its queue discipline says of itself; NaN without either.
        signal: F64(f64),
    }
}

table! {
    /// A transfer that its receiver has in full.
    CompletionRow, CompletionRows {
        /// Index of the entry.
        flow: U32(u32),
        /// When it started, s.
        start_s: F64(f64),
        /// From its first packet sent to its last data received, s.
        fct_s: F64(f64),
        /// What it carried.
        bytes: U64(u64),
        /// Its base round trip, s.
        rtt_s: F64(f64),
        /// Packets sent again.
        retransmitted: U32(u32),
    }
}

/// Rows recorded and not yet taken.
#[derive(Debug, Default)]
pub struct Recorder {
    flows: FlowRows,
    members: MemberRows,
    links: LinkRows,
    completions: CompletionRows,
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

    /// Adds a row to the table of completions.
    pub fn completion(&mut self, row: &CompletionRow) {
        self.completions.push(row);
    }

    /// Takes what has been recorded, as (name, table) pairs.
    pub fn take(&mut self) -> [(&'static str, Table); 4] {
        [
            ("flows", self.flows.take()),
            ("members", self.members.take()),
            ("links", self.links.take()),
            ("completions", self.completions.take()),
        ]
    }
}
