//! Connections over loopback, and through a relay that is a router of the law.

mod moving;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use levelflow_sim::replay::replay;

use super::*;
use levelflow_host::Error;
use levelflow_journal::Journal;
use levelflow_laws::explicit_laws;
use levelflow_net_testing::relay::Router;
use levelflow_router::snapshot::Snapshot;

/// Starts a server that reads all data and replies with its length.
fn sink() -> (SocketAddr, Fingerprint) {
    let server = Endpoint::bind(
        "127.0.0.1:0".parse().unwrap(),
        Config::new(b"test"),
        Some(Trust::Anyone),
    )
    .unwrap();
    let place = (server.local_address().unwrap(), server.identity().fingerprint());
    tokio::spawn(async move {
        while let Some(arrival) = server.accept().await {
            tokio::spawn(async move {
                let Ok(connection) = arrival.finish().await else { return };
                while let Ok((mut send, mut receive)) = connection.quic().accept_bi().await {
                    let mut total = 0_u64;
                    while let Ok(Some(chunk)) = receive.read_chunk(1 << 20).await {
                        total += chunk.len() as u64;
                    }
                    let _ = send.write_all(&total.to_be_bytes()).await;
                    let _ = send.finish();
                }
            });
        }
    });
    place
}

fn config(law: &str) -> Config {
    Config::new(b"test").with_law(law, &[]).unwrap()
}

async fn client(config: Config, place: (SocketAddr, Fingerprint)) -> Result<Connection, Error> {
    let own = Endpoint::bind("127.0.0.1:0".parse().unwrap(), config, None)?;
    let connection = own.connect(place.0, Trust::Keys(vec![place.1])).await?;
    // Dropping `own` does not close the socket, because the connection keeps the endpoint's driver alive.
    Ok(connection)
}

/// Measured sending rates of a connection, and the rates that its law permits, in windows of half a second.
struct Course {
    sent: Vec<f64>,
    signalled: Vec<f64>,
    control: Verdict,
}

/// Returns the median of the second half of the windows.
fn settled(windows: &[f64]) -> f64 {
    let mut half = windows[windows.len() / 2..].to_vec();
    half.sort_by(f64::total_cmp);
    half[half.len() / 2]
}

/// Sends for this number of windows.
async fn blast(connection: Connection, windows: usize) -> Course {
    let (mut send, _receive) = connection.quic().open_bi().await.unwrap();
    let writer = tokio::spawn(async move {
        let block = vec![7; 1 << 14];
        while send.write_all(&block).await.is_ok() {}
    });
    let (mut sent, mut signalled) = (Vec::new(), Vec::new());
    for _ in 0..windows {
        let before = connection.status().unwrap().counters.bytes;
        let (begin, mut last, mut bits) = (Instant::now(), Instant::now(), 0.0);
        while begin.elapsed() < Duration::from_millis(500) {
            let rate = connection.status().unwrap().rate.bps();
            tokio::time::sleep(Duration::from_millis(5)).await;
            bits += rate * last.elapsed().as_secs_f64();
            last = Instant::now();
        }
        let bytes = connection.status().unwrap().counters.bytes - before;
        let time = begin.elapsed().as_secs_f64();
        sent.push(bytes as f64 * 8.0 / time);
        signalled.push(bits / time);
    }
    let control = connection.control();
    writer.abort();
    Course {
        sent,
        signalled,
        control,
    }
}

