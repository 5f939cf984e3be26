//! Functions that JavaScript calls. JavaScript first writes a text into the memory that [`input`] allocates. After the
//! call, it reads the output at [`output`]. The output is valid until the next call.
#![expect(
    unsafe_code,
    reason = "an exported name counts as unsafe; nothing here dereferences a pointer"
)]

use std::cell::RefCell;

use levelflow_scenario::{Scenario, describe_laws, describe_queues, lines, read_traces};
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

/// Success. A run has reached the requested time or its end.
const DONE: u32 = 0;
/// Failure. The output is the error message.
const WRONG: u32 = 1;
/// The run has not reached the requested time.
const MORE: u32 = 2;
/// The run has reached its limit of events.
const CUT: u32 = 3;

fn reply<T: Into<Vec<u8>>>(page: &mut Page, found: Result<T, String>) -> u32 {
    let (status, output) = match found {
        Ok(output) => (DONE, output.into()),
        Err(wrong) => (WRONG, wrong.into_bytes()),
    };
    page.output = output;
    status
}

fn with_input(call: impl FnOnce(&str) -> Result<String, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let input = std::mem::take(&mut page.input);
        let text = String::from_utf8_lossy(&input);
        let found = call(&text);
        reply(page, found)
    })
}

fn with_run<T: Into<Vec<u8>>>(call: impl FnOnce(&mut LabRun) -> Result<T, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let found = page
            .run
            .as_mut()
            .ok_or_else(|| "there is no run".to_owned())
            .and_then(call);
        reply(page, found)
    })
}

/// Allocates memory for a text of `length` bytes; returns the address.
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
    with_input(|text| {
        let scenario = Scenario::parse(text).map_err(|e| e.to_string())?;
        limits::exact(&scenario)?;
        Ok(scenario.to_string())
    })
}

/// Replaces the name of each trace file in a link by the changes in the file. The input is JSON: `scenario`, and
/// `files` with the text of each file by name. Folders in the scenario are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn traces() -> u32 {
    with_input(|text| {
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

/// Returns the line number of an error in a scenario file; empty if the error has no line. The input is the text of the
/// error, a NUL byte, and the text of the file.
#[unsafe(no_mangle)]
pub extern "C" fn line() -> u32 {
    with_input(|both| {
        let (error, file) = both.split_once('\0').unwrap_or_default();
        let line = lines(file, [error]).into_iter().flatten().next();
        Ok(line.map_or_else(String::new, |line| line.to_string()))
    })
}

/// Returns laws and queue disciplines with their parameter tables, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() -> u32 {
    with_input(|_| Ok(json!({ "laws": describe_laws(), "queues": describe_queues() }).to_string()))
}

/// Starts the run of a scenario in JSON; returns the description of its network. A `trace` other than 0 enables
/// [`stays`].
#[unsafe(no_mangle)]
pub extern "C" fn open(trace: u32) -> u32 {
    PAGE.with_borrow_mut(|page| {
        page.run = None;
        let input = std::mem::take(&mut page.input);
        let opened = LabRun::new(&String::from_utf8_lossy(&input), trace != 0);
        let found = opened.map(|run| page.run.insert(run).resolved.clone());
        reply(page, found)
    })
}

/// Advances to a time in seconds, but by at most `events` events.
#[unsafe(no_mangle)]
pub extern "C" fn advance(until_s: f64, events: f64) -> u32 {
    let mut progress = Progress::There;
    let status = with_run(|run| {
        progress = run.advance(until_s, events as u64)?;
        Ok("")
    });
    match (status, progress) {
        (DONE, Progress::More) => MORE,
        (DONE, Progress::Cut) => CUT,
        (status, _) => status,
    }
}

/// Changes the sending rate of a CBR flow entry from now on, bit/s.
#[unsafe(no_mangle)]
pub extern "C" fn steer(entry: u32, bps: f64) -> u32 {
    with_run(|run| {
        let steered = run.steer(entry as usize, bps).then_some("");
        steered.ok_or_else(|| "only flows under cbr can be steered".to_owned())
    })
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

/// Returns the rows since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn take() -> u32 {
    with_run(|run| Ok(output::tables(&run.take())))
}

/// Returns exact counters, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn summary() -> u32 {
    with_run(LabRun::summary)
}

/// Returns the stays that ended since the last call, and the stays in progress. A stay is the time that one packet
/// spends at one link.
#[unsafe(no_mangle)]
pub extern "C" fn stays() -> u32 {
    with_run(|run| Ok(output::tables(&[("stays", output::stays(&run.stays()))])))
}
