//! Transfers in both directions, with and without errors.

mod complete;
mod hostile;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::{FileInfo, Finish, Reply, Request, Start};
use super::plan::Remote as _;
use super::*;
use levelflow_host::Error;
use levelflow_net_testing::relay::Router;
use levelflow_quic::{Config, Connection, Endpoint, Fingerprint, Trust};

/// Starts a server for a directory.
fn start(directory: &Path, options: ServerOptions) -> (SocketAddr, Fingerprint) {
    let local = "127.0.0.1:0".parse().unwrap();
    let server = Endpoint::bind(local, Config::new(PROTOCOL), Some(Trust::Anyone)).unwrap();
    let place = (server.local_address().unwrap(), server.identity().fingerprint());
    let files = Arc::new(Server::new(directory, options).unwrap());
    tokio::spawn(async move { files.run(&server, |_| {}).await });
    place
}

/// Starts a server for a directory, and connects to it.
async fn serve(directory: &Path, options: ServerOptions) -> (Endpoint, Connection) {
    let (address, key) = start(directory, options);
    connect(address, key).await
}

async fn connect(address: SocketAddr, key: Fingerprint) -> (Endpoint, Connection) {
    let local = "127.0.0.1:0".parse().unwrap();
    let config = Config::new(PROTOCOL).with_law("jetmax", &[]).unwrap();
    let client = Endpoint::bind(local, config, None).unwrap();
    let connection = client.connect(address, Trust::Keys(vec![key])).await.unwrap();
    (client, connection)
}

fn uploads() -> ServerOptions {
    ServerOptions {
        upload: true,
        token: None,
    }
}

