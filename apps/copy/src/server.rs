//! Server side of transfers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use blake3::Hasher;
use noq::{RecvStream, SendStream, VarInt};
use tokio::sync::Mutex;
use tokio::task::block_in_place;

use super::agreement::agree;
use super::error::CopyError;
use super::lanes::{self, Expected, Rendezvous, lanes_for};
use super::message::{self, FileInfo, Finish, Have, Reply, Request, Start};
use super::part;
use super::root::{DirectoryEntry, Found, Root, last_name};
use super::transfer::{Progress, receive, send};
use levelflow_host::Error;
use levelflow_quic::{Arrival, Connection, Endpoint};

/// Limit on connections; further connections are refused.
const MOST_CONNECTIONS: usize = 256;
/// Code of aborted streams.
const STREAM_RESET_CODE: VarInt = VarInt::from_u32(1);

/// Permissions of clients.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// True if clients may send files.
    pub upload: bool,
    /// Token that clients must present.
    pub token: Option<String>,
}

/// Served directory.
#[derive(Debug)]
pub struct Server {
    root: Root,
    options: ServerOptions,
    connections: AtomicUsize,
}

/// Handler of one stream of a connection.
struct Talk<'a> {
    server: &'a Server,
    connection: &'a Connection,
    admitted: &'a AtomicBool,
    listing: &'a Mutex<()>,
    rendezvous: &'a Rendezvous,
    send: SendStream,
    receive: RecvStream,
}

impl Server {
    /// Creates a server for the files below a directory.
    ///
    /// # Errors
    /// When the directory does not exist.
    pub fn new(directory: &Path, options: ServerOptions) -> Result<Self, Error> {
        Ok(Self {
            root: Root::open_unnamed(directory)?,
            options,
            connections: AtomicUsize::new(0),
        })
    }

