//! Plan of a copy from the sources and the destination on the command line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::error::CopyError;
use super::root::{DirectoryEntry, Found, Root, beside, last_name};
use levelflow_host::Error;

/// Local or remote path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Local `path`. A local path that looks like a remote path is written `./path`.
    Local(PathBuf),
    /// Remote `host:port/path`, also with the prefix `lf://`.
    Remote {
        /// `host:port`.
        server: String,
        /// Path below the served directory; empty for this directory.
        path: String,
        /// True if the path was written with a trailing `/`.
        inside: bool,
    },
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let remote = text.strip_prefix("lf://");
        let (server, path) = remote
            .unwrap_or(text)
            .split_once('/')
            .unwrap_or((remote.unwrap_or(text), ""));
        let port = server.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let is_server = port.is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !is_server && remote.is_some() {
            return Err(Error::input(format!("place {text:?}: lf://host:port/path is allowed")));
        }
        if text.is_empty() {
            return Err(Error::input("place \"\": a path or host:port/path is allowed"));
        }
        if !is_server {
            return Ok(Self::Local(text.into()));
        }
        let plain = path.trim_end_matches('/');
        super::root::check(plain).map_err(Error::input)?;
        Ok(Self::Remote {
            server: server.to_owned(),
            path: plain.to_owned(),
            inside: plain.len() < path.len() || plain.is_empty(),
        })
    }
}

/// Listing of a directory by a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub entries: Vec<DirectoryEntry>,
    /// Entries that exist but are not served, with the reason.
    pub left_out: Vec<String>,
}

/// Access to a server's directory for planning.
pub(super) trait Remote {
    /// Returns the entry at a path, if it exists.
    async fn stat(&self, path: &str) -> Result<Option<DirectoryEntry>, CopyError>;
    /// Lists a directory recursively.
    async fn list(&self, path: &str) -> Result<Listing, CopyError>;
}

/// File to copy, or directory to create.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub root: Arc<Root>,
    /// Path below `root`.
    pub local: String,
    /// Path below the served directory.
    pub remote: String,
    pub directory: bool,
    pub size: u64,
}

/// Jobs, each directory before its contents, and the entries left out, with the reason.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub jobs: Vec<Job>,
    pub left_out: Vec<String>,
}

