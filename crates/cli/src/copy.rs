//! Command `levelflow-net copy`.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use levelflow_units::Rate;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::options::address;
use super::serve::{ended, journal, runtime, token};
use levelflow_copy::{
    CopyRun, KnownHosts, Location, Options, Outcome, PROTOCOL, Progress, Session, folder, known_hosts,
};
use levelflow_host::terminal::{plain, warn};
use levelflow_host::{Error, law};
use levelflow_quic::{Config, Endpoint, Fingerprint, Identity, Trust};

const EXAMPLES: &str = "Examples:
  levelflow-net copy --trust-new server:4433/results .      # the first time: note the server's key
  levelflow-net copy data.tar other/ server:4433/incoming/  # to a server with --upload
  levelflow-net copy --law rcp server:4433/big.iso /tmp/

A location is a path, or host:port/path (also lf://host:port/path) on a server; write ./a:1 for a file
of that name. A source becomes the destination or, if that is a directory or ends in /, an entry of
the same name in it.

An interrupted copy resumes by itself (see --retries), or when the same command is repeated. Files
arrive as .NAME.part, and existing data is reused if its BLAKE3 hash proves that it is the beginning
of the file. Files that exist with the same size and time are skipped. A file gets its name when it
is complete and on the disk.

The command skips and reports links to directories and out of the directory, special files, names
that are not UTF-8, entries more than 256 directories deep, and local files named .NAME.part. On a
server, files of such names are incomplete and hidden. Two files for one location are an error.

Exit status: 0 all files arrived, 1 some did not, 2 invalid input.";

/// Options of `copy`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Copy {
    /// Files and directories to copy.
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<Location>,
    /// Destination; either all sources or the destination must be on a server.
    #[arg(value_name = "DESTINATION")]
    destination: Location,
    /// Fingerprint of the server's key, as `serve` prints it.
    #[arg(long, value_name = "FINGERPRINT")]
    key: Option<Fingerprint>,
    /// Accepts the key of an unknown server, and stores it.
    #[arg(long, conflicts_with = "key")]
    trust_new: bool,
    /// File of server keys, one line "host:port fingerprint" each [default: ~/.config/levelflow/known_hosts].
    #[arg(long, value_name = "FILE")]
    known_hosts: Option<PathBuf>,
    /// Private key of this client, a PEM file; created if missing [default: ~/.config/levelflow/client.pem].
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// Presents the token in the first line of this file to the server.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[arg(long, default_value = "jetmax", help = laws())]
    law: String,
    /// Sets a parameter of the law, e.g. tau=0.6; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Upper bound of the sending rate, such as "100 Mb/s", whatever routers signal.
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Rate>,
    /// Number of files copied concurrently.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Total number of reconnections after lost connections, with waits of 1 s, 2 s, 4 s and so on, at most 30 s. Data
    /// that has arrived is kept.
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
    /// Logs the inputs of the law at this sender, for `levelflow replay FILE`.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
    /// Hides progress and summary.
    #[arg(long)]
    quiet: bool,
}

fn laws() -> String {
    format!(
        "Law with routers, or none for plain QUIC: {}",
        law::names(|law| law.signalling.is_explicit())
    )
}

impl Copy {
    /// Copies the files.
    ///
    /// # Errors
    /// When a file did not arrive; the error has the first reason.
    pub fn run(&self) -> Result<(), Error> {
        let server = self.server()?;
        let address = address("copy:", server)?;
        let token = token(self.token_file.as_ref())?;
        let journal = journal(self.journal.as_deref())?;
        let config = self.config()?.with_journal(journal.clone());
        let outcome = runtime()?.block_on(async {
            let endpoint = Endpoint::bind(any(address), config, None)?;
            let bar = self.bar();
            let outcome = tokio::select! {
                outcome = self.copy(&endpoint, (server, address), token, &bar) => outcome,
                stopped = interrupted() => stopped.and(Err(Error::failed("interrupted; repeat the command to resume"))),
            };
            bar.finish_and_clear();
            endpoint.close();
            let _ = tokio::time::timeout(Duration::from_secs(1), endpoint.finish()).await;
            outcome
        })?;
        self.tell(&outcome)?;
        ended(journal.as_ref())
    }