    /// Serves until the endpoint is closed; reports to `log`.
    pub async fn run(self: Arc<Self>, endpoint: &Endpoint, log: fn(&str)) {
        while let Some(arrival) = endpoint.accept().await {
            let connections = self.connections.load(Ordering::Relaxed);
            if connections >= MOST_CONNECTIONS {
                arrival.refuse();
                continue;
            }
            // Clients with spoofed addresses get at most half of the slots.
            if connections >= MOST_CONNECTIONS / 2 && !arrival.is_validated() {
                arrival.retry();
                continue;
            }
            self.connections.fetch_add(1, Ordering::Relaxed);
            let server = Arc::clone(&self);
            tokio::spawn(async move {
                Arc::clone(&server).connection(arrival, log).await;
                server.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    async fn connection(self: Arc<Self>, arrival: Arrival, log: fn(&str)) {
        let address = arrival.address();
        let connection = match arrival.finish().await {
            Ok(connection) => connection,
            Err(error) => return log(&format!("refused: {error}")),
        };
        log(&format!("{address}: connected"));
        let admitted = Arc::new(AtomicBool::new(self.options.token.is_none()));
        let listing = Arc::new(Mutex::new(()));
        let rendezvous = Arc::new(Rendezvous::default());
        while let Ok((send, receive)) = connection.quic().accept_bi().await {
            let (server, admitted) = (Arc::clone(&self), Arc::clone(&admitted));
            let (listing, rendezvous) = (Arc::clone(&listing), Arc::clone(&rendezvous));
            let connection = connection.clone();
            tokio::spawn(async move {
                let talk = Talk {
                    server: &server,
                    connection: &connection,
                    admitted: &admitted,
                    listing: &listing,
                    rendezvous: &rendezvous,
                    send,
                    receive,
                };
                talk.run(address, log).await;
            });
        }
        log(&format!("{address}: gone"));
    }
}

impl Talk<'_> {
    async fn run(mut self, address: SocketAddr, log: fn(&str)) {
        let done = match message::read(&mut self.receive).await {
            Ok(Request::Lane { transfer, number }) => {
                return self.rendezvous.join(transfer, number, (self.send, self.receive));
            }
            Ok(request) => self.request(request).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(Some(done)) => log(&format!("{address}: {done} ({})", self.connection.control())),
            Ok(None) => {}
            Err(error) => {
                log(&format!("{address}: {error}"));
                let (why, busy) = (error.to_string(), matches!(error, CopyError::Busy(_)));
                let _ = self.receive.stop(STREAM_RESET_CODE);
                let _ = message::write(&mut self.send, &Reply::Refused { why, busy }).await;
            }
        }
        let _ = self.send.finish();
        // Finished streams are dropped; a client that waits for the reply keeps the connection open.
    }

    async fn request(&mut self, request: Request) -> Result<Option<String>, CopyError> {
        if let Request::Hello { token } = request {
            return self.hello(token.as_deref()).await;
        }
        if !self.admitted.load(Ordering::Relaxed) {
            return Err(Error::failed("a token is needed").into());
        }
        let writes = matches!(request, Request::MakeDirectory { .. } | Request::Put { .. });
        if writes && !self.server.options.upload {
            return Err(Error::failed("read-only: the server takes no files").into());
        }
        match request {
            Request::Hello { .. } | Request::Lane { .. } => Ok(None),
            Request::Stat { path } => self.stat(&path).await,
            Request::List { path } => self.list(&path).await,
            Request::MakeDirectory { path } => {
                self.server.root.make_directory(&path)?;
                self.reply(&Reply::Done).await
            }
            Request::Get { path, part, have } => self.get(&path, &part, have).await,
            Request::Put { path, file } => self.put(&path, &file).await,
        }
    }

    async fn reply(&mut self, reply: &Reply) -> Result<Option<String>, CopyError> {
        message::write(&mut self.send, reply).await.map(|()| None)
    }

    /// Collects the lanes of a transfer after the first; fails if the client is gone.
    async fn gather(
        &self,
        expected: &mut Expected<'_>,
        lanes: usize,
    ) -> Result<Vec<(SendStream, RecvStream)>, CopyError> {
        tokio::select! {
            lanes = expected.gather(lanes) => Ok(lanes?),
            reason = self.connection.quic().closed() => Err(CopyError::lost(&reason)),
        }
    }

    async fn hello(&mut self, token: Option<&str>) -> Result<Option<String>, CopyError> {
        if let Some(wanted) = &self.server.options.token {
            // Hashes are compared in constant time.
            let shown = token.map(|token| blake3::hash(token.as_bytes()));
            if shown != Some(blake3::hash(wanted.as_bytes())) {
                return Err(Error::failed("the token is wrong").into());
            }
            self.admitted.store(true, Ordering::Relaxed);
        }
        self.reply(&Reply::Done).await
    }

    async fn stat(&mut self, path: &str) -> Result<Option<String>, CopyError> {
        let entry = self.server.root.stat(path)?;
        self.reply(&entry.map_or(Reply::Nothing, shown)).await
    }

    async fn list(&mut self, path: &str) -> Result<Option<String>, CopyError> {
        // One listing per connection at a time: a walk stores the names of the directories on its path.
        let _turn = self.listing.lock().await;
        let mut walk = block_in_place(|| self.server.root.walk(path))?;
        while let Some(found) = block_in_place(|| walk.next()) {
            let reply = match found? {
                Found::DirectoryEntry(entry) => shown(entry),
                Found::LeftOut(why) => Reply::LeftOut { why },
                // An incomplete file is listed once it is complete.
                Found::Arriving(_) => continue,
            };
            self.reply(&reply).await?;
        }
        self.reply(&Reply::Done).await
    }

    async fn get(&mut self, path: &str, have: &message::Part, same: Option<Have>) -> Result<Option<String>, CopyError> {
        let (mut file, info) = self.server.root.read(path)?;
        if part::is_part(last_name(path).as_bytes()) {
            return Err(Error::failed(format!("{path}: is arriving")).into());
        }
        let own = Have {
            size: info.size,
            modified: info.modified,
        };
        if same == Some(own) {
            return self.reply(&Reply::Same).await;
        }
        let named = |e: &dyn std::fmt::Display| Error::failed(format!("{path}: {e}"));
        let (offset, hasher) = block_in_place(|| agree(&mut file, info.size, have)).map_err(|e| named(&e))?;
        let lanes = lanes_for(info.size - offset);
        let rendezvous = self.rendezvous;
        let mut expected = rendezvous.expect(self.receive.id().into());
        let reply = Reply::File {
            file: info,
            offset,
            lanes,
        };
        message::write(&mut self.send, &reply).await?;
        let mut further = self.gather(&mut expected, lanes).await?;
        let mut out: Vec<&mut SendStream> = further.iter_mut().map(|(send, _)| send).collect();
        out.insert(0, &mut self.send);
        let none = Progress::default();
        let sent = send(&mut file, offset, info.size, hasher, &mut out, &none).await;
        let finish = match sent {
            Ok(finish) => finish,
            Err(error) => {
                let _ = self.send.reset(STREAM_RESET_CODE);
                return Err(named(&error).into());
            }
        };
        let (hash, control) = (finish.hash, self.connection.control().to_string());
        message::write(&mut self.send, &Reply::Hash { hash, control }).await?;
        Ok(Some(format!("took {path}, {} bytes", info.size - offset)))
    }

    async fn put(&mut self, path: &str, info: &FileInfo) -> Result<Option<String>, CopyError> {
        let own = Have {
            size: info.size,
            modified: info.modified,
        };
        if self.server.root.have(path) == Some(own) {
            return self.reply(&Reply::Same).await;
        }
        let mut part = self.server.root.part(path)?;
        let (length, hasher) = block_in_place(|| part.hash())?;
        let hash = hasher.finalize().to_hex().to_string();
        let rendezvous = self.rendezvous;
        let mut expected = rendezvous.expect(self.receive.id().into());
        self.reply(&Reply::Part(message::Part { length, hash })).await?;
        let Start { offset, lanes } = message::read(&mut self.receive).await?;
        if offset > info.size || (offset != 0 && offset != length) {
            return Err(Error::failed(format!("{path}: nothing ends at byte {offset} here")).into());
        }
        let hasher = if offset == 0 { Hasher::new() } else { hasher };
        part.start(offset)?;
        let mut further = self.gather(&mut expected, lanes::check(lanes)?).await?;
        let mut from: Vec<&mut RecvStream> = further.iter_mut().map(|(_, receive)| receive).collect();
        from.insert(0, &mut self.receive);
        let own = receive(&mut part, offset, info, hasher, &mut from, &Progress::default()).await?;
        let Finish { hash } = message::read(&mut self.receive).await?;
        if own != hash {
            part.discard();
            return Err(Error::failed(format!("{path}: the received file has a wrong hash; send it again")).into());
        }
        block_in_place(|| part.finish(info))?;
        self.reply(&Reply::Done).await?;
        Ok(Some(format!("brought {path}, {} bytes", info.size - offset)))
    }
}

fn shown(entry: DirectoryEntry) -> Reply {
    Reply::DirectoryEntry {
        path: entry.path,
        directory: entry.directory,
        size: entry.size,
    }
}
