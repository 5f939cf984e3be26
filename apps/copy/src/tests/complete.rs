//! Completeness: every file is copied or reported.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

async fn copy_all(session: &Session, from: &[String], to: &str) -> Result<Outcome, Error> {
    let places = from
        .iter()
        .map(|place| place.parse())
        .collect::<Result<Vec<Location>, _>>()?;
    let mut run = CopyRun::plan(session, &places, &to.parse()?, Arc::default()).await?;
    run.advance(session, Options { jobs: 4 }).await?;
    Ok(run.outcome(session))
}

/// Fills the directories `a` and `b`. Each has one file with a common name, and one file with a different name.
fn fill_two(base: &Path) {
    for name in ["a", "b"] {
        fs::create_dir_all(base.join(name).join("d")).unwrap();
        fs::write(base.join(name).join("x"), name).unwrap();
        fs::write(base.join(name).join("d").join(name), name).unwrap();
    }
    fs::write(base.join("b/d/x"), "x").unwrap();
    fs::create_dir_all(base.join("c/x")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sources_for_one_place_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    fs::create_dir_all(&here).unwrap();
    fs::create_dir_all(&there).unwrap();
    fill_two(&here);
    fill_two(&there);
    let (_client, connection) = serve(&there, uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let local = |name: &str| here.join(name).display().to_string();
    let remote = |name: &str| format!("x:1/{name}");
    for up in [true, false] {
        let place = |name: &str| if up { local(name) } else { remote(name) };
        let to = if up { remote("in/") } else { local("out/") };
        for (one, other) in [("a/x", "b/x"), ("a/x", "a/x"), ("a/x", "c/x"), ("c/x", "a/x")] {
            let error = copy_all(&session, &[place(one), place(other)], &to).await.unwrap_err();
            let text = error.to_string();
            assert_eq!(error.status(), 2, "{text}");
            assert!(text.contains(one) && text.contains(other), "{text}");
        }
        let joined = copy_all(&session, &[place("a/d"), place("b/d")], &to).await.unwrap();
        assert_eq!((joined.files, joined.errors.len()), (3, 0), "{joined:?}");
        assert_eq!(copy_all(&session, &[place("a/x")], &to).await.unwrap().files, 1);
    }
    for at in [here.join("out"), there.join("in")] {
        assert_eq!(fs::read(at.join("x")).unwrap(), b"a");
        assert!(at.join("d/a").exists() && at.join("d/b").exists());
    }
}

/// Fills a directory with one file that can be copied and entries that cannot: a name that is not UTF-8, links to a
/// directory, out of the root and to a missing file, and a tree that is too deep.
fn fill_oddly(directory: &Path) {
    fs::create_dir_all(directory.join(vec!["d"; 260].join("/"))).unwrap();
    fs::write(directory.join("f"), "text").unwrap();
    fs::write(directory.join(OsStr::from_bytes(b"\xff")), "text").unwrap();
    symlink("d", directory.join("link")).unwrap();
    symlink("/etc", directory.join("out")).unwrap();
    symlink("gone", directory.join("nothing")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_is_said_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let (from, at) = (folder.path().join("from"), folder.path().join("at"));
    fs::create_dir_all(&at).unwrap();
    fill_oddly(&from);
    let (_client, connection) = serve(folder.path(), uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let local = |name: &str| folder.path().join(name).display().to_string();
    let up = copy(&session, &local("from"), "x:1/up").await.unwrap();
    let down = copy(&session, "x:1/from", &local("down")).await.unwrap();
    for outcome in [up, down] {
        assert_eq!((outcome.files, outcome.errors.len()), (1, 5), "{outcome:?}");
        for why in [
            "UTF-8",
            "256",
            "a link to a directory",
            "leads out",
            "a link to nothing",
        ] {
            assert!(outcome.errors.iter().any(|e| e.contains(why)), "{why}: {outcome:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_files_with_names_of_parts_are_not_passed_over_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::create_dir_all(from.join(".d.part")).unwrap();
    fs::write(from.join(".d.part/f"), "text").unwrap();
    fs::write(from.join(".own.part"), "text").unwrap();
    let (_client, connection) = serve(folder.path(), uploads()).await;
    let session = Session::open(connection, None).await.unwrap();
    let local = |name: &str| folder.path().join(name).display().to_string();
    let up = copy(&session, &local("from"), "x:1/up").await.unwrap();
    assert_eq!((up.files, up.errors.len()), (1, 1), "{up:?}");
    assert!(up.errors[0].contains(".own.part"), "{up:?}");
    // At a server, it is a file in upload.
    let down = copy(&session, "x:1/from", &local("down")).await.unwrap();
    assert_eq!((down.files, down.errors.len()), (1, 0), "{down:?}");
    assert!(folder.path().join("down/.d.part/f").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn why_we_could_not_send_is_not_what_the_server_makes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (at, file) = (folder.path().join("at"), folder.path().join("file"));
    fs::create_dir_all(&at).unwrap();
    // The transfer takes minutes at this rate, so a busy machine does not matter.
    fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
    let (address, key) = start(&at, uploads());
    let slow = Config::new(PROTOCOL).with_law("jetmax", &[]).unwrap();
    let slow = slow.with_max_rate(Some("40 Mb/s".parse().unwrap()));
    let client = Endpoint::bind("127.0.0.1:0".parse().unwrap(), slow, None).unwrap();
    let connection = client.connect(address, Trust::Keys(vec![key])).await.unwrap();
    let session = Session::open(connection, None).await.unwrap();
    let source = file.display().to_string();
    let copying = tokio::spawn(async move { copy(&session, &source, "x:1/").await });
    arrived(&at.join(".file.part"), 1 << 20).await;
    fs::File::options().write(true).open(&file).unwrap().set_len(0).unwrap();
    let done = copying.await.unwrap().unwrap();
    assert_eq!(done.errors, ["file: became shorter while it was sent"]);
}