    /// Returns the only server among the sources and the destination.
    fn server(&self) -> Result<&str, Error> {
        let of = |place: &'_ Location| matches!(place, Location::Remote { .. });
        let wrong = |why| {
            Err(Error::input(format!(
                "copy: {why}; write host:port/path for a location on a server"
            )))
        };
        let far = self.sources.iter().filter(|place| of(place)).count();
        if of(&self.destination) == (far > 0) || (far > 0 && far < self.sources.len()) {
            return wrong("either all sources or the destination must be on a server");
        }
        let mut servers = self
            .sources
            .iter()
            .chain([&self.destination])
            .filter_map(|place| match place {
                Location::Remote { server, .. } => Some(server.as_str()),
                Location::Local(_) => None,
            });
        let first = servers.next().unwrap_or_default();
        if servers.any(|other| other != first) {
            return wrong("all sources must be on one server");
        }
        Ok(first)
    }

    fn config(&self) -> Result<Config, Error> {
        let identity = match &self.identity {
            Some(path) => path.clone(),
            None => folder()?.join("client.pem"),
        };
        let config = Config::new(PROTOCOL).with_identity(Identity::load_or_create(&identity)?);
        match self.law.as_str() {
            "none" if self.set.is_empty() && self.max_rate.is_none() => Ok(config),
            "none" => Err(Error::input("--law none: accepts neither --set nor --max-rate")),
            law => Ok(config.with_law(law, &self.set)?.with_max_rate(self.max_rate)),
        }
    }

    async fn copy(
        &self,
        endpoint: &Endpoint,
        target: (&str, SocketAddr),
        token: Option<String>,
        bar: &ProgressBar,
    ) -> Result<Outcome, Error> {
        let mut session = self.open(endpoint, target, token.clone()).await?;
        let progress = Arc::new(Progress::default());
        let mut waits = waits(self.retries);
        let mut run = loop {
            match CopyRun::plan(&session, &self.sources, &self.destination, Arc::clone(&progress)).await {
                Err(error) if session.is_lost() => {
                    let other = self.open_again(endpoint, target, token.as_ref(), bar, &mut waits).await;
                    session = other.ok_or(error)?;
                }
                planned => break planned?,
            }
        };
        bar.set_length(run.size());
        let outcome = loop {
            // Dropping the set ends the task.
            let mut painter = JoinSet::new();
            painter.spawn(paint(
                bar.clone(),
                Arc::clone(&progress),
                run.is_upload().then(|| session.clone()),
            ));
            if run.advance(&session, Options { jobs: self.jobs.into() }).await? {
                break run.outcome(&session);
            }
            drop(painter);
            match self.open_again(endpoint, target, token.as_ref(), bar, &mut waits).await {
                Some(other) => session = other,
                None => break run.outcome(&session),
            }
        };
        session.connection().close();
        Ok(outcome)
    }

    async fn open(
        &self,
        endpoint: &Endpoint,
        (server, address): (&str, SocketAddr),
        token: Option<String>,
    ) -> Result<Session, Error> {
        let connection = self.connect(endpoint, server, address).await?;
        Session::open(connection, token).await
    }

