//! Clients that never respond, servers that never end, and names unfit for terminals.

use std::net::UdpSocket;
use std::time::Duration;

use super::super::plan::Remote as _;
use super::super::root::{Found, Root};
use super::*;

fn endpoint(admit: Option<Trust>) -> Endpoint {
    let config = Config::new(PROTOCOL).with_law("jetmax", &[]).unwrap();
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), config, admit).unwrap()
}

/// Returns the first datagrams of `count` connections, which get no reply.
fn beginnings(count: usize) -> Vec<Vec<u8>> {
    let hole = UdpSocket::bind("127.0.0.1:0").unwrap();
    hole.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (client, to) = (Arc::new(endpoint(None)), hole.local_addr().unwrap());
    let mut all = Vec::new();
    let mut trying = tokio::task::JoinSet::new();
    for _ in 0..count {
        let client = Arc::clone(&client);
        trying.spawn(async move { client.connect(to, Trust::Anyone).await.is_ok() });
        let mut buffer = [0; 2000];
        let length = tokio::task::block_in_place(|| hole.recv(&mut buffer)).unwrap();
        all.push(buffer[..length].to_vec());
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_never_shows_his_address_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = endpoint(Some(Trust::Anyone));
    let (address, key) = (server.local_address().unwrap(), server.identity().fingerprint());
    let files = Arc::new(Server::new(folder.path(), uploads()).unwrap());
    tokio::spawn(async move { files.run(&server, |_| {}).await });

    let liar = UdpSocket::bind("127.0.0.1:0").unwrap();
    for datagram in beginnings(300) {
        liar.send_to(&datagram, address).unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let client = endpoint(None);
    let connecting = client.connect(address, Trust::Keys(vec![key]));
    let connection = tokio::time::timeout(Duration::from_secs(5), connecting).await;
    let session = Session::open(connection.unwrap().unwrap(), None).await.unwrap();
    assert_eq!(session.list("").await.unwrap().entries, []);
}

/// Serves a listing without end.
async fn endless(server: Endpoint) {
    let connection = server.accept().await.unwrap().finish().await.unwrap();
    while let Ok((mut send, mut receive)) = connection.quic().accept_bi().await {
        if let Request::Hello { .. } = message::read(&mut receive).await.unwrap() {
            message::write(&mut send, &Reply::Done).await.unwrap();
            continue;
        }
        let entry = Reply::DirectoryEntry {
            path: "p".repeat(4000),
            directory: false,
            size: 0,
        };
        while message::write(&mut send, &entry).await.is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_end_is_refused() {
    let server = endpoint(Some(Trust::Anyone));
    let address = server.local_address().unwrap();
    tokio::spawn(endless(server));
    let connection = endpoint(None).connect(address, Trust::Anyone).await.unwrap();
    let session = Session::open(connection, None).await.unwrap();
    let listing = session.list_within("", 1 << 20);
    let listed = tokio::time::timeout(Duration::from_secs(20), listing).await.unwrap();
    let error = listed.unwrap_err().to_string();
    assert!(error.contains("more than 1 MiB of names"), "{error}");
}

/// Serves a directory of files with these sizes.
async fn boasting(server: Endpoint, sizes: &[u64]) {
    let connection = server.accept().await.unwrap().finish().await.unwrap();
    while let Ok((mut send, mut receive)) = connection.quic().accept_bi().await {
        let entry = |name: &str, directory, size| Reply::DirectoryEntry {
            path: format!("d{name}"),
            directory,
            size,
        };
        let files = (1..).zip(sizes).map(|(i, size)| entry(&format!("/{i}"), false, *size));
        let replies: Vec<Reply> = match message::read(&mut receive).await.unwrap() {
            Request::Stat { .. } => vec![entry("", true, 0)],
            Request::List { .. } => files.chain([Reply::Done]).collect(),
            _ => vec![Reply::Done],
        };
        for reply in replies {
            message::write(&mut send, &reply).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sizes_that_nothing_holds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (sizes, fits) in [([u64::MAX - 1, 1], true), ([u64::MAX, 1], false)] {
        let server = endpoint(Some(Trust::Anyone));
        let address = server.local_address().unwrap();
        tokio::spawn(async move { boasting(server, &sizes).await });
        let connection = endpoint(None).connect(address, Trust::Anyone).await.unwrap();
        let session = Session::open(connection, None).await.unwrap();
        let planned = plan::download(&session, &["d".to_owned()], folder.path()).await;
        assert_eq!(planned.is_ok(), fits, "{planned:?}");
    }
}

#[test]
fn a_walk_reads_a_directory_when_it_gets_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("b/c")).unwrap();
    for name in ["a", "b/2", "b/c/3", "d"] {
        fs::write(at(name), name).unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    let mut walk = root.walk("").unwrap();
    let mut next = || match walk.next()? {
        Ok(Found::DirectoryEntry(entry)) => Some(entry.path),
        other => panic!("{other:?}"),
    };
    assert_eq!(next().as_deref(), Some("a"));
    fs::write(at("b/1"), "came late").unwrap();
    let rest: Vec<String> = std::iter::from_fn(next).collect();
    assert_eq!(rest, ["b", "b/1", "b/2", "b/c", "b/c/3", "d"]);
}

#[test]
fn a_walk_goes_256_directories_deep() {
    let folder = tempfile::tempdir().unwrap();
    let path = vec!["d"; 300].join("/");
    fs::create_dir_all(folder.path().join(path)).unwrap();
    let root = Root::open(folder.path()).unwrap();
    let found: Vec<Found> = root.walk("").unwrap().map(Result::unwrap).collect();
    assert_eq!(found.len(), 257);
    assert!(matches!(found.last(), Some(Found::LeftOut(why)) if why.contains("256 directories deep")));
}
