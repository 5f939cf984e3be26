//! Result directories. During a run, tables are written as files with parts of their rows. At the end, one file per
//! table replaces these files. If a run is interrupted, its tables are readable. The manifest then contains the
//! simulated time that the tables cover.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Error, reason};
use crate::parquet::{Names, TableFile};
use crate::table::{Recorder, Table};

/// Format identifier in the manifest.
pub const FORMAT: &str = "levelflow result 1";
const TABLES: [&str; 4] = ["flows", "members", "links", "transfers"];
/// Files that an earlier run may have left, in addition to tables.
const STALE_FILES: [&str; 17] = [
    "manifest.json",
    "summary.json",
    "counters.json",
    "rates.png",
    "queues.png",
    "losses.png",
    "transfers.png",
    "overview.png",
    "rates.pdf",
    "queues.pdf",
    "losses.pdf",
    "transfers.pdf",
    "rates.svg",
    "queues.svg",
    "losses.svg",
    "transfers.svg",
    "report.html",
];
/// Scenario file written by a run on the network testbed. The manifest of such a run has the key `network`. In any
/// other directory, this file belongs to the user.
const SCENARIO: &str = "scenario.toml";
/// Rows per row group. The number is constant, so files do not depend on the times at which rows are written.
const ROWS_PER_GROUP: usize = 1 << 18;

/// Result directory of a run in progress.
pub struct Recording {
    path: PathBuf,
    manifest: Value,
    names: Names,
    tables: [Growing; TABLES.len()],
    parts: u32,
}

/// Table that grows during a run. During the run, each flush writes a file with new rows. At the end, a single file
/// replaces these files.
struct Growing {
    name: &'static str,
    /// Rows that no part file contains yet.
    pending: Option<Table>,
    /// Rows that the single file does not contain yet.
    rest: Option<Table>,
    file: Option<TableFile>,
}

impl Recording {
    /// Clears a directory and writes the manifest of a started run. The manifest must contain the resolved `scenario`.
    /// `origin` is the file from which the scenario was read.
    ///
    /// # Errors
    /// Returns an error if the directory is not writable, or is neither empty nor a result directory.
    pub fn new(path: &Path, mut manifest: Value, origin: Option<&Path>) -> Result<Self, Error> {
        clear(path, !manifest["network"].is_null(), origin)?;
        manifest["format"] = json!(FORMAT);
        let names = |kind: &str| {
            let rows = manifest["scenario"][kind].as_array().into_iter().flatten();
            rows.map(|row| row["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let mut recording = Self {
            path: path.to_owned(),
            names: Names::new(names("flows"), names("links")),
            manifest,
            tables: TABLES.map(|name| Growing {
                name,
                pending: None,
                rest: None,
                file: None,
            }),
            parts: 0,
        };
        recording.state("partial", 0.0)?;
        Ok(recording)
    }

    /// Writes a text file next to the tables.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<(), Error> {
        let (temporary, target) = (self.temporary(name), self.path.join(name));
        fs::write(&temporary, text).map_err(Error::at(&temporary))?;
        fs::rename(&temporary, &target).map_err(Error::at(&target))
    }

    /// Writes a value as a JSON file.
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

    /// Writes the appended rows of each table to a new file. Then updates the time in the manifest.
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
        self.state("partial", now_s)
    }

