//! Messages for the kernel's errors about a queue.

use std::io;

use levelflow_host::Error;
use levelflow_host::qdisc::Device;

/// Returns the error that ends a run. Either the device or its queue is gone, or the kernel rejects a request.
#[must_use]
pub fn failed(device: &Device, error: &io::Error) -> Error {
    let name = &device.name;
    match error.raw_os_error() {
        Some(libc::ENODEV) => Error::failed(format!("{name}: the device is gone")),
        Some(libc::ENOENT) => Error::failed(format!(
            "{name}: its queue is gone; another process removed or replaced it"
        )),
        Some(libc::EPERM) => Error::failed(format!(
            "{name}: setting the limit of a queue needs CAP_NET_ADMIN; run it as root (--dry-run needs no privileges)"
        )),
        _ => Error::failed(format!("{name}: its queue: {error}")),
    }
}
