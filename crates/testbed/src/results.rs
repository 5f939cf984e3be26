//! Result directories as the simulator leaves them: tables in parts while the run goes on, one file each at its end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use levelflow_sim::{Column, Recorder, Summary, Table};
use serde_json::{Value, json};

use super::parquet;
use levelflow_host::Error;

const FORMAT: &str = "levelflow result 1";
const TABLES: [&str; 3] = ["flows", "links", "completions"];
/// What a run before this one may have left.
const LEFT: [&str; 8] = [
    "manifest.json",
    "summary.json",
    "counters.json",
    "scenario.toml",
    "rates.png",
    "queues.png",
    "losses.png",
    "report.html",
];

/// The files of a run while it goes on.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    manifest: Value,
    flows: Vec<String>,
    links: Vec<String>,
    /// Everything up to now, for the files of the end.
    whole: [Option<Table>; 3],
    /// What is not yet on disk.
    pending: [Option<Table>; 3],
    parts: u32,
}

impl Recording {
    /// Makes way in a directory and says there that a run has begun. The manifest needs `raw`, the resolved `scenario`, `seed`
    /// and whatever else is to be known of the run.
    ///
    /// # Errors
    /// When the directory holds something else than a result, or cannot be written.
    pub fn new(path: &Path, mut manifest: Value) -> Result<Self, Error> {
        clear(path)?;
        manifest["format"] = json!(FORMAT);
        let names = |kind: &str| {
            let rows = manifest["scenario"][kind].as_array().into_iter().flatten();
            rows.map(|row| row["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let mut recording = Self {
            path: path.to_owned(),
            flows: names("flows"),
            links: names("links"),
            manifest,
            whole: [None, None, None],
            pending: [None, None, None],
            parts: 0,
        };
        recording.state("partial", 0.0)?;
        Ok(recording)
    }

    /// Keeps the scenario as it runs, so that the simulator can run the same.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_scenario(&self, scenario: &Value) -> Result<(), Error> {
        let text = toml::to_string(scenario).map_err(|e| Error::failed(format!("scenario.toml: {e}")))?;
        write_text(&self.path.join("scenario.toml"), &text)
    }

    /// Adds what was recorded since the last time.
    pub fn append(&mut self, recorder: &mut Recorder) {
        for (i, (_, table)) in recorder.take().into_iter().enumerate() {
            extend(&mut self.pending[i], &table);
            extend(&mut self.whole[i], &table);
        }
    }

    /// Writes what was added as one more part of each table, then how far the run came.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn flush(&mut self, now_s: f64) -> Result<(), Error> {
        for (i, name) in TABLES.iter().enumerate() {
            let Some(table) = self.pending[i].take() else { continue };
            let folder = self.path.join(format!("{name}.parquet"));
            fs::create_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
            self.write(&table, &folder.join(format!("part-{:05}.parquet", self.parts)))?;
        }
        self.parts += 1;
        self.state("partial", now_s)
    }

    /// Turns the parts into files, and states how the run ended; gives the counters as they are written, with `more` of each
    /// flow entry.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn close(mut self, now_s: f64, complete: bool, counters: &Summary, more: &Value) -> Result<Value, Error> {
        self.flush(now_s)?;
        for (i, name) in TABLES.iter().enumerate() {
            let Some(table) = self.whole[i].take() else { continue };
            let target = self.path.join(format!("{name}.parquet"));
            let (merged, parts) = (
                self.path.join(format!(".{name}.merged")),
                self.path.join(format!(".{name}.parts")),
            );
            self.write(&table, &merged)?;
            fs::rename(&target, &parts).map_err(|e| failed(&target, &e))?;
            fs::rename(&merged, &target).map_err(|e| failed(&target, &e))?;
            fs::remove_dir_all(&parts).map_err(|e| failed(&parts, &e))?;
        }
        let mut counters = json!(counters);
        if let (Some(all), Some(more)) = (counters["flows"].as_array_mut(), more.as_array()) {
            for (flow, more) in all.iter_mut().zip(more) {
                if let (Some(flow), Some(more)) = (flow.as_object_mut(), more.as_object()) {
                    flow.extend(more.clone());
                }
            }
        }
        write_text(&self.path.join("counters.json"), &pretty(&counters))?;
        self.state(if complete { "complete" } else { "partial" }, now_s)?;
        Ok(counters)
    }

    fn state(&mut self, status: &str, now_s: f64) -> Result<(), Error> {
        self.manifest["status"] = json!(status);
        self.manifest["simulated_s"] = json!(now_s);
        write_text(&self.path.join("manifest.json"), &pretty(&self.manifest))
    }

    fn write(&self, table: &Table, target: &Path) -> Result<(), Error> {
        let temporary = beside(target);
        let file = File::create(&temporary).map_err(|e| failed(&temporary, &e))?;
        parquet::write(table, &self.flows, &self.links, file)
            .map_err(|e| Error::failed(format!("{}: {e}", temporary.display())))?;
        fs::rename(&temporary, target).map_err(|e| failed(target, &e))
    }
}

fn extend(all: &mut Option<Table>, more: &Table) {
    let Some(all) = all else {
        *all = Some(more.clone());
        return;
    };
    for ((_, column), (_, new)) in all.columns.iter_mut().zip(&more.columns) {
        match (column, new) {
            (Column::F64(a), Column::F64(b)) => a.extend(b),
            (Column::U64(a), Column::U64(b)) => a.extend(b),
            (Column::U32(a), Column::U32(b)) => a.extend(b),
            (Column::I32(a), Column::I32(b)) => a.extend(b),
            _ => unreachable!("a column keeps its kind"),
        }
    }
}

