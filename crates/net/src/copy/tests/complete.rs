//! Nothing is lost in silence.

use super::*;

async fn copy_all(session: &Session, from: &[String], to: &str) -> Result<Outcome, Error> {
    let places = from.iter().map(|place| place.parse()).collect::<Result<Vec<Place>, _>>()?;
    let mut run = Run::plan(session, &places, &to.parse()?, Arc::default()).await?;
    run.advance(session, Options { jobs: 4 }).await?;
    Ok(run.outcome(session))
}

/// Directories `a` and `b` with a file of the same name, and one with another.
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
    let ways: [(&dyn Fn(&str) -> String, &str); 2] = [(&local, "in/"), (&remote, "out/")];
    for (place, to) in ways {
        let to = if to == "in/" { remote(to) } else { local(to) };
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
