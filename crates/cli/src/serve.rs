//! Command `levelflow-net serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use levelflow_units::Rate;

use super::options::address;
use levelflow_copy::{PROTOCOL, Server, ServerOptions, folder};
use levelflow_host::Error;
use levelflow_host::journal::Journal;
use levelflow_host::terminal::plain;
use levelflow_quic::{Config, Endpoint, Fingerprint, Identity, Trust};

const EXAMPLES: &str = "Examples:
  levelflow-net serve /srv/data                              # any client may read
  levelflow-net serve /srv/data --upload --token-file token  # clients with the token may read and write
  levelflow-net serve /srv/data --listen 10.0.0.1:4433 --client 9f86d0...  # only the client with that key

The server's key is created at the first start. Clients need its fingerprint, which `serve` prints.
A client chooses the law; files that it downloads are sent under that law, too.";

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// Directory to serve, with its subdirectories; files outside are never served, even through links.
    directory: PathBuf,
    /// Address to listen at (":4433" is every IPv4 address of the machine).
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:4433")]
    listen: String,
    /// Private key of the server, a PEM file; created if missing [default: ~/.config/levelflow/server.pem].
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Allows clients to write files and create directories; by default they may only read. If other machines can reach
    /// the address, --token-file, --client or --anyone must define which clients may write.
    #[arg(long)]
    upload: bool,
    /// Allows every client that reaches the address to write.
    #[arg(long, requires = "upload", conflicts_with_all = ["token_file", "clients"])]
    anyone: bool,
    /// Requires clients to present the token in the first line of this file.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Admits only clients with a key of this fingerprint; may be repeated.
    #[arg(long = "client", value_name = "FINGERPRINT")]
    clients: Vec<Fingerprint>,
    /// Law whose parameters --set changes; other laws use their defaults.
    #[arg(long, default_value = "jetmax")]
    law: String,
    /// Sets a parameter of the law, e.g. tau=0.6; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Upper bound of the sending rate of each connection, such as "100 Mb/s", whatever routers signal.
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Rate>,
    /// Logs the inputs of the laws of downloads, for `levelflow replay FILE`.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Prints only the address and the key.
    #[arg(long)]
    quiet: bool,
}

/// Reads the token in the first line of a file.
pub(super) fn token(file: Option<&PathBuf>) -> Result<Option<String>, Error> {
    let Some(path) = file else { return Ok(None) };
    let named = |why: &dyn std::fmt::Display| Error::input(format!("token file {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| named(&e))?;
    match text.lines().next().map(str::trim) {
        Some(token) if !token.is_empty() && token.len() <= 1024 => Ok(Some(token.to_owned())),
        _ => Err(named(&"a line of 1 to 1024 bytes is allowed")),
    }
}

/// Creates the log of `--journal`.
pub(super) fn journal(file: Option<&Path>) -> Result<Option<Journal>, Error> {
    file.map(|path| Journal::create(path, 1)).transpose()
}

/// Reports an incomplete log as an error. Must be called after all writers of the log have ended.
pub(super) fn ended(journal: Option<&Journal>) -> Result<(), Error> {
    journal
        .and_then(Journal::problem)
        .map_or(Ok(()), |why| Err(Error::failed(why)))
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().build().map_err(Error::failed)
}

impl Serve {
    /// Serves until interrupted.
    ///
    /// # Errors
    /// When the server cannot start.
    pub fn run(&self) -> Result<(), Error> {
        let listen = address("--listen", &self.listen)?;
        self.check(listen)?;
        let options = ServerOptions {
            upload: self.upload,
            token: token(self.token_file.as_ref())?,
        };
        let server = Arc::new(Server::new(&self.directory, options)?);
        let key = match &self.key {
            Some(path) => path.clone(),
            None => folder()?.join("server.pem"),
        };
        let journal = journal(self.journal.as_deref())?;
        let config = Config::new(PROTOCOL)
            .with_journal(journal.clone())
            .with_identity(Identity::load_or_create(&key)?)
            .with_law(&self.law, &self.set)?
            .with_max_rate(self.max_rate);
        let trust = match &self.clients[..] {
            [] => Trust::Anyone,
            keys => Trust::Keys(keys.to_vec()),
        };
        runtime()?.block_on(self.serve(server, config, listen, trust))?;
        ended(journal.as_ref())
    }

    /// Rejects uploads by all clients, unless explicitly allowed.
    fn check(&self, listen: SocketAddr) -> Result<(), Error> {
        let asks = self.anyone || self.token_file.is_some() || !self.clients.is_empty();
        if !self.upload || asks || listen.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(Error::input(format!(
            "--upload: every client that reaches {listen} could write; add --token-file FILE, --client FINGERPRINT or --anyone"
        )))
    }

    async fn serve(&self, server: Arc<Server>, config: Config, listen: SocketAddr, trust: Trust) -> Result<(), Error> {
        let endpoint = Endpoint::bind(listen, config, Some(trust))?;
        let at = endpoint.local_address()?;
        println!("serving {} at {at}", self.directory.display());
        println!("key {}", endpoint.identity().fingerprint());
        let log: fn(&str) = if self.quiet {
            |_| {}
        } else {
            |line| eprintln!("{}", plain(line))
        };
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(Error::failed)?;
        tokio::select! {
            () = server.run(&endpoint, log) => {}
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        // Connected clients are notified. Partial files remain.
        endpoint.close();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), endpoint.finish()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        serve: Serve,
    }

    fn checked(listen: &str, more: &[&str]) -> Result<(), Error> {
        let arguments = [&["serve", "/nowhere", "--listen", listen], more].concat();
        let serve = Alone::try_parse_from(arguments).map_err(Error::input)?.serve;
        serve.check(address("--listen", listen)?)
    }

    #[test]
    fn nobody_lets_everybody_write_by_mistake() {
        let key = "0".repeat(64);
        for listen in ["[::]:4433", "0.0.0.0:4433", ":4433", "192.0.2.1:4433"] {
            let error = checked(listen, &["--upload"]).unwrap_err();
            assert_eq!(error.status(), 2, "{error}");
            checked(listen, &[]).unwrap();
            checked(listen, &["--upload", "--anyone"]).unwrap();
            checked(listen, &["--upload", "--token-file", "token"]).unwrap();
            checked(listen, &["--upload", "--client", &key]).unwrap();
        }
        for listen in ["127.0.0.1:4433", "[::1]:4433", "[::ffff:127.0.0.1]:4433"] {
            checked(listen, &["--upload"]).unwrap();
        }
        checked("[::]:4433", &["--anyone"]).unwrap_err();
        checked("[::]:4433", &["--upload", "--anyone", "--client", &key]).unwrap_err();
    }
}
