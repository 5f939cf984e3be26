//! Result directories. During a run, tables are written as files with parts of their rows. At the end, one file per
//! table replaces these files. If a run is interrupted, its tables are readable. The manifest then contains the
//! simulated time that the tables cover. A new result replaces an earlier result when the new result is
//! [complete](crate::commit).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use levelflow_files::{MAX_BYTES, create_dirs, replace};
use serde_json::{Value, json};

use crate::commit::{FORMAT, MANIFEST, Place, TABLES};
use crate::error::Error;
use crate::parquet::{Names, TableFile};
use crate::table::{Recorder, Table};

/// Bytes of a manifest for the state of a run, in addition to its scenario.
const MANIFEST_MARGIN: u64 = 1024;
/// Rows per row group. The number is constant, so files do not depend on the times at which rows are written.
const ROWS_PER_GROUP: usize = 1 << 18;

/// Result directory of a run in progress.
pub struct Recording {
    place: Place,
    manifest: Value,
    names: Names,
    tables: [Growing; TABLES.len()],
    parts: u32,
    /// True if a write to the single files has failed.
    is_torn: bool,
}

/// Table that grows during a run. During the run, each flush writes a file with new rows. At the end, a single file
/// replaces these files.
struct Growing {
    name: &'static str,
    /// Rows that no part file contains yet.
    pending: Option<Table>,
    /// Rows that the single file does not contain yet.
    rest: Option<Table>,
    file: Option<TableFile<File>>,
}

impl Recording {
    /// Locks a directory for the result of a started run. An earlier result stays until the new result is complete. The
    /// manifest must contain the resolved `scenario`. `origin` is the file from which the scenario was read.
    ///
    /// # Errors
    /// Returns an error if the directory is not writable, is locked by another process, or is neither empty nor a
    /// result directory. Returns an error if the manifest would be too large to be read again.
    pub fn new(path: &Path, mut manifest: Value, origin: Option<&Path>) -> Result<Self, Error> {
        if format!("{manifest:#}").len() as u64 > MAX_BYTES - MANIFEST_MARGIN {
            let problem =
                "the scenario and the files that it names are larger than 256 MiB, so no result could be read";
            return Err(Error::Refused(format!("{}: {problem}", path.display())));
        }
        let place = Place::claim(path, !manifest["network"].is_null(), origin)?;
        manifest["format"] = json!(FORMAT);
        let names = |kind: &str| {
            let rows = manifest["scenario"][kind].as_array().into_iter().flatten();
            rows.map(|row| row["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        Ok(Self {
            place,
            names: Names::new(names("flows"), names("links")),
            manifest,
            tables: TABLES.map(|name| Growing {
                name,
                pending: None,
                rest: None,
                file: None,
            }),
            parts: 0,
            is_torn: false,
        })
    }

    /// Writes a text file of the result. The file appears with the tables of the result.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.place.whole().join(name);
        fs::write(&path, text).map_err(Error::at(&path))
    }

