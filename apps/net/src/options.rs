//! Checks of options that several commands have in common.

use std::net::{SocketAddr, ToSocketAddrs};

use levelflow_units::Duration;

use levelflow_host::Error;
use levelflow_host::pid_file::{self, Service, State};
use levelflow_host::privileges::{CapabilitySet, Rights};
use levelflow_host::terminal::plain;

/// Drops all rights, except those to open UDP sockets, to raise the priority, and, with `tcp`, to open TCP sockets.
pub(super) fn drop_rights(tcp: bool) -> Result<(), Error> {
    Rights {
        capabilities: CapabilitySet::NET_BIND_SERVICE | CapabilitySet::SYS_NICE,
        tcp,
        ..Rights::default()
    }
    .keep_only()
}

/// Rejects an interval that is too short for `--every`.
pub(super) fn every(time: Duration) -> Result<(), Error> {
    if time < Duration::from_ms(10) {
        return Err(Error::input(format!("--every {time}: at least 10 ms")));
    }
    Ok(())
}

/// Rejects a metrics server at a public address, unless explicitly allowed.
pub(super) fn metrics(at: Option<SocketAddr>, public: bool) -> Result<(), Error> {
    match at {
        Some(at) if !at.ip().is_loopback() && !public => Err(Error::input(format!(
            "--metrics {at}: other machines could read it; use 127.0.0.1, or add --metrics-public"
        ))),
        _ => Ok(()),
    }
}

/// Rejects values of zero or less.
pub(super) fn above_zero(option: &str, value: f64, example: &str) -> Result<(), Error> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Error::input(format!("{option}: above zero, such as {example}")))
}

/// Parses an address with its port. Without a host, the address is every IPv4 address of the machine.
pub(super) fn address(option: &str, text: &str) -> Result<SocketAddr, Error> {
    let wrong = |why: &str| {
        Error::input(format!(
            "{option} {text}: {why}; write HOST:PORT, such as 127.0.0.1:9000"
        ))
    };
    let full = if text.starts_with(':') {
        format!("0.0.0.0{text}")
    } else {
        text.to_owned()
    };
    let found = full.to_socket_addrs().map_err(|e| wrong(&e.to_string()))?.next();
    found.ok_or_else(|| wrong("no such host"))
}

/// Prints the running programs of a service, as JSON or one per line. With `dev`, prints only the program of this
/// device. Prints the text `none` if no program is running.
pub(super) fn status(
    service: Service,
    dev: Option<&str>,
    json: bool,
    none: &str,
    line: fn(&State) -> String,
) -> Result<(), Error> {
    let mut running = pid_file::running(&pid_file::directory(), service)?;
    running.retain(|state| dev.is_none_or(|dev| state.owner.place == dev));
    if json {
        println!("{}", serde_json::to_string(&running).map_err(Error::failed)?);
    } else if running.is_empty() {
        println!("{none}");
    } else {
        running.iter().for_each(|state| println!("{}", plain(&line(state))));
    }
    Ok(())
}