/// Makes way for a result; refuses to touch a directory that holds anything else.
fn clear(path: &Path) -> Result<(), Error> {
    let refuse = |problem: &str| Error::input(format!("{}: {problem}", path.display()));
    fs::create_dir_all(path).map_err(|e| refuse(&format!("cannot make this directory: {}", reason(&e))))?;
    let mut entries = fs::read_dir(path).map_err(|e| refuse(&reason(&e)))?;
    let manifest = fs::read(path.join("manifest.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if entries.next().is_some() && manifest["format"] != FORMAT {
        return Err(refuse(
            "not empty and not a result directory; choose another with --out",
        ));
    }
    if manifest["network"].is_null() && path.join("scenario.toml").exists() {
        return Err(refuse("holds a scenario.toml of yours; choose another with --out"));
    }
    let tables = TABLES.map(|name| format!("{name}.parquet"));
    for name in tables.iter().map(String::as_str).chain(LEFT) {
        let old = path.join(name);
        let gone = if old.is_dir() {
            fs::remove_dir_all(&old)
        } else {
            fs::remove_file(&old)
        };
        match gone {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(refuse(&format!("{name}: {}", reason(&e)))),
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file in one step: it has all of the text or none.
///
/// # Errors
/// When it cannot be written.
pub fn write_text(target: &Path, text: &str) -> Result<(), Error> {
    let temporary = beside(target);
    fs::write(&temporary, text).map_err(|e| failed(&temporary, &e))?;
    fs::rename(&temporary, target).map_err(|e| failed(target, &e))
}

fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.tmp"))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::failed(format!("{}: {}", path.display(), reason(error)))
}

/// What went wrong, as people say it.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use levelflow_sim::{FlowRow, LinkRow};

    fn manifest() -> Value {
        let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        json!({ "scenario": { "flows": named(&["x", "y"]), "links": named(&["A->B"]) } })
    }

    fn row(t: f64, flow: u32, bottleneck: i32) -> FlowRow {
        FlowRow {
            t,
            flow,
            active: 1,
            rate_bps: 5e6,
            window_packets: 0.0,
            proposal_bps: 5e6,
            sent_bps: 5e6,
            delivered_bps: 5e6,
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

    fn summary() -> Summary {
        let (simulated_s, flows, links) = (2.0, Vec::new(), Vec::new());
        Summary {
            simulated_s,
            packet_hops: 0,
            events: 0,
            flows,
            links,
        }
    }

    /// Rows of a file as text.
    fn rows(path: &Path) -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect()
    }

    #[test]
    fn a_run_that_is_killed_leaves_what_was_flushed() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest()).unwrap();
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
        let mut recording = Recording::new(dir.path(), manifest()).unwrap();
        for t in [0.5, 1.0] {
            recording.append(&mut recorded(t));
            recording.flush(t).unwrap();
        }
        recording.close(1.0, true, &summary(), &json!([])).unwrap();
        let rows = rows(&dir.path().join("flows.parquet"));
        assert_eq!(rows.len(), 4);
        let start =
            "{t: 0.5, flow: \"x\", active: 1, bottleneck: \"A->B\", delivered_bps: 5000000.0, lost: 3000000000,";
        assert!(rows[0].starts_with(start), "{}", rows[0]);
        assert!(
            rows[1].contains("flow: \"y\", active: 1, bottleneck: null"),
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
        fs::write(dir.path().join("thesis.tex"), "all of it").unwrap();
        let refused = Recording::new(dir.path(), manifest()).unwrap_err().to_string();
        assert!(refused.contains("not empty and not a result directory"), "{refused}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_scenario_beside_a_result_of_the_simulator_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        drop(Recording::new(dir.path(), manifest()).unwrap());
        let mine = dir.path().join("scenario.toml");
        fs::write(&mine, "all of it").unwrap();
        let refused = Recording::new(dir.path(), manifest()).unwrap_err().to_string();
        assert!(refused.contains("holds a scenario.toml of yours"), "{refused}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), "all of it");
        let ours = json!({ "format": FORMAT, "network": {} });
        fs::write(dir.path().join("manifest.json"), ours.to_string()).unwrap();
        drop(Recording::new(dir.path(), manifest()).unwrap());
        assert!(!mine.exists());
    }

    #[test]
    fn links_have_the_columns_of_the_simulator() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(dir.path(), manifest()).unwrap();
        let mut recorder = Recorder::default();
        recorder.link(&LinkRow {
            t: 1.0,
            link: 0,
            arrival_bps: 1.0,
            peak_bps: 2.0,
            throughput_bps: 3.0,
            queue_bytes: u64::MAX,
            queue_packets: 4,
            queue_max_bytes: 5,
            buffer_packets: 50.0,
            dropped: 6,
            dropped_bytes: 7,
            marked: 0,
            peak_loss: 0.5,
            signal: f64::NAN,
        });
        recording.append(&mut recorder);
        recording.close(1.0, true, &summary(), &json!([])).unwrap();
        let rows = rows(&dir.path().join("links.parquet"));
        let start =
            "{t: 1.0, link: \"A->B\", arrival_bps: 1.0, buffer_packets: 50.0, dropped: 6, dropped_bytes: 7, marked: 0,";
        assert!(rows[0].starts_with(start), "{}", rows[0]);
        assert!(rows[0].contains("queue_bytes: 18446744073709551615"), "{}", rows[0]);
    }
}