    /// Replaces the part files of each table by one file. Records in the manifest whether the run is complete.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn close(mut self, now_s: f64, complete: bool) -> Result<(), Error> {
        self.flush(now_s)?;
        for i in 0..self.tables.len() {
            self.write_groups(i, true)?;
            let (name, file) = (self.tables[i].name, self.tables[i].file.take());
            let Some(file) = file else { continue };
            let (whole, target, parts) = (
                self.temporary(name),
                self.path.join(format!("{name}.parquet")),
                self.temporary(&format!("{name}.parts")),
            );
            file.close().map_err(Error::at(&whole))?;
            fs::rename(&target, &parts).map_err(Error::at(&target))?;
            fs::rename(&whole, &target).map_err(Error::at(&target))?;
            fs::remove_dir_all(&parts).map_err(Error::at(&parts))?;
        }
        self.state(if complete { "complete" } else { "partial" }, now_s)
    }

    fn write_part(&self, name: &str, rows: &Table) -> Result<(), Error> {
        let folder = self.path.join(format!("{name}.parquet"));
        fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
        let part = format!("part-{:05}.parquet", self.parts);
        let (temporary, target) = (self.temporary(&part), folder.join(&part));
        let write = |file| {
            let mut file = TableFile::create(file, rows)?;
            file.write(rows, &self.names)?;
            file.close()
        };
        File::create(&temporary)
            .and_then(write)
            .map_err(Error::at(&temporary))?;
        fs::rename(&temporary, &target).map_err(Error::at(&target))
    }

    /// Writes complete row groups to the single file of a table. At the end of the run, also writes the remaining rows.
    fn write_groups(&mut self, table: usize, ended: bool) -> Result<(), Error> {
        let whole = self.temporary(self.tables[table].name);
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

    fn state(&mut self, status: &str, now_s: f64) -> Result<(), Error> {
        self.manifest["status"] = json!(status);
        self.manifest["simulated_s"] = json!(now_s);
        self.keep_json("manifest.json", &self.manifest)
    }

    /// Returns the path under which a file is written until it is complete.
    fn temporary(&self, name: &str) -> PathBuf {
        self.path.join(format!(".{name}.tmp"))
    }
}

/// Clears a directory for a new result. Rejects a directory that is neither empty nor a result directory. Also rejects
/// a directory that contains the scenario file of this run.
fn clear(path: &Path, keeps_scenario: bool, origin: Option<&Path>) -> Result<(), Error> {
    let refuse = |problem: &str| Error::Refused(format!("{}: {problem}", path.display()));
    fs::create_dir_all(path).map_err(|e| refuse(&format!("cannot make this directory: {}", reason(&e))))?;
    let entries = fs::read_dir(path).map_err(|e| refuse(&reason(&e)))?;
    let found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let manifest = fs::read(path.join("manifest.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if !found.is_empty() && manifest["format"] != FORMAT {
        return Err(refuse(
            "not empty and not a result directory; choose another with --out",
        ));
    }
    if let Some(origin) = origin {
        let folder = origin
            .canonicalize()
            .ok()
            .and_then(|file| Some(file.parent()?.to_owned()));
        if folder.is_some() && folder == path.canonicalize().ok() {
            let problem = format!(
                "holds the scenario that is to run, {}; choose another with --out",
                origin.display()
            );
            return Err(refuse(&problem));
        }
    }
    let ours = !manifest["network"].is_null();
    if keeps_scenario && !ours && path.join(SCENARIO).exists() {
        return Err(refuse("contains your own scenario.toml; choose another with --out"));
    }
    let tables = TABLES.map(|name| path.join(format!("{name}.parquet")));
    let left = STALE_FILES
        .into_iter()
        .chain(ours.then_some(SCENARIO))
        .map(|name| path.join(name));
    let temporary = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') && name.ends_with(".tmp")
    };
    for old in tables
        .into_iter()
        .chain(left)
        .chain(found.iter().filter(|file| temporary(file)).cloned())
    {
        remove(&old).map_err(|e| Error::Refused(format!("{}: {}", old.display(), reason(&e))))?;
    }
    Ok(())
}

fn remove(old: &Path) -> io::Result<()> {
    let gone = if old.is_dir() {
        fs::remove_dir_all(old)
    } else {
        fs::remove_file(old)
    };
    gone.or_else(|e| {
        if e.kind() == io::ErrorKind::NotFound {
            Ok(())
        } else {
            Err(e)
        }
    })
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
            (&state["status"], &state["simulated_s"]),
            (&json!("partial"), &json!(0.1))
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
        recording.close(1.0, true).unwrap();
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
        drop(Recording::new(dir.path(), manifest(), None).unwrap());
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
        drop(Recording::new(dir.path(), network, None).unwrap());
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
            recording.close(1e6, true).unwrap();
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
        recording.close(1.0, true).unwrap();
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
