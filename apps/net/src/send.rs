//! Command `levelflow-net send`.

use std::path::PathBuf;

use clap::Args;
use levelflow_units::{Bytes, Duration, Frequency, Rate};

use super::options::{self, address};
use levelflow_host::Error;
use levelflow_host::clock::stamp;
use levelflow_host::stop::Stop;
use levelflow_host::udp::overhead;
use levelflow_journal::Journal;
use levelflow_load::flows::Plan;
use levelflow_load::report::Report;
use levelflow_load::sample::Samples;
use levelflow_load::send::Send as Sending;
use levelflow_scenario::settings;
use levelflow_wire::shim::prefix_bytes;

const EXAMPLES: &str = "Examples:
  levelflow-net send 127.0.0.1:9000 --law jetmax --flows 3 --time \"10 s\"
  levelflow-net send [fd00::2]:9001 --law rcp --bytes \"100 MB\" --max-rate \"1 Gb/s\"
  levelflow-net send server:9001 --law cbr --set \"rate=5 Mb/s\" --time \"1 min\" --samples cbr.jsonl
  levelflow-net send server:9001 --law rcp --arrivals \"20 /s\" --bytes \"100 kB\" --time \"30 s\"

If no ACK arrives for a second, a sender doubles the gaps between its packets. It doubles them again
after each further second, up to a gap of one second. A law without ACKs (cbr, without acks=true)
sends at its rate, but at most --max-rate, until --time or --bytes is reached, even if no packet
arrives. Without a router of its law on the path, a flow keeps the law's initial rate, and `send`
reports it.";

/// Options of `send`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Send {
    /// Address of `levelflow-net recv`, or of a relay in front of it.
    to: String,
    #[arg(long, default_value = "jetmax", help = laws())]
    law: String,
    /// Sets a parameter of the law, e.g. tau=0.6; may be repeated. `levelflow list laws` lists all.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Number of concurrent flows.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    flows: u32,
    /// Time between the starts of consecutive flows.
    #[arg(long, value_name = "TIME", default_value = "0 s", conflicts_with = "arrivals")]
    start_every: Duration,
    /// Rate of random flow arrivals (Poisson), such as "20 /s"; requires --bytes and --time.
    #[arg(
        long,
        value_name = "RATE",
        conflicts_with = "flows",
        requires = "bytes",
        requires = "time"
    )]
    arrivals: Option<Frequency>,
    /// Time limit of all flows [default: 10 s, or none with --bytes].
    #[arg(long, value_name = "TIME")]
    time: Option<Duration>,
    /// Payload of each flow, without headers. Lost packets are retransmitted until all data has arrived.
    #[arg(long, value_name = "SIZE")]
    bytes: Option<Bytes>,
    /// Largest packet size on the wire, from the Ethernet header on.
    #[arg(long, value_name = "SIZE", default_value = "1250 B")]
    packet: Bytes,
    /// Upper bound of the sending rate of each flow, whatever the feedback.
    #[arg(long, value_name = "RATE", default_value = "10 Gb/s")]
    max_rate: Rate,
    /// Runs with priority over all ordinary programs (SCHED_FIFO), so that packets leave on time on a busy machine.
    /// Needs privileges.
    #[arg(long)]
    realtime: bool,
    /// Writes readings of each flow to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Logs the inputs of the laws, for `levelflow replay FILE`.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    every: Duration,
    /// Prints each reading and the final summary as a JSON line.
    #[arg(long)]
    json: bool,
    /// Prints only the final summary.
    #[arg(long)]
    quiet: bool,
}

fn laws() -> String {
    let (with, without) = (
        settings::law_names(|law| law.signalling.is_explicit()),
        settings::law_names(|law| !law.signalling.is_explicit()),
    );
    format!("Law of the flows; with routers: {with}; without: {without}")
}

impl Send {
    /// Sends until all flows have ended or a signal stops the program.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        let mut sending = self.sending()?;
        if let Some(path) = &self.journal {
            let values = settings::values(&self.law, &self.set).map_err(Error::input)?;
            sending.plan.journal = Some((Journal::create(path)?, values));
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
        options::drop_rights(false)?;
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
        let params = settings::params(&self.law, &self.set).map_err(Error::input)?;
        options::every(self.every)?;
        let least = overhead(&to) + prefix_bytes(params.law().signalling);
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
