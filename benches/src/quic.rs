//! Overhead of shims and headers in a copy over QUIC. The reference is the same QUIC library on its own socket.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::packets::process_ns;
use super::{Case, Effort, Row, Sample, in_turn};
use levelflow_copy::{CopyRun, Location, Options, PROTOCOL, Server, ServerOptions, Session};
use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_quic::{Config, Endpoint, Trust};

/// Bytes per unit of work. The unit is a kilobyte of the file.
const UNIT: f64 = 1000.0;

/// Temporary folder. It is in memory if the system has `/dev/shm`. The folder is deleted when dropped, also after a
/// signal.
struct Folder {
    path: PathBuf,
    stop: Stop,
}

impl Folder {
    fn new(bytes: usize) -> Result<Self, Error> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let stop = Stop::on_signals()?;
        let path = base.join(format!(
            "levelflow-bench-{}-{:016x}",
            std::process::id(),
            rand::random::<u64>()
        ));
        let named = |e: std::io::Error| Error::failed(format!("{}: {e}", path.display()));
        // All users can write to the base directory, so the folder must be new and private.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(named)?;
        let folder = Self {
            path: path.clone(),
            stop,
        };
        fs::create_dir(path.join("served")).map_err(named)?;
        let block: Vec<u8> = (0..1_u32 << 20)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        fs::write(path.join("served/file"), block.repeat(bytes >> 20)).map_err(named)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let folder = Folder::new(effort.bytes)?;
    let bare = Config::new(PROTOCOL).bare();
    let wrapped = Config::new(PROTOCOL);
    let shims = |law| Config::new(PROTOCOL).with_law(law, &[]);
    let configs = [
        ("QUIC alone", bare),
        ("our socket, no law", wrapped),
        ("shims of jetmax", shims("jetmax")?),
        ("shims of xcp", shims("xcp")?),
    ];
    let folder = &folder;
    let cases = configs
        .into_iter()
        .map(|(name, config)| -> Case<'_> { (name.to_owned(), Box::new(move || copy(folder, &config, effort.bytes))) });
    in_turn("copy", "kB", effort, cases.collect())
}

fn copy(folder: &Folder, config: &Config, bytes: usize) -> Result<Sample, Error> {
    if folder.stop.within(Duration::ZERO) {
        return Err(Error::failed("bench: stopped"));
    }
    let target = folder.path.join("file");
    let _ = fs::remove_file(&target); // the file does not exist in the first round
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().map_err(Error::failed)?;
    let (seconds, spent) = runtime.block_on(transfer(folder, config))?;
    let arrived = fs::metadata(&target).map_err(Error::failed)?.len();
    if arrived != bytes as u64 {
        return Err(Error::failed(format!("copy: {arrived} of {bytes} bytes arrived")));
    }
    let units = bytes as f64 / UNIT;
    Ok(Sample {
        ns: spent / units,
        per_second: units / seconds,
        program_ns: None,
    })
}

/// Copies the file. Returns the duration, s, and the CPU time of both ends, ns.
async fn transfer(folder: &Folder, config: &Config) -> Result<(f64, f64), Error> {
    let server = Arc::new(Server::new(&folder.path.join("served"), ServerOptions::default())?);
    let serving = Endpoint::bind(([127, 0, 0, 1], 0).into(), config.clone(), Some(Trust::Anyone))?;
    let (address, key) = (serving.local_address()?, serving.identity().fingerprint());
    let task = tokio::spawn(async move { server.run(&serving, |_| {}).await });
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), config.clone(), None)?;
    let connection = endpoint.connect(address, Trust::Keys(vec![key])).await?;
    let session = Session::open(connection, None).await?;
    let source = Location::Remote {
        server: address.to_string(),
        path: "file".to_owned(),
        inside: false,
    };
    let (start, began) = (process_ns(), Instant::now());
    let to = Location::Local(folder.path.clone());
    let mut run = CopyRun::plan(&session, &[source], &to, Arc::default()).await?;
    run.advance(&session, Options { jobs: 1 }).await?;
    let outcome = run.outcome(&session);
    let measured = (began.elapsed().as_secs_f64(), process_ns() - start);
    session.connection().close();
    endpoint.close();
    task.abort();
    match outcome.errors.first() {
        None => Ok(measured),
        Some(error) => Err(Error::failed(format!("copy: {error}"))),
    }
}
