//! From where to where: what the words of the command line mean.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::error::CopyError;
use super::root::{Entry, Found, Root, beside, last_name};
use levelflow_host::Error;

/// A place here or at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// `path`; one that looks like a remote place is written `./path`.
    Local(PathBuf),
    /// `host:port/path`, also with `lf://` before it.
    Remote {
        /// `host:port`.
        server: String,
        /// Below the directory that is served; empty for that directory.
        path: String,
        /// It was written with a `/` at its end.
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

/// What a server says is below a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// What is there but not served, with the reason.
    pub left_out: Vec<String>,
}

/// The directory of a server, to plan by.
pub(super) trait Remote {
    /// What is at a path, if anything is.
    async fn stat(&self, path: &str) -> Result<Option<Entry>, CopyError>;
    /// All that is below a directory.
    async fn list(&self, path: &str) -> Result<Listing, CopyError>;
}

/// One file to move, or one directory to make.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub root: Arc<Root>,
    /// Below `root`.
    pub local: String,
    /// Below what is served.
    pub remote: String,
    pub directory: bool,
    pub size: u64,
}

/// All that is to do, directories before what is in them; and what was left out, with the reason.
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

/// Refuses two sources for one place, since only one of them would be left. Directories join.
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

/// Uploads: each source becomes the destination itself or, if that is a directory, one of the same name in it.
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
            Found::Entry(entry) => plan.jobs.push(Job {
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

/// Downloads, likewise.
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
        let below = below.ok_or_else(|| Error::failed(format!("the server lists {:?}, unasked", entry.path)))?;
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
