//! TCP connections with load, and requests and replies on them. Both ends use the same frames: a small frame is a
//! request of the client or a reply of the reflector, and a large frame is load.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use levelflow_units::Rate;
use socket2::SockRef;

const MAGIC: [u8; 4] = *b"LFPT";
/// Bytes of the first message of a client: magic, direction of the load, secret of the session, and name of the
/// congestion control.
const HELLO: usize = 32;
/// Bytes of a small frame: its kind and its sequence number.
const SMALL: usize = 8;
/// Bytes of a load frame.
const LOAD: usize = 4096;
const KIND_SMALL: u8 = 0;
const KIND_LOAD: u8 = 1;
/// Limit on data in a socket that TCP has not sent yet (`TCP_NOTSENT_LOWAT`), bytes. Without it, replies queue behind
/// load in the sender.
const MAX_UNSENT: u32 = 16384;
/// Limit on connections of a reflector.
const MAX_CONNECTIONS: usize = 256;
/// Timeout of a connection attempt and of a first message.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Limit on small frames of a connection that are received but not processed. A far end that exceeds it does not read
/// its socket.
pub(crate) const MAX_PENDING: usize = 1024;
/// Interval between two checks for the end of a session.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Load of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The client sends load.
    Up,
    /// The reflector sends load.
    Down,
    /// No load.
    Idle,
}

/// Address of the client that is being served, and secret of its session.
pub(crate) type Served = Arc<Mutex<Option<(IpAddr, u64)>>>;

/// Limit on the rate of all load of a reflector.
struct Pace {
    gap: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// Waits until the next frame may be sent.
    fn wait(&self) {
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let at = (*next).max(Instant::now());
            *next = at + self.gap;
            at
        };
        thread::sleep(at.saturating_duration_since(Instant::now()));
    }
}

/// Sends small frames, and load frames between them if `load` is true, until the connection ends.
fn write(mut stream: TcpStream, smalls: &Receiver<u32>, load: bool, pace: Option<&Pace>, sent: &AtomicU64) {
    let frame = {
        let mut frame = vec![0; LOAD];
        frame[0] = KIND_LOAD;
        frame
    };
    let small = |stream: &mut TcpStream, seq: u32| {
        let mut frame = [0; SMALL];
        frame[0] = KIND_SMALL;
        frame[4..].copy_from_slice(&seq.to_be_bytes());
        stream.write_all(&frame).is_ok()
    };
    loop {
        if !load {
            match smalls.recv() {
                Ok(seq) if small(&mut stream, seq) => continue,
                _ => return,
            }
        }
        match smalls.recv_timeout(Duration::ZERO) {
            Ok(seq) if small(&mut stream, seq) => continue,
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(pace) = pace {
            pace.wait();
        }
        if stream.write_all(&frame).is_err() {
            return;
        }
        sent.fetch_add(LOAD as u64, Ordering::Relaxed);
    }
}

/// Receives frames until the connection ends. Passes the number of each small frame to `take`; counts bytes of load.
fn read(mut stream: TcpStream, mut take: impl FnMut(u32) -> bool, received: &AtomicU64) {
    let mut frame = [0; LOAD];
    while stream.read_exact(&mut frame[..SMALL]).is_ok() {
        let going = match frame[0] {
            KIND_SMALL => take(u32::from_be_bytes([frame[4], frame[5], frame[6], frame[7]])),
            KIND_LOAD => stream.read_exact(&mut frame[SMALL..]).is_ok(),
            _ => false,
        };
        if !going {
            return;
        }
        if frame[0] == KIND_LOAD {
            received.fetch_add(LOAD as u64, Ordering::Relaxed);
        }
    }
}

/// Sets the options of a connection. An empty `control` selects the default congestion control of the system.
fn prepare(stream: &TcpStream, control: &str) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_notsent_lowat(MAX_UNSENT)?;
    if control.is_empty() {
        return Ok(());
    }
    let set = SockRef::from(stream).set_tcp_congestion(control.as_bytes());
    set.map_err(|e| std::io::Error::other(format!("congestion control {control}: {e}")))
}