async fn echo_total(connection: &Connection, bytes: usize) -> u64 {
    let (mut send, mut receive) = connection.quic().open_bi().await.unwrap();
    send.write_all(&vec![3; bytes]).await.unwrap();
    send.finish().unwrap();
    let ack = receive.read_to_end(8).await.unwrap();
    u64::from_be_bytes(ack.try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_arrives_whole_with_any_law_and_without() {
    let place = sink();
    for law in explicit_laws().map(|law| law.name) {
        let connection = client(config(law), place).await.unwrap();
        assert_eq!(echo_total(&connection, 3_000_000).await, 3_000_000, "{law}");
        assert_eq!(
            connection.control().control,
            Control::Standard,
            "{law}: the law must not control the rate without a router"
        );
        let status = connection.status().unwrap();
        assert!(status.counters.acks > 5, "{law}: {status:?}");
        assert_eq!(status.counters.refused.total(), 0, "{law}: {status:?}");
    }
    let plain = client(Config::new(b"test"), place).await.unwrap();
    assert_eq!(echo_total(&plain, 3_000_000).await, 3_000_000);
    assert!(plain.status().is_none());
}

#[tokio::test]
async fn a_server_with_another_key_is_refused() {
    let (address, _) = sink();
    let other = Identity::generate().unwrap().fingerprint();
    let error = client(config("rcp"), (address, other)).await.unwrap_err();
    assert_eq!(error.status(), 1);
}

#[tokio::test]
async fn a_client_whose_key_is_not_admitted_gets_no_connection() {
    let admitted = Identity::generate().unwrap();
    let trust = Trust::Keys(vec![admitted.fingerprint()]);
    let server = Endpoint::bind("127.0.0.1:0".parse().unwrap(), Config::new(b"test"), Some(trust)).unwrap();
    let place = (server.local_address().unwrap(), server.identity().fingerprint());
    let accepting = tokio::spawn(async move {
        let first = server.accept().await.unwrap().finish().await;
        (first.is_ok(), server.accept().await.unwrap().finish().await.is_ok())
    });
    if let Ok(connection) = client(config("rcp"), place).await {
        // A client completes its part of the handshake before it receives the refusal.
        connection.quic().closed().await;
    }
    let _kept = client(config("rcp").with_identity(admitted), place).await.unwrap();
    assert_eq!(accepting.await.unwrap(), (false, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inputs_of_a_connection_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let place = sink();
    for law in explicit_laws().map(|law| law.name) {
        let path = folder.path().join(law);
        let router = Router::start(law, &[], 20.0, 2, place.0);
        let journal = Journal::create(&path).unwrap();
        let logged = config(law).with_journal(Some(journal.clone()));
        let connection = client(logged, (router.address(), place.1)).await.unwrap();
        assert_eq!(echo_total(&connection, 500_000).await, 500_000, "{law}");
        assert_eq!(connection.control().control, Control::Law, "{law}");
        assert_eq!(journal.problem(), None);
        let done = replay(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((done.instances.len(), done.difference), (1, None), "{law}");
        let (calls, states) = (done.instances[0].calls, done.instances[0].states);
        assert!(calls > 300 && states > 20, "{law}: {calls} calls, {states} states");
    }
}

/// Shares a line of 5 Mb/s between two connections for 8 s, with this delay in each direction. Returns their rates
/// after convergence, and the router's counters.
async fn share(law: &str, sets: &[&str], delay_ms: u64) -> ([f64; 2], Snapshot) {
    let place = sink();
    let router = Router::start(law, sets, 5.0, delay_ms, place.0);
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let connection = client(config(law), (router.address(), place.1)).await.unwrap();
        tasks.push(tokio::spawn(blast(connection, 16)));
    }
    let mut rates = [0.0; 2];
    for (rate, task) in rates.iter_mut().zip(tasks) {
        let course = task.await.unwrap();
        let Course {
            sent,
            signalled,
            control,
        } = &course;
        assert_eq!(control.control, Control::Law, "{law}");
        let obeyed: Vec<f64> = sent
            .iter()
            .zip(signalled)
            .map(|(sent, signalled)| sent / signalled)
            .collect();
        assert!(
            (settled(&obeyed) - 1.0).abs() < 0.05,
            "{law}: {sent:.0?} b/s, shares of the law's rate: {obeyed:.2?}"
        );
        *rate = settled(sent);
    }
    (rates, router.end())
}

fn alike(rates: [f64; 2]) -> bool {
    (rates[0] / rates[1]).ln().abs() < 0.1
}

#[test]
fn under_jetmax_two_connections_share_equally_and_lose_nothing() {
    in_time(async || {
        let (rates, seen) = share("jetmax", &["gamma=0.95", "interval=30 ms"], 5).await;
        let fair = rates.iter().all(|rate| (rate / 2.375e6 - 1.0).abs() < 0.1);
        assert!(fair && alike(rates), "{rates:.0?} b/s, not 2.375 Mb/s; {seen:?}");
        assert!(seen.counters.dropped == 0, "{seen:?}");
    });
}

/// The equilibrium of RCP is `alpha (C - y) = beta q/d` with capacity `C`, load `y`, queue `q` and mean round-trip time
/// `d`. Bursts cause a queue, so the load stays below the capacity. On a busy machine, bursts are frequent.
#[test]
fn under_rcp_two_connections_share_equally() {
    in_time(async || {
        let (rates, seen) = share("rcp", &[], 50).await;
        let sum = rates[0] + rates[1];
        assert!(alike(rates) && (3e6..5.2e6).contains(&sum), "{rates:.0?} b/s; {seen:?}");
    });
}

/// Runs a measurement, and repeats it while the machine is too busy to keep time.
fn in_time(measure: impl AsyncFn()) {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(measure());
}