/// Waits until a number of bytes of a file has arrived; returns the time.
async fn arrived(part: &Path, bytes: u64) -> Instant {
    while fs::metadata(part).map_or(0, |m| m.len()) < bytes {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Instant::now()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_path_is_filled_by_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let (at, file) = (folder.path().join("at"), folder.path().join("file"));
    fs::create_dir_all(&at).unwrap();
    fs::write(&file, vec![7; 24 << 20]).unwrap();
    let (address, key) = start(&at, uploads());
    let router = Router::start("jetmax", &["gamma=0.95", "interval=30 ms"], 60.0, 500, address);
    let (_client, connection) = connect(router.address(), key).await;
    let session = Session::open(connection, None).await.unwrap();
    let copying = tokio::spawn(async move { copy(&session, file.to_str().unwrap(), "x:1/").await });
    let part = at.join(".file.part");
    let begin = arrived(&part, 1 << 20).await;
    let time = arrived(&part, 20 << 20).await - begin;
    // One stream would take a round trip of 1 s for each 2 MiB; the line takes 2.8 s for the file.
    assert!(time < Duration::from_secs(6), "{time:?}");
    let done = copying.await.unwrap().unwrap();
    assert_eq!((done.files, done.control.as_str()), (1, "jetmax"), "{done:?}");
}

async fn copy(session: &Session, from: &str, to: &str) -> Result<Outcome, Error> {
    let places = [from.parse::<Location>()?];
    let options = Options { jobs: 4 };
    let mut run = CopyRun::plan(session, &places, &to.parse()?, Arc::default()).await?;
    run.advance(session, options).await?;
    Ok(run.outcome(session))
}

/// Fills a directory with all kinds of files.
fn fill(directory: &Path) {
    fs::create_dir_all(directory.join("a/ü/empty")).unwrap();
    fs::write(directory.join("a/none"), "").unwrap();
    fs::write(directory.join("a/ü/naïve ☃.txt"), "snow").unwrap();
    let long: String = "n".repeat(255);
    fs::write(directory.join(&long), "long").unwrap();
    for i in 0..50_usize {
        fs::write(directory.join(format!("a/{i}")), i.to_string().repeat(i * i)).unwrap();
    }
    let big: Vec<u8> = (0..5_000_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(directory.join("big"), big).unwrap();
}

/// Asserts that two directories have equal contents, and that no part is left.
fn assert_same(one: &Path, other: &Path) {
    let compared = std::process::Command::new("diff")
        .arg("-r")
        .args([one, other])
        .output()
        .unwrap();
    assert!(
        compared.status.success(),
        "{}",
        String::from_utf8_lossy(&compared.stdout)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_comes_back_as_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at, back) = (
        folder.path().join("from"),
        folder.path().join("at"),
        folder.path().join("back"),
    );
    fs::create_dir_all(&at).unwrap();
    fill(&from);
    let (_client, connection) = serve(&at, uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let up = copy(&session, from.to_str().unwrap(), "x:1/sub/tree/").await.unwrap();
    assert_eq!((up.files, &up.errors), (54, &Vec::new()));
    assert_same(&from, &at.join("sub/tree/from"));
    let down = copy(&session, "x:1/sub/tree/from", back.to_str().unwrap())
        .await
        .unwrap();
    assert_eq!((down.files, &down.errors), (54, &Vec::new()));
    assert_same(&from, &back);
    assert_eq!(
        fs::metadata(from.join("big")).unwrap().modified().unwrap(),
        fs::metadata(back.join("big")).unwrap().modified().unwrap()
    );
    let again = copy(&session, "x:1/sub/tree/from/", back.to_str().unwrap())
        .await
        .unwrap();
    assert_eq!(again.files, 54, "into an existing directory: {again:?}");
    fs::write(back.join("from/big"), "changed").unwrap();
    let again = copy(&session, "x:1/sub/tree/from", back.to_str().unwrap())
        .await
        .unwrap();
    assert_eq!((again.files, again.skipped), (1, 53));
    assert_same(&from, &back.join("from"));
}

/// Copies a file of 5 MB whose part exists already; returns the bytes sent over the network.
async fn resumed(part: &[u8], up: bool) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let (source, target) = if up { (&here, &there) } else { (&there, &here) };
    fill(source);
    fs::create_dir_all(target).unwrap();
    fs::write(target.join(".big.part"), part).unwrap();
    let (_client, connection) = serve(&there, uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let local = here.join("big").to_str().unwrap().to_owned();
    let done = if up {
        copy(&session, &local, "x:1/big")
    } else {
        copy(&session, "x:1/big", &local)
    };
    let done = done.await.unwrap();
    assert!(done.errors.is_empty(), "{done:?}");
    assert_eq!(
        fs::read(source.join("big")).unwrap(),
        fs::read(target.join("big")).unwrap()
    );
    assert!(!target.join(".big.part").exists());
    assert_eq!(done.bytes + done.resumed, 5_000_000);
    done.bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_arrived_is_used_if_it_is_the_beginning_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let big = fs::read(folder.path().join("big")).unwrap();
    let mut wrong = big[..3_000_000].to_vec();
    wrong[1_000_000] ^= 1;
    for up in [false, true] {
        assert_eq!(resumed(&big[..3_000_000], up).await, 2_000_000);
        assert_eq!(resumed(&big, up).await, 0);
        assert_eq!(resumed(&wrong, up).await, 5_000_000);
        assert_eq!(resumed(&[&big[..], b"more"].concat(), up).await, 5_000_000);
    }
}

async fn ask(connection: &Connection, request: &Request) -> (noq::SendStream, noq::RecvStream) {
    let (mut send, receive) = connection.quic().open_bi().await.unwrap();
    message::write(&mut send, request).await.unwrap();
    (send, receive)
}

async fn refused(connection: &Connection, request: &Request) -> String {
    let (_send, mut receive) = ask(connection, request).await;
    match message::read(&mut receive).await {
        Ok(Reply::Refused { why, .. }) => why,
        other => panic!("{request:?}: {other:?}"),
    }
}

fn get(path: &str) -> Request {
    let (path, part) = (
        path.to_owned(),
        message::Part {
            length: 0,
            hash: String::new(),
        },
    );
    Request::Get { path, part, have: None }
}

fn put(path: &str, size: u64) -> Request {
    let file = FileInfo {
        size,
        modified: 0,
        mode: 0o644,
    };
    Request::Put {
        path: path.to_owned(),
        file,
    }
}

// **Invariant** (The data plane): `copy` reads and writes only inside its directory. A file appears under its name only
// if it is complete and correct, even if the sender or the receiver is killed. With
// `a_file_takes_its_place_only_if_it_is_what_was_sent`, `a_copy_goes_on_after_either_side_was_killed`.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn nothing_outside_the_directory_is_read_or_written() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir_all(inside.join("d")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(outside.join("secret"), inside.join("link")).unwrap();
    symlink("../out", inside.join("way")).unwrap();
    symlink("/", inside.join("root")).unwrap();
    symlink("/proc/self/root", inside.join("magic")).unwrap();
    symlink("d", inside.join("fine")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        inside.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let (_client, connection) = serve(&inside, uploads()).await;
    let paths = [
        "../out/secret",
        "/etc/passwd",
        "d/../../out/secret",
        "link",
        "way/secret",
        "root/etc/passwd",
        "magic/etc/passwd",
        "d//x",
        "./x",
        "..",
        "a\0b",
        "fifo",
        "d",
        "",
    ];
    for path in paths {
        refused(&connection, &get(path)).await;
    }
    let long = "x/".repeat(3000);
    for path in [
        "../out/new",
        "/tmp/new",
        "way/new",
        "root/tmp/new",
        "magic/tmp/new",
        "d",
        "",
        ".x.part",
        &long,
        "no/dir",
    ] {
        refused(&connection, &put(path, 1)).await;
    }
    for path in ["../out/new", "way/new", "root/new", &"d/".repeat(3000)] {
        refused(&connection, &Request::MakeDirectory { path: path.into() }).await;
        let (_, mut stat) = ask(&connection, &Request::Stat { path: path.into() }).await;
        assert!(matches!(
            message::read(&mut stat).await,
            Ok(Reply::Refused { .. } | Reply::Nothing)
        ));
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    let session = Session::open(connection, None).await.unwrap();
    let listed = session.list("").await.unwrap();
    assert_eq!(
        listed.entries.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(),
        ["d"]
    );
    assert_eq!(listed.left_out.len(), 6, "{listed:?}");
    fs::write(folder.path().join("new"), "new").unwrap();
    let up = copy(&session, folder.path().join("new").to_str().unwrap(), "x:1/fine/")
        .await
        .unwrap();
    assert_eq!(up.files, 1, "a link that stays inside is followed: {up:?}");
    assert!(inside.join("d/new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_takes_its_place_only_if_it_is_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "old").unwrap();
    let (_client, connection) = serve(folder.path(), uploads()).await;
    let (mut send, mut receive) = ask(&connection, &put("f", 3)).await;
    assert!(matches!(message::read(&mut receive).await, Ok(Reply::Part(part)) if part.length == 0));
    message::write(&mut send, &Start { offset: 0, lanes: 1 }).await.unwrap();
    send.write_all(b"new").await.unwrap();
    let hash = blake3::hash(b"old").to_hex().to_string();
    message::write(&mut send, &Finish { hash }).await.unwrap();
    assert!(matches!(message::read(&mut receive).await, Ok(Reply::Refused { .. })));
    assert_eq!(fs::read(folder.path().join("f")).unwrap(), b"old");
    assert!(!folder.path().join(".f.part").exists(), "no byte of it is useful");
    // A transfer that ends too early.
    let (mut send, mut receive) = ask(&connection, &put("f", 1000)).await;
    assert!(matches!(message::read(&mut receive).await, Ok(Reply::Part(_))));
    message::write(&mut send, &Start { offset: 0, lanes: 1 }).await.unwrap();
    send.write_all(b"begin").await.unwrap();
    // Until the transfer ends, no other client may write the file.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(refused(&connection, &put("f", 9)).await.contains("another transfer"));
    send.finish().unwrap();
    assert!(matches!(message::read(&mut receive).await, Ok(Reply::Refused { .. })));
    assert_eq!(fs::read(folder.path().join("f")).unwrap(), b"old");
    assert_eq!(fs::read(folder.path().join(".f.part")).unwrap(), b"begin");
    // Wrong offsets, and invalid messages.
    for offset in [1, 6, u64::MAX] {
        let (mut send, mut receive) = ask(&connection, &put("f", 1000)).await;
        assert!(matches!(message::read(&mut receive).await, Ok(Reply::Part(_))));
        message::write(&mut send, &Start { offset, lanes: 1 }).await.unwrap();
        assert!(matches!(message::read(&mut receive).await, Ok(Reply::Refused { .. })));
    }
    for garbage in [
        &b"\xff\xff\xff\xff"[..],
        b"\0\0\0\x02{}",
        b"\0\0\0\x09\"nothing\"",
        b"\0",
    ] {
        let (mut send, mut receive) = connection.quic().open_bi().await.unwrap();
        send.write_all(garbage).await.unwrap();
        send.finish().unwrap();
        assert!(
            matches!(message::read(&mut receive).await, Ok(Reply::Refused { .. })),
            "{garbage:?}"
        );
    }
    assert_eq!(fs::read(folder.path().join(".f.part")).unwrap(), b"begin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_cannot_write_and_a_stranger_can_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "text").unwrap();
    let options = ServerOptions {
        upload: false,
        token: Some("right".into()),
    };
    let (_client, connection) = serve(folder.path(), options).await;
    for request in [get("f"), put("g", 1), Request::List { path: String::new() }] {
        assert!(refused(&connection, &request).await.contains("token"));
    }
    for token in [None, Some("wrong".to_owned())] {
        Session::open(connection.clone(), token).await.unwrap_err();
    }
    let session = Session::open(connection.clone(), Some("right".into())).await.unwrap();
    assert!(session.stat("f").await.unwrap().is_some());
    for request in [put("g", 1), Request::MakeDirectory { path: "h".into() }] {
        assert!(refused(&connection, &request).await.contains("read-only"));
    }
}

/// File system of 1 MB, which is unmounted on drop.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path());
        let mounted = mount.stderr(std::process::Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_in_one_line_and_the_server_goes_on() {
    let Some(small) = Small::mount() else {
        return levelflow_net_testing::skip(
            "a_full_disk_is_said_in_one_line_and_the_server_goes_on",
            "root",
            "a file system cannot be mounted",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let (_client, connection) = serve(small.0.path(), uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let up = copy(&session, folder.path().join("big").to_str().unwrap(), "x:1/")
        .await
        .unwrap();
    assert_eq!(up.errors.len(), 1, "{up:?}");
    assert!(up.errors[0].contains("no space left"), "{up:?}");
    assert!(!small.0.path().join("big").exists());
    assert!(small.0.path().join(".big.part").exists(), "what arrived is kept");
    fs::remove_file(small.0.path().join(".big.part")).unwrap();
    let up = copy(&session, folder.path().join("a/7").to_str().unwrap(), "x:1/")
        .await
        .unwrap();
    assert_eq!((up.files, up.errors.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_here_is_said_in_one_line_and_the_next_file_arrives() {
    let Some(small) = Small::mount() else {
        return levelflow_net_testing::skip(
            "a_full_disk_here_is_said_in_one_line_and_the_next_file_arrives",
            "root",
            "a file system cannot be mounted",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let (_client, connection) = serve(folder.path(), ServerOptions::default()).await;
    let session = Session::open(connection, None).await.unwrap();
    let here = small.0.path().to_str().unwrap();
    let down = copy(&session, "x:1/big", here).await.unwrap();
    assert_eq!((down.files, down.errors.len()), (0, 1), "{down:?}");
    assert!(
        down.errors[0].contains("no space left") && down.errors[0].contains("kept"),
        "{down:?}"
    );
    assert!(!small.0.path().join("big").exists());
    fs::remove_file(small.0.path().join(".big.part")).unwrap();
    let down = copy(&session, "x:1/a/7", here).await.unwrap();
    assert_eq!((down.files, down.errors.len()), (1, 0), "{down:?}");
}

#[test]
fn places_are_told_apart() {
    let remote = |server: &str, path: &str, inside| Location::Remote {
        server: server.into(),
        path: path.into(),
        inside,
    };
    assert_eq!("h:1/a/b".parse::<Location>().unwrap(), remote("h:1", "a/b", false));
    assert_eq!("lf://h:1/a/".parse::<Location>().unwrap(), remote("h:1", "a", true));
    assert_eq!(
        "[::1]:4433".parse::<Location>().unwrap(),
        remote("[::1]:4433", "", true)
    );
    assert_eq!(
        "./h:1/a".parse::<Location>().unwrap(),
        Location::Local("./h:1/a".into())
    );
    assert_eq!("a:b".parse::<Location>().unwrap(), Location::Local("a:b".into()));
    for wrong in ["", "lf://h/a", "h:1/../x", "h:1//etc"] {
        assert_eq!(wrong.parse::<Location>().unwrap_err().status(), 2, "{wrong}");
    }
}
