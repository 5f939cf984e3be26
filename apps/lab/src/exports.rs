//! Functions for JavaScript. Texts are passed through [`input`]. The output is at [`output`], of length
//! [`output_length`], until the next call.
#![expect(
    unsafe_code,
    reason = "an exported name counts as unsafe; nothing here dereferences a pointer"
)]

use std::cell::RefCell;

use levelflow_scenario::{
    Scenario, describe_buffer_algorithms, describe_laws, describe_queues, line as line_of, read_traces, value_of,
};
use serde_json::{Value, json};

use crate::run::{LabRun, Progress};
use crate::{limits, output};

#[derive(Default)]
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    run: Option<LabRun>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Success; for a run, the requested time is reached.
const DONE: u32 = 0;
/// Failure; the output is the error message.
const WRONG: u32 = 1;
/// The run has more to simulate.
const MORE: u32 = 2;
/// The run has reached its limit of events.
const CUT: u32 = 3;

fn answer<T: Into<Vec<u8>>>(page: &mut Page, found: Result<T, String>) -> u32 {
    let (status, output) = match found {
        Ok(output) => (DONE, output.into()),
        Err(wrong) => (WRONG, wrong.into_bytes()),
    };
    page.output = output;
    status
}

fn asked(call: impl FnOnce(&str) -> Result<String, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let input = std::mem::take(&mut page.input);
        let text = String::from_utf8_lossy(&input);
        let found = call(&text);
        answer(page, found)
    })
}

fn of_run<T: Into<Vec<u8>>>(call: impl FnOnce(&mut LabRun) -> Result<T, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let found = page
            .run
            .as_mut()
            .ok_or_else(|| "there is no run".to_owned())
            .and_then(call);
        answer(page, found)
    })
}

/// Allocates room for a text of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input = vec![0; length];
        page.input.as_mut_ptr()
    })
}

/// Returns the address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    PAGE.with_borrow(|page| page.output.as_ptr())
}

/// Returns the length of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    PAGE.with_borrow(|page| page.output.len())
}

/// Converts a scenario from TOML to the same structure in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn parse() -> u32 {
    asked(|text| {
        let scenario = Scenario::parse(text).map_err(|e| e.to_string())?;
        limits::exact(&scenario)?;
        Ok(scenario.to_string())
    })
}

/// Replaces each trace file that a link names by the changes in this file. The input is JSON with `scenario`, and with
/// `files`, a text per name. Files are found by name, regardless of the folder in the scenario.
#[unsafe(no_mangle)]
pub extern "C" fn traces() -> u32 {
    asked(|text| {
        let mut both: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let mut scenario = both["scenario"].take();
        let read = |path: &str| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            let lacking = "a page cannot reach this file; open it together with the scenario file";
            both["files"][name]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| lacking.to_owned())
        };
        read_traces(&mut scenario, read).map_err(|e| e.to_string())?;
        Ok(scenario.to_string())
    })
}

/// Parses a typed value; returns it in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn value() -> u32 {
    asked(|text| Ok(value_of(text).to_string()))
}

/// Returns the line of a scenario file that an error refers to, or nothing. The input is the error, a NUL, and the
/// file.
#[unsafe(no_mangle)]
pub extern "C" fn line() -> u32 {
    asked(|both| {
        let (error, file) = both.split_once('\0').unwrap_or_default();
        Ok(line_of(file, error).map_or_else(String::new, |line| line.to_string()))
    })
}

/// Returns laws, queue disciplines and buffer algorithms with their parameter tables, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() -> u32 {
    asked(|_| {
        let buffers = describe_buffer_algorithms();
        Ok(json!({ "laws": describe_laws(), "queues": describe_queues(), "buffers": buffers }).to_string())
    })
}

/// Starts the run of a scenario in JSON; the output is the description of its network.
#[unsafe(no_mangle)]
pub extern "C" fn open(trace: u32) -> u32 {
    PAGE.with_borrow_mut(|page| {
        page.run = None;
        let input = std::mem::take(&mut page.input);
        let opened = LabRun::new(&String::from_utf8_lossy(&input), trace != 0);
        let found = opened.map(|run| page.run.insert(run).resolved.clone());
        answer(page, found)
    })
}

/// Advances to a time in seconds, or by at most `events` events.
#[unsafe(no_mangle)]
pub extern "C" fn advance(until_s: f64, events: f64) -> u32 {
    let mut progress = Progress::There;
    let status = of_run(|run| {
        progress = run.advance(until_s, events as u64)?;
        Ok("")
    });
    match (status, progress) {
        (DONE, Progress::More) => MORE,
        (DONE, Progress::Cut) => CUT,
        (status, _) => status,
    }
}

/// Returns the simulated time, s; NaN without a run.
#[unsafe(no_mangle)]
pub extern "C" fn now() -> f64 {
    PAGE.with_borrow(|page| page.run.as_ref().map_or(f64::NAN, LabRun::now))
}

/// Returns the number of link crossings, summed over all packets.
#[unsafe(no_mangle)]
pub extern "C" fn packet_hops() -> f64 {
    PAGE.with_borrow(|page| page.run.as_ref().map_or(0.0, |run| run.packet_hops() as f64))
}

/// Returns rows recorded since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn take() -> u32 {
    of_run(|run| Ok(output::tables(&run.take())))
}

/// Returns exact counters, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn summary() -> u32 {
    of_run(LabRun::summary)
}

/// Returns the stays of packets at links that ended since the last call, and the stays in progress.
#[unsafe(no_mangle)]
pub extern "C" fn stays() -> u32 {
    of_run(|run| Ok(output::tables(&[("stays", output::stays(&run.stays()))])))
}