fn join(directory: &str, name: &str) -> String {
    match (directory, name) {
        ("", name) => name.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}

/// Rejects two sources with the same target, since one would replace the other. Directories are merged.
fn check_targets(jobs: &[Job], up: bool) -> Result<(), Error> {
    let mut taken: HashMap<&str, &Job> = HashMap::with_capacity(jobs.len());
    for job in jobs {
        let target = if up { &job.remote } else { &job.local };
        let other = taken.insert(target, job);
        if let Some(other) = other.filter(|other| !(other.directory && job.directory)) {
            return Err(clash(other, job, up));
        }
    }
    Ok(())
}

fn clash(one: &Job, other: &Job, up: bool) -> Error {
    let (here, there) = (|job: &Job| job.root.show(&job.local), |job: &Job| job.remote.clone());
    let (target, one, other) = if up {
        (there(one), here(one), here(other))
    } else {
        (here(one), there(one), there(other))
    };
    Error::input(format!(
        "{target}: both {one} and {other} would go there; different names or destinations are allowed"
    ))
}

/// Plans uploads: each source becomes the destination or, if that is a directory, an entry with the same name in it.
pub(super) async fn upload(
    session: &impl Remote,
    sources: &[PathBuf],
    destination: &str,
    inside: bool,
) -> Result<Plan, Error> {
    let there = session.stat(destination).await?;
    let into = inside || sources.len() > 1 || there.is_some_and(|entry| entry.directory);
    let mut plan = Plan::default();
    for source in sources {
        let named = |e: std::io::Error| Error::input(format!("{}: {e}", source.display()));
        let full = std::fs::canonicalize(source).map_err(named)?;
        let name = full.file_name().unwrap_or_default();
        let name = name
            .to_str()
            .ok_or_else(|| Error::input(format!("{}: not UTF-8", source.display())))?;
        let target = if into {
            join(destination, name)
        } else {
            destination.to_owned()
        };
        if full.is_dir() {
            upload_directory(&mut plan, source, &target)?;
        } else {
            let (root, name) = beside(&full)?;
            let (_, info) = root.read(&name)?;
            plan.jobs.push(Job {
                root: Arc::new(root),
                local: name,
                remote: target,
                directory: false,
                size: info.size,
            });
        }
    }
    if into && !destination.is_empty() {
        let root = Arc::new(Root::open(Path::new("."))?);
        plan.jobs.insert(0, directory(root, "", destination));
    }
    check_targets(&plan.jobs, true)?;
    Ok(plan)
}

fn directory(root: Arc<Root>, local: &str, remote: &str) -> Job {
    Job {
        root,
        local: local.to_owned(),
        remote: remote.to_owned(),
        directory: true,
        size: 0,
    }
}

fn upload_directory(plan: &mut Plan, source: &Path, target: &str) -> Result<(), Error> {
    let root = Arc::new(Root::open(source)?);
    if !target.is_empty() {
        plan.jobs.push(directory(Arc::clone(&root), "", target));
    }
    for found in root.walk("")? {
        match found? {
            Found::LeftOut(why) => plan.left_out.push(why),
            Found::Arriving(path) => plan.left_out.push(format!(
                "{}: names .*.part are for files that are arriving",
                root.show(&path)
            )),
            Found::DirectoryEntry(entry) => plan.jobs.push(Job {
                root: Arc::clone(&root),
                remote: join(target, &entry.path),
                local: entry.path,
                directory: entry.directory,
                size: entry.size,
            }),
        }
    }
    Ok(())
}

/// Plans downloads: each source becomes the destination or, if that is a directory, an entry with the same name in it.
pub(super) async fn download(session: &impl Remote, sources: &[String], destination: &Path) -> Result<Plan, Error> {
    let ends_open = destination.as_os_str().as_encoded_bytes().ends_with(b"/");
    let into = ends_open || sources.len() > 1 || destination.is_dir();
    if into {
        let named = |e: std::io::Error| Error::failed(format!("{}: {e}", destination.display()));
        std::fs::create_dir_all(destination).map_err(named)?;
    }
    let mut plan = Plan::default();
    for source in sources {
        let there = session.stat(source).await?;
        let there = there.ok_or_else(|| Error::failed(format!("{source}: not at the server")))?;
        let (root, name) = if into {
            (Root::open(destination)?, last_name(source).to_owned())
        } else {
            beside(destination)?
        };
        let root = Arc::new(root);
        plan.jobs.push(Job {
            root: Arc::clone(&root),
            local: name.clone(),
            remote: source.clone(),
            directory: there.directory,
            size: there.size,
        });
        if there.directory {
            download_directory(&mut plan, session, source, &root, &name).await?;
        }
    }
    let mut sizes = plan.jobs.iter().map(|job| job.size);
    if sizes.try_fold(0_u64, u64::checked_add).is_none() {
        return Err(Error::failed(
            "the server lists sizes that add up to more than 2^64 bytes",
        ));
    }
    check_targets(&plan.jobs, false)?;
    Ok(plan)
}

async fn download_directory(
    plan: &mut Plan,
    session: &impl Remote,
    source: &str,
    root: &Arc<Root>,
    name: &str,
) -> Result<(), Error> {
    let listing = session.list(source).await?;
    plan.left_out.extend(listing.left_out);
    for entry in listing.entries {
        let below = match source {
            "" => Some(entry.path.as_str()),
            source => entry.path.strip_prefix(source).and_then(|rest| rest.strip_prefix('/')),
        };
        let below = below.ok_or_else(|| Error::failed(format!("the server lists {:?}, not requested", entry.path)))?;
        super::root::check(below)?;
        plan.jobs.push(Job {
            root: Arc::clone(root),
            local: join(name, below),
            remote: entry.path.clone(),
            directory: entry.directory,
            size: entry.size,
        });
    }
    Ok(())
}