    /// Reconnects after a lost connection, once after each remaining wait; returns `None` if all attempts fail.
    async fn open_again(
        &self,
        endpoint: &Endpoint,
        target: (&str, SocketAddr),
        token: Option<&String>,
        bar: &ProgressBar,
        waits: &mut impl Iterator<Item = Duration>,
    ) -> Option<Session> {
        let say = |text: &str| {
            if !self.quiet {
                bar.suspend(|| eprintln!("levelflow-net: {}: {text}", target.0));
            }
        };
        say("the connection is lost");
        for wait in waits {
            tokio::time::sleep(wait).await;
            match self.open(endpoint, target, token.cloned()).await {
                Ok(session) => {
                    say("connected again");
                    return Some(session);
                }
                Err(error) => say(&error.to_string()),
            }
        }
        None
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
        server: &str,
        address: SocketAddr,
    ) -> Result<levelflow_quic::Connection, Error> {
        let path = match &self.known_hosts {
            Some(path) => path.clone(),
            None => known_hosts()?,
        };
        let mut known = KnownHosts::read(&path)?;
        if let Some(key) = self.key.or_else(|| known.key(server)) {
            let connection = endpoint.connect(address, Trust::Keys(vec![key])).await;
            return connection.map_err(|error| explain(error, server, key));
        }
        let connection = endpoint.connect(address, Trust::Anyone).await?;
        let shown = connection
            .peer_key()
            .ok_or_else(|| Error::failed(format!("{server}: shows no key")))?;
        if !self.trust_new {
            connection.close();
            return Err(Error::input(format!(
                "{server}: unknown server; its key is {shown}: if that is right, use --key {shown} or --trust-new"
            )));
        }
        known.add(server, shown)?;
        Ok(connection)
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::new(0);
        if self.quiet || self.json || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{bytes}/{total_bytes} [{wide_bar}] {bytes_per_sec} {eta} {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar
    }

    fn tell(&self, outcome: &Outcome) -> Result<(), Error> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(outcome).map_err(Error::failed)?);
        } else if !self.quiet {
            println!("{}", plain(&summary(outcome)));
        }
        let Some(first) = outcome.errors.first() else {
            return Ok(());
        };
        for error in outcome.errors.iter().skip(1) {
            warn(error);
        }
        Err(Error::failed(first))
    }
}

/// Returns the wait before each reconnection.
fn waits(retries: u32) -> impl Iterator<Item = Duration> {
    (0..retries).map(|n| Duration::from_secs(1 << n.min(5)).min(Duration::from_secs(30)))
}

/// Unspecified address of the same family as `address`.
fn any(address: SocketAddr) -> SocketAddr {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    any.parse().unwrap_or(address)
}

/// Reports an unexpected server key as invalid input.
fn explain(error: Error, server: &str, key: Fingerprint) -> Error {
    let text = error.to_string();
    if text.contains("ApplicationVerificationFailure") || text.contains("invalid peer certificate") {
        return Error::input(format!(
            "{server}: does not have the key {key}; it is another server, or its key has changed"
        ));
    }
    error
}

/// Updates the progress bar. For an upload, the bar also shows the congestion control of the session.
async fn paint(bar: ProgressBar, progress: Arc<Progress>, sending: Option<Session>) {
    loop {
        bar.set_position(progress.done.load(Ordering::Relaxed));
        let ruled = sending.as_ref().map(|session| session.connection().control().short());
        let waits = progress.waiting.load(Ordering::Relaxed) > 0;
        let waits = waits.then(|| "waiting for another transfer of a file to end".to_owned());
        bar.set_message(waits.or(ruled).unwrap_or_default());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits for Ctrl-C or SIGTERM.
async fn interrupted() -> Result<(), Error> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::failed)?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.map_err(Error::failed),
        _ = terminate.recv() => Ok(()),
    }
}

fn summary(outcome: &Outcome) -> String {
    let files = |count| {
        if count == 1 {
            "1 file".to_owned()
        } else {
            format!("{count} files")
        }
    };
    let mut text = files(outcome.files);
    if outcome.bytes > 0 {
        text += &format!(
            ", {} in {:.1} s: {:.1} Mb/s under {}",
            indicatif::HumanBytes(outcome.bytes),
            outcome.seconds,
            outcome.goodput / 1e6,
            outcome.control
        );
    }
    if outcome.skipped > 0 {
        text += &format!("; {} there already", files(outcome.skipped));
    }
    if outcome.resumed > 0 {
        text += &format!("; {} from before", indicatif::HumanBytes(outcome.resumed));
    }
    text
}