/// Accepts connections of the served client until `over`. Ends connections when their session ends.
pub(crate) fn serve(listener: &TcpListener, served: &Served, max_rate: Rate, over: &AtomicBool) {
    let current = || *served.lock().unwrap_or_else(PoisonError::into_inner);
    let gap = Duration::from_secs_f64(LOAD as f64 * 8.0 / max_rate.bps().max(1.0));
    let pace = Arc::new(Pace {
        gap,
        next: Mutex::new(Instant::now()),
    });
    let open = Arc::new(AtomicU64::new(0));
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !over.load(Ordering::Relaxed) {
        let Ok((stream, from)) = listener.accept() else {
            // The kernel completes handshakes without this thread, so a sleep delays only the first reply.
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let known = current().filter(|(ip, _)| *ip == from.ip());
        let Some((_, id)) = known.filter(|_| open.load(Ordering::Relaxed) < MAX_CONNECTIONS as u64) else {
            continue;
        };
        let (served, pace, open) = (Arc::clone(served), Arc::clone(&pace), Arc::clone(&open));
        open.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            let _ = stream.set_nonblocking(false);
            let _ = answer(&stream, (from.ip(), id), &served, &pace);
            let _ = stream.shutdown(Shutdown::Both);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Receives the first message of a client. Returns `None` if the connection or the session ends first, or at `end`.
fn receive_hello(
    mut stream: &TcpStream,
    end: Instant,
    is_served: impl Fn() -> bool,
) -> std::io::Result<Option<[u8; HELLO]>> {
    stream.set_read_timeout(Some(CHECK_INTERVAL))?;
    let (mut hello, mut filled) = ([0; HELLO], 0);
    while filled < HELLO && is_served() && Instant::now() < end {
        match stream.read(&mut hello[filled..]) {
            Ok(0) => return Ok(None),
            Ok(length) => filled += length,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
    Ok((filled == HELLO).then_some(hello))
}

/// Serves one connection until it or its session ends.
fn answer(stream: &TcpStream, session: (IpAddr, u64), served: &Served, pace: &Arc<Pace>) -> std::io::Result<()> {
    let is_served = || *served.lock().unwrap_or_else(PoisonError::into_inner) == Some(session);
    let Some(hello) = receive_hello(stream, Instant::now() + TIMEOUT, is_served)? else {
        return Ok(());
    };
    let id = u64::from_be_bytes([
        hello[8], hello[9], hello[10], hello[11], hello[12], hello[13], hello[14], hello[15],
    ]);
    if hello[..4] != MAGIC || id != session.1 {
        return Ok(());
    }
    let control = String::from_utf8_lossy(&hello[16..]);
    prepare(stream, control.trim_end_matches('\0'))?;
    stream.set_read_timeout(None)?;
    let load = hello[4] == Direction::Down as u8;
    let (replies, due) = sync_channel(MAX_PENDING);
    let (input, output, pace) = (stream.try_clone()?, stream.try_clone()?, Arc::clone(pace));
    let count = AtomicU64::new(0);
    let writer = thread::spawn(move || write(output, &due, load, Some(&pace), &count));
    let reader = thread::spawn(move || read(input, |seq| replies.try_send(seq).is_ok(), &AtomicU64::new(0)));
    while is_served() && !reader.is_finished() && !writer.is_finished() {
        thread::sleep(CHECK_INTERVAL);
    }
    Ok(())
}

/// Connection of a client.
pub(crate) struct Connection {
    stream: TcpStream,
    requests: SyncSender<u32>,
    reader: thread::JoinHandle<()>,
}

/// Far end of connections.
#[derive(Debug, Clone)]
pub(crate) struct FarEnd {
    /// Address of the reflector.
    pub(crate) at: SocketAddr,
    /// Secret of the session.
    pub(crate) id: u64,
    /// Congestion control of both ends; empty for the defaults of the systems.
    pub(crate) control: String,
}

impl FarEnd {
    /// Opens a connection. Returns it with the time of its handshake.
    fn connect(&self, direction: Direction) -> std::io::Result<(TcpStream, Duration)> {
        let begun = Instant::now();
        let mut stream = TcpStream::connect_timeout(&self.at, TIMEOUT)?;
        let handshake = begun.elapsed();
        prepare(&stream, &self.control)?;
        let mut hello = [0; HELLO];
        hello[..4].copy_from_slice(&MAGIC);
        hello[4] = direction as u8;
        hello[8..16].copy_from_slice(&self.id.to_be_bytes());
        for (room, byte) in hello[16..].iter_mut().zip(self.control.bytes()) {
            *room = byte;
        }
        stream.write_all(&hello)?;
        Ok((stream, handshake))
    }

    /// Times of a request on a connection of its own: the handshake, and the request after it, s.
    pub(crate) fn foreign_probe(&self) -> std::io::Result<(f64, f64)> {
        let begun = Instant::now();
        let (mut stream, handshake) = self.connect(Direction::Idle)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut frame = [0; SMALL];
        stream.write_all(&frame)?;
        stream.read_exact(&mut frame)?;
        let request = begun.elapsed().saturating_sub(handshake);
        Ok((handshake.as_secs_f64(), request.as_secs_f64()))
    }
}

impl Connection {
    /// Opens a connection with load. Passes the number of each reply to `replies`. Adds the bytes of load to `bytes`.
    pub(crate) fn open(
        far: &FarEnd,
        direction: Direction,
        bytes: &Arc<AtomicU64>,
        replies: SyncSender<(u32, Instant)>,
    ) -> std::io::Result<Self> {
        let (stream, _) = far.connect(direction)?;
        let (requests, due) = sync_channel(MAX_PENDING);
        let (input, output) = (stream.try_clone()?, stream.try_clone()?);
        let (sent, received) = match direction {
            Direction::Up => (Arc::clone(bytes), Arc::default()),
            _ => (Arc::default(), Arc::clone(bytes)),
        };
        thread::spawn(move || write(output, &due, direction == Direction::Up, None, &sent));
        let reader =
            thread::spawn(move || read(input, |seq| replies.try_send((seq, Instant::now())).is_ok(), &received));
        Ok(Self {
            stream,
            requests,
            reader,
        })
    }

    /// Requests a reply with this number. Returns false if too many requests are pending.
    pub(crate) fn request(&self, seq: u32) -> bool {
        self.requests.try_send(seq).is_ok()
    }

    /// True if the far end has closed the connection.
    pub(crate) fn is_over(&self) -> bool {
        self.reader.is_finished()
    }

    /// Name of the congestion control at this end.
    pub(crate) fn congestion_control(&self) -> Option<String> {
        let name = SockRef::from(&self.stream).tcp_congestion().ok()?;
        let name = String::from_utf8_lossy(&name);
        Some(name.trim_end_matches('\0').to_owned())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ends of a connection: client and reflector.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_first_message_ends_with_its_deadline_and_with_its_session() {
        let (mut client, far) = pair();
        let soon = Instant::now() + Duration::from_millis(100);
        client.write_all(&[0; HELLO - 1]).unwrap();
        assert!(receive_hello(&far, soon, || true).unwrap().is_none());
        let never = soon + Duration::from_secs(86_400);
        assert!(receive_hello(&far, never, || false).unwrap().is_none());
        client.write_all(&[7; HELLO]).unwrap();
        assert_eq!(receive_hello(&far, never, || true).unwrap(), Some([7; HELLO]));
    }

    #[test]
    fn a_client_that_does_not_read_is_disconnected() {
        let (mut client, far) = pair();
        let session = (client.local_addr().unwrap().ip(), 5);
        let served = Served::new(Mutex::new(Some(session)));
        let pace = Arc::new(Pace {
            gap: Duration::ZERO,
            next: Mutex::new(Instant::now()),
        });
        let serving = thread::spawn(move || {
            let ended = answer(&far, session, &served, &pace);
            let _ = far.shutdown(Shutdown::Both);
            ended
        });
        let mut hello = [0; HELLO];
        hello[..4].copy_from_slice(&MAGIC);
        hello[4] = Direction::Idle as u8;
        hello[8..16].copy_from_slice(&session.1.to_be_bytes());
        client.write_all(&hello).unwrap();
        // 128 MiB of requests exceed all socket buffers.
        let requests = [0; 1024 * SMALL];
        assert!((0..16_384).any(|_| client.write_all(&requests).is_err()));
        serving.join().unwrap().unwrap();
    }
}