    /// Writes a value as a JSON file of the result.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep_json(&self, name: &str, value: &Value) -> Result<(), Error> {
        self.keep(name, &format!("{value:#}\n"))
    }

    /// Appends the rows recorded since the previous call to the tables in memory.
    pub fn append(&mut self, recorder: &mut Recorder) {
        for (growing, (_, table)) in self.tables.iter_mut().zip(recorder.take()) {
            for rows in [&mut growing.pending, &mut growing.rest] {
                match rows {
                    Some(rows) => rows.extend(&table),
                    None => *rows = Some(table.clone()),
                }
            }
        }
    }

    /// Stores the appended rows, so that they survive a kill: writes the rows of each table to a new file, then the
    /// time and the number of files to the manifest.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn flush(&mut self, now_s: f64) -> Result<(), Error> {
        for i in 0..self.tables.len() {
            let Some(rows) = self.tables[i].pending.take() else {
                continue;
            };
            if rows.rows() > 0 || self.parts == 0 {
                self.write_part(self.tables[i].name, &rows)?;
            }
            self.write_groups(i, false)?;
        }
        self.parts += 1;
        let mut manifest = self.state("partial", now_s);
        manifest["parts"] = json!(self.parts);
        let path = self.place.base.join(MANIFEST);
        replace(&path, format!("{manifest:#}\n").as_bytes()).map_err(Error::at(&path))
    }

    /// Completes the tables and the manifest, and returns their directory. [`commit`](Self::commit) moves them to their
    /// place.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn finish(&mut self, now_s: f64, complete: bool) -> Result<PathBuf, Error> {
        if self.is_torn {
            let error = io::Error::other("rows are missing after a failed write; the stored rows stay");
            return Err(Error::at(&self.place.whole())(error));
        }
        for i in 0..self.tables.len() {
            self.write_groups(i, true)?;
            let (whole, file) = (self.whole(self.tables[i].name), self.tables[i].file.take());
            let Some(file) = file else { continue };
            let closed = file.close();
            self.is_torn |= closed.is_err();
            closed.map_err(Error::at(&whole))?;
        }
        self.manifest = self.state(if complete { "complete" } else { "partial" }, now_s);
        self.keep_json(MANIFEST, &self.manifest)?;
        Ok(self.place.whole())
    }

    /// Replaces earlier results by the finished result, and returns the directory of the new result. An incomplete
    /// result does not replace an earlier result. It stays in the directory `partial` of the result, or `partial-2` and
    /// so on.
    ///
    /// # Errors
    /// Returns an error if a file cannot be moved. The next access to the directory then finishes the replacement.
    pub fn commit(self) -> Result<PathBuf, Error> {
        let target = self.place.target.clone();
        let complete = self.manifest["status"] == "complete";
        self.place.commit(complete).map_err(Error::at(&target))
    }

    /// Removes all files of the run. An earlier result stays.
    ///
    /// # Errors
    /// Returns an error if a file cannot be removed.
    pub fn discard(self) -> Result<(), Error> {
        let target = self.place.target.clone();
        self.place.discard().map_err(Error::at(&target))
    }

    fn write_part(&self, name: &str, rows: &Table) -> Result<(), Error> {
        let folder = self.place.base.join(format!("{name}.parquet"));
        create_dirs(&folder).map_err(Error::at(&folder))?;
        let part = folder.join(format!("part-{:05}.parquet", self.parts));
        let write = || {
            let mut file = TableFile::create(Vec::new(), rows)?;
            file.write(rows, &self.names)?;
            replace(&part, &file.close()?)
        };
        write().map_err(Error::at(&part))
    }

    /// Writes complete row groups to the single file of a table. At the end of the run, also writes the remaining rows.
    fn write_groups(&mut self, table: usize, ended: bool) -> Result<(), Error> {
        let written = self.grow(table, ended);
        self.is_torn |= written.is_err();
        written
    }

    fn grow(&mut self, table: usize, ended: bool) -> Result<(), Error> {
        let whole = self.whole(self.tables[table].name);
        let growing = &mut self.tables[table];
        let Some(rest) = &mut growing.rest else { return Ok(()) };
        while rest.rows() >= ROWS_PER_GROUP || ended && (rest.rows() > 0 || growing.file.is_none()) {
            let rows = rest.split_front(rest.rows().min(ROWS_PER_GROUP));
            let mut file = if let Some(file) = growing.file.take() {
                file
            } else {
                let file = File::create(&whole).map_err(Error::at(&whole))?;
                TableFile::create(file, &rows).map_err(Error::at(&whole))?
            };
            file.write(&rows, &self.names).map_err(Error::at(&whole))?;
            growing.file = Some(file);
        }
        Ok(())
    }

    /// Returns the manifest at a time.
    fn state(&self, status: &str, now_s: f64) -> Value {
        let mut manifest = self.manifest.clone();
        manifest["status"] = json!(status);
        manifest["simulated_s"] = json!(now_s);
        manifest
    }

    /// Returns the path of the single file of a table until it is committed.
    fn whole(&self, table: &str) -> PathBuf {
        self.place.whole().join(format!("{table}.parquet"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    use crate::table::{FlowRow, LinkRow};

    fn manifest() -> Value {
        let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        json!({ "scenario": { "flows": named(&["x", "y"]), "links": named(&["A->B"]) } })
    }

    fn row(t: f64, flow: u32, bottleneck: i32) -> FlowRow {
        FlowRow {
            t,
            flow,
            active: 1,
            throughput_bps: 5e6,
            goodput_bps: 5e6,
            sending_rate_bps: 5e6,
            law_rate_bps: 5e6,
            window_packets: 0.0,
            proposal_bps: 5e6,
            rtt_s: f64::NAN,
            lost: 3_000_000_000,
            bottleneck,
        }
    }

    fn recorded(t: f64) -> Recorder {
        let mut recorder = Recorder::default();
        recorder.flow(&row(t, 0, 0));
        recorder.flow(&row(t, 1, -1));
        recorder
    }

    /// Returns each row of a file as text.
    fn rows(path: &Path) -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect()
    }

    /// Ends a run and returns the directory of its result.
    fn done(mut recording: Recording, now_s: f64, complete: bool) -> PathBuf {
        recording.finish(now_s, complete).unwrap();
        recording.commit().unwrap()
    }

    #[test]
    fn a_killed_run_keeps_its_flushed_rows() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest(), None).unwrap();
        recording.append(&mut recorded(0.1));
        recording.flush(0.1).unwrap();
        recording.append(&mut recorded(0.2));
        drop(recording);
        let parts = rows(&dir.path().join("flows.parquet/part-00000.parquet"));
        assert_eq!(parts.len(), 2);
        let state: Value = serde_json::from_slice(&fs::read(dir.path().join("manifest.json")).unwrap()).unwrap();
        assert_eq!(
            (&state["status"], &state["simulated_s"], &state["parts"]),
            (&json!("partial"), &json!(0.1), &json!(1))
        );
    }

    #[test]
    fn at_the_end_each_table_is_one_file_with_names_and_nulls() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest(), None).unwrap();
        for t in [0.5, 1.0] {
            recording.append(&mut recorded(t));
            recording.flush(t).unwrap();
        }
        done(recording, 1.0, true);
        let rows = rows(&dir.path().join("flows.parquet"));
        assert_eq!(rows.len(), 4);
        let start =
            "{flow: \"x\", t: 0.5, active: 1, bottleneck: \"A->B\", goodput_bps: 5000000.0, law_rate_bps: 5000000.0,";
        assert!(rows[0].starts_with(start), "{}", rows[0]);
        assert!(
            rows[1].contains("flow: \"y\", t: 0.5, active: 1, bottleneck: null"),
            "{}",
            rows[1]
        );
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert!(
            left.iter().all(|name| !name.to_string_lossy().starts_with('.')),
            "{left:?}"
        );
    }

    #[test]
    fn a_table_with_a_failed_write_does_not_replace_the_stored_rows() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest(), None).unwrap();
        recording.append(&mut recorded(0.1));
        recording.flush(0.1).unwrap();
        let whole = recording.place.whole();
        fs::remove_dir(&whole).unwrap();
        assert!(recording.finish(0.1, true).is_err());
        fs::create_dir(&whole).unwrap();
        let again = recording.finish(0.1, true).unwrap_err().to_string();
        assert!(again.contains("rows are missing after a failed write"), "{again}");
        drop(recording);
        assert_eq!(rows(&dir.path().join("flows.parquet/part-00000.parquet")).len(), 2);
    }

    #[test]
    fn an_earlier_result_stays_until_the_next_one_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let status = |path: &Path| {
            let state: Value = serde_json::from_slice(&fs::read(path.join(MANIFEST)).unwrap()).unwrap();
            (state["status"].clone(), state["simulated_s"].clone())
        };
        let begin = || Recording::new(dir.path(), manifest(), None);
        assert_eq!(done(begin().unwrap(), 1.0, false), dir.path());
        assert_eq!(done(begin().unwrap(), 2.0, true), dir.path());
        fs::write(dir.path().join("notes"), "of the user").unwrap();
        let mut killed = begin().unwrap();
        let second = begin().err().unwrap().to_string();
        assert!(second.contains("another process writes to this directory"), "{second}");
        killed.append(&mut recorded(0.1));
        killed.flush(0.1).unwrap();
        drop(killed);
        assert_eq!(status(dir.path()), (json!("complete"), json!(2.0)));
        assert_eq!(status(&dir.path().join("partial")), (json!("partial"), json!(0.1)));
        let partial = done(begin().unwrap(), 3.0, false);
        assert_eq!(partial, dir.path().join("partial-2"));
        assert_eq!(status(&partial), (json!("partial"), json!(3.0)));
        drop(begin().unwrap());
        assert!(!dir.path().join("partial-3").exists(), "a run without stored rows");
        assert_eq!(status(&dir.path().join("partial")), (json!("partial"), json!(0.1)));
        assert_eq!(status(dir.path()), (json!("complete"), json!(2.0)));
        done(begin().unwrap(), 4.0, true);
        assert_eq!(status(dir.path()), (json!("complete"), json!(4.0)));
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert!(left.len() == 2 && left.iter().any(|name| name == "notes"), "{left:?}");
    }

    #[test]
    fn readers_and_writers_of_an_unfinished_result_share_one_lock() {
        let dir = tempfile::tempdir().unwrap();
        done(Recording::new(dir.path(), manifest(), None).unwrap(), 1.0, true);
        let mut unfinished = Recording::new(dir.path(), manifest(), None).unwrap();
        unfinished.append(&mut recorded(0.1));
        unfinished.flush(0.1).unwrap();
        unfinished.finish(2.0, false).unwrap();
        let partial = dir.path().join("partial");
        fs::rename(partial.join(".whole"), partial.join(".commit")).unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| crate::recover(&partial).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(
                partial.join(".commit").exists(),
                "moved while the writer holds the lock"
            );
            drop(unfinished);
            reader.join().unwrap();
        });
        assert!(partial.join("flows.parquet").is_file() && !partial.join(".commit").exists());
    }

    #[test]
    fn a_manifest_that_could_not_be_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut large = manifest();
        large["raw"] = json!("x".repeat(MAX_BYTES as usize));
        let refused = Recording::new(dir.path(), large, None).err().unwrap().to_string();
        assert!(refused.contains("larger than 256 MiB"), "{refused}");
    }

    #[test]
    fn a_discarded_run_leaves_nothing_but_the_earlier_result() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("result");
        for is_first in [true, false] {
            let mut recording = Recording::new(&target, manifest(), None).unwrap();
            recording.append(&mut recorded(1.0));
            recording.flush(1.0).unwrap();
            recording.discard().unwrap();
            assert_eq!(target.exists(), !is_first, "{is_first}");
            if is_first {
                let mut earlier = Recording::new(&target, manifest(), None).unwrap();
                earlier.append(&mut recorded(2.0));
                done(earlier, 2.0, true);
            }
        }
        assert_eq!(rows(&target.join("flows.parquet")).len(), 2);
        assert!(!target.join("partial").exists() && !target.join(".whole").exists());
    }

    #[test]
    fn a_directory_that_holds_something_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "my text").unwrap();
        let refused = Recording::new(dir.path(), manifest(), None).err().unwrap().to_string();
        assert!(refused.contains("not empty and not a result directory"), "{refused}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_scenario_of_the_user_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        done(Recording::new(dir.path(), manifest(), None).unwrap(), 0.0, true);
        let mine = dir.path().join("scenario.toml");
        fs::write(&mine, "my text").unwrap();
        let mut network = manifest();
        network["network"] = json!({});
        let refused = Recording::new(dir.path(), network.clone(), None)
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("contains your own scenario.toml"), "{refused}");
        let refused = Recording::new(dir.path(), manifest(), Some(&mine))
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("holds the scenario that is to run"), "{refused}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "my text");
        let ours = json!({ "format": FORMAT, "network": {} });
        fs::write(dir.path().join("manifest.json"), ours.to_string()).unwrap();
        done(Recording::new(dir.path(), network, None).unwrap(), 0.0, true);
        assert!(!mine.exists());
    }

    #[test]
    fn files_do_not_depend_on_when_they_were_flushed() {
        let whole = |flushes: &[usize]| {
            let dir = tempfile::tempdir().unwrap();
            let mut recording = Recording::new(dir.path(), manifest(), None).unwrap();
            for t in 0..ROWS_PER_GROUP * 3 / 4 {
                recording.append(&mut recorded(t as f64));
                if flushes.contains(&t) {
                    recording.flush(t as f64).unwrap();
                }
            }
            done(recording, 1e6, true);
            let file = dir.path().join("flows.parquet");
            let groups = SerializedFileReader::new(File::open(&file).unwrap())
                .unwrap()
                .num_row_groups();
            (groups, fs::read(file).unwrap())
        };
        let once = whole(&[]);
        assert_eq!(once.0, 2);
        assert!(once == whole(&[0, 7, ROWS_PER_GROUP / 2 - 1, ROWS_PER_GROUP / 2]));
    }

    #[test]
    fn links_have_the_columns_of_the_simulator() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest(), None).unwrap();
        let mut recorder = Recorder::default();
        recorder.link(&LinkRow {
            t: 1.0,
            link: 0,
            arrival_bps: 1.0,
            peak_bps: 2.0,
            throughput_bps: 3.0,
            backlog_bytes: u64::MAX,
            backlog_packets: 4,
            backlog_max_bytes: 5,
            delayed_packets: 8,
            queueing_delay_mean_s: 0.25,
            queueing_delay_max_s: 0.5,
            buffer_packets: 50.0,
            dropped: 6,
            dropped_bytes: 7,
            marked: 0,
            peak_loss: 0.5,
            signal: f64::NAN,
        });
        recording.append(&mut recorder);
        done(recording, 1.0, true);
        let rows = rows(&dir.path().join("links.parquet"));
        let start =
            "{link: \"A->B\", t: 1.0, arrival_bps: 1.0, backlog_bytes: 18446744073709551615, backlog_max_bytes: 5,";
        assert!(rows[0].starts_with(start), "{}", rows[0]);
        assert!(
            rows[0].contains("delayed_packets: 8, dropped: 6, dropped_bytes: 7,"),
            "{}",
            rows[0]
        );
    }
}
