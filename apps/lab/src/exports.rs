//! What JavaScript calls. Texts go in through [`input`]; whatever comes out lies at [`output`], of length
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

use crate::run::{Progress, Run};
use crate::{limits, output};

#[derive(Default)]
struct Page {
    input: Vec<u8>,
    output: Vec<u8>,
    run: Option<Run>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// The call went well; of a run, that it is where it should be.
const DONE: u32 = 0;
/// The output is what is wrong.
const WRONG: u32 = 1;
/// The run has more to do.
const MORE: u32 = 2;
/// The run has taken all the events that it may.
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

fn of_run<T: Into<Vec<u8>>>(call: impl FnOnce(&mut Run) -> Result<T, String>) -> u32 {
    PAGE.with_borrow_mut(|page| {
        let found = page
            .run
            .as_mut()
            .ok_or_else(|| "there is no run".to_owned())
            .and_then(call);
        answer(page, found)
    })
}

/// Room for a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input = vec![0; length];
        page.input.as_mut_ptr()
    })
}

/// Where the output is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    PAGE.with_borrow(|page| page.output.as_ptr())
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    PAGE.with_borrow(|page| page.output.len())
}

/// A scenario in TOML to the same structure in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn parse() -> u32 {
    asked(|text| {
        let scenario = Scenario::parse(text).map_err(|e| e.to_string())?;
        limits::exact(&scenario)?;
        Ok(scenario.to_string())
    })
}

/// `scenario` and `files`, texts by name, in JSON, to the scenario with changes in place of the traces that its links name.
/// A file goes by its name, whatever folder the scenario expects it in.
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

/// A value as typed, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn value() -> u32 {
    asked(|text| Ok(value_of(text).to_string()))
}

/// The line of a scenario file that an error is about, or nothing; the input is the error, a NUL, and the file.
#[unsafe(no_mangle)]
pub extern "C" fn line() -> u32 {
    asked(|both| {
        let (error, file) = both.split_once('\0').unwrap_or_default();
        Ok(line_of(file, error).map_or_else(String::new, |line| line.to_string()))
    })
}

/// Laws, queue disciplines and buffer algorithms with their parameter tables, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() -> u32 {
    asked(|_| {
        let buffers = describe_buffer_algorithms();
        Ok(json!({ "laws": describe_laws(), "queues": describe_queues(), "buffers": buffers }).to_string())
    })
}

/// Begins the run of a scenario in JSON; the output is what it stands for.
#[unsafe(no_mangle)]
pub extern "C" fn open(trace: u32) -> u32 {
    PAGE.with_borrow_mut(|page| {
        page.run = None;
        let input = std::mem::take(&mut page.input);
        let opened = Run::new(&String::from_utf8_lossy(&input), trace != 0);
        let found = opened.map(|run| page.run.insert(run).resolved.clone());
        answer(page, found)
    })
}

/// Goes on until a time in seconds, for at most so many events.
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

/// Simulated time, s; NaN without a run.
#[unsafe(no_mangle)]
pub extern "C" fn now() -> f64 {
    PAGE.with_borrow(|page| page.run.as_ref().map_or(f64::NAN, Run::now))
}

/// Packets times links they crossed.
#[unsafe(no_mangle)]
pub extern "C" fn packet_hops() -> f64 {
    PAGE.with_borrow(|page| page.run.as_ref().map_or(0.0, |run| run.packet_hops() as f64))
}

/// What has been recorded since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn take() -> u32 {
    of_run(|run| Ok(output::tables(&run.take())))
}

/// Exact counters, in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn summary() -> u32 {
    of_run(Run::summary)
}

/// The stays of packets that ended since the last call, and those that go on.
#[unsafe(no_mangle)]
pub extern "C" fn stays() -> u32 {
    of_run(|run| Ok(output::tables(&[("stays", output::stays(&run.stays()))])))
}
