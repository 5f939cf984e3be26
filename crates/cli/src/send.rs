//! `levelflow-net send`.

use std::path::PathBuf;

use clap::Args;
use levelflow_units::{Bytes, Duration, Frequency, Rate};

use super::options::{self, address};
use levelflow_host::clock::stamp;
use levelflow_host::journal::Journal;
use levelflow_host::stop::Stop;
use levelflow_host::udp::overhead;
use levelflow_host::{Error, law};
use levelflow_load::flows::Plan;
use levelflow_load::report::Report;
use levelflow_load::sample::Samples;
use levelflow_load::send::Send as Sending;

const EXAMPLES: &str = "Examples:
  levelflow-net send 127.0.0.1:9000 --law jetmax --flows 3 --time \"10 s\"
  levelflow-net send [fd00::2]:9001 --law rcp --bytes \"100 MB\" --max-rate \"1 Gb/s\"
  levelflow-net send server:9001 --law cbr --set \"rate=5 Mb/s\" --time \"1 min\" --samples cbr.jsonl
  levelflow-net send server:9001 --law rcp --arrivals \"20 /s\" --bytes \"100 kB\" --time \"30 s\"

A sender that receives no ACK for a second doubles the gaps between its packets with each further
second, up to a second. A law that asks for no ACKs (cbr, without acks=true) gets none: it sends at its rate, at most
--max-rate, until --time or --bytes end it, whether or not anything arrives. Without a router of
its law on the path a flow stays at the law's first rate, and `send` says so.";

/// Options of `send`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Send {
    /// Where `levelflow-net recv` listens, or a relay before it.
    to: String,
    #[arg(long, default_value = "jetmax", help = laws())]
    law: String,
    /// Sets a parameter of the law, e.g. tau=0.6; may be repeated. `levelflow list laws` names all.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Flows at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    flows: u32,
    /// Time between the starts of two flows.
    #[arg(long, value_name = "TIME", default_value = "0 s", conflicts_with = "arrivals")]
    start_every: Duration,
    /// Flows that arrive at random, such as "20 /s" (Poisson); give --bytes and --time, too.
    #[arg(
        long,
        value_name = "RATE",
        conflicts_with = "flows",
        requires = "bytes",
        requires = "time"
    )]
    arrivals: Option<Frequency>,
    /// When all flows stop [default: 10 s, or when --bytes have arrived].
    #[arg(long, value_name = "TIME")]
    time: Option<Duration>,
    /// Size of each flow on the wire; what is lost is sent again until so much has arrived.
    #[arg(long, value_name = "SIZE", alias = "size")]
    bytes: Option<Bytes>,
    /// Largest packet on the wire, from the Ethernet header on.
    #[arg(long, value_name = "SIZE", default_value = "1250 B")]
    packet: Bytes,
    /// Largest rate of a flow, whatever its feedback.
    #[arg(long, value_name = "RATE", default_value = "10 Gb/s")]
    max_rate: Rate,
    /// Before all ordinary programs (SCHED_FIFO): packets leave on time on a busy machine. Needs privileges.
    #[arg(long)]
    realtime: bool,
    /// Lines of JSON, flow by flow, to this file.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Logs the inputs of the laws, for `levelflow replay FILE`.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    every: Duration,
    /// A line of JSON per reading, and one in the end.
    #[arg(long)]
    json: bool,
    /// Nothing but the end.
    #[arg(long)]
    quiet: bool,
}

fn laws() -> String {
    let (with, without) = (law::names(|law| law.number > 0), law::names(|law| law.number == 0));
    format!("The law of the flows; with routers: {with}; without: {without}")
}

impl Send {
    /// Sends.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub fn run(self) -> Result<(), Error> {
        let mut sending = self.sending()?;
        if let Some(path) = &self.journal {
            let values = law::values(&self.law, &self.set)?;
            sending.plan.journal = Some((Journal::create(path, 1)?, values));
        }
        let law = sending.plan.params.law();
        let mut samples = self.samples.as_deref().map(Samples::create).transpose()?;
        let stop = Stop::on_signals()?;
        if let Some(samples) = &mut samples {
            samples.start(law.name, &sending.to.to_string(), stamp())?;
        }
        let seconds = self.time.or(sending.plan.time).map(Duration::as_secs_f64);
        let mut report = Report::new(&sending.plan.params, seconds, self.json, self.quiet);
        if !self.json && !self.quiet {
            println!("{}", report.head());
        }
        let mut end = levelflow_units::Time::ZERO;
        sending.run(&stop, |progress| {
            report.read(progress);
            end = progress.now;
            samples.as_mut().map_or(Ok(()), |samples| samples.read(progress))
        })?;
        let summary = report.finish(end);
        if let Some(problem) = sending.plan.journal.as_ref().and_then(|(journal, _)| journal.problem()) {
            return Err(Error::failed(problem));
        }
        if summary.delivered_bytes == Some(0) {
            return Err(Error::failed(format!("{}: nothing arrived", self.to)));
        }
        Ok(())
    }

    fn sending(&self) -> Result<Sending, Error> {
        let to = address("TO", &self.to)?;
        let params = law::params(&self.law, &self.set)?;
        options::every(self.every)?;
        let least = overhead(&to) + levelflow_wire::shim::LENGTH + params.law().header_bytes();
        let allowed = Bytes::new(least as u64 + 16)..=Bytes::new(9014);
        if !allowed.contains(&self.packet) {
            let (low, high) = allowed.into_inner();
            return Err(Error::input(format!("--packet {}: {low} to {high}", self.packet)));
        }
        options::above_zero("--max-rate", self.max_rate.bps(), "\"100 Mb/s\"")?;
        let arrivals = self.arrivals.map(Frequency::per_second);
        let endless = self.bytes.is_none() && self.time.is_none();
        Ok(Sending {
            plan: Plan {
                params,
                flows: self.flows,
                start_every: self.start_every,
                arrivals,
                size: self.bytes,
                time: if endless {
                    Some(Duration::from_secs(10))
                } else {
                    self.time
                },
                packet: self.packet,
                max_rate: self.max_rate,
                journal: None,
            },
            to,
            realtime: self.realtime,
            every: self.every,
        })
    }
}
