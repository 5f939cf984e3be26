//! Attachment of the program, by TCX or by the older hook clsact.

use aya::programs::tc::{self, NlOptions, TcAttachOptions, TcHandle};
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use aya::util::KernelVersion;

use super::names::{PROGRAM, failed};
use levelflow_host::Error;

/// Kernel hook for packets that leave a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// TCX link. The kernel removes the link when the process ends for any reason. Requires Linux 6.6.
    Tcx,
    /// Filter of clsact. If the process is killed, the filter remains until [`detach`] removes it.
    Clsact,
}

/// Filter of the router. The kernel rejects a second filter with the same priority and handle. A device therefore has
/// at most one router.
const FILTER: NlOptions = NlOptions {
    priority: 4300,
    handle: TcHandle::new(0, 1),
    classid: None,
};
/// Hardware types whose packets begin with an Ethernet header: Ethernet and loopback.
const ETHERNET: [u16; 2] = [1, 772];

/// Checks that the device exists and uses Ethernet headers.
pub(super) fn check(device: &str) -> Result<(), Error> {
    if nix::net::if_::if_nametoindex(device).is_err() {
        return Err(Error::input(format!("device {device}: no such device (see ip link)")));
    }
    let mut links = nix::ifaddrs::getifaddrs().map_err(|e| Error::failed(format!("device {device}: {e}")))?;
    let ethernet = links.any(|link| {
        let address = link.address.filter(|_| link.interface_name == device);
        address.is_some_and(|address| {
            let link = address.as_link_addr();
            link.is_some_and(|link| ETHERNET.contains(&link.hatype()))
        })
    });
    if ethernet {
        return Ok(());
    }
    Err(Error::input(format!(
        "device {device}: its packets have no Ethernet header; allowed: Ethernet devices"
    )))
}

/// Attaches the program to `hook`. Without a given hook, uses TCX if the kernel supports it, otherwise clsact.
pub(super) fn attach(program: &mut SchedClassifier, device: &str, hook: Option<Hook>) -> Result<Hook, Error> {
    if attached(device)? {
        return Err(Error::failed(format!("device {device}: a router is attached already")));
    }
    let newest = if has_tcx() { Hook::Tcx } else { Hook::Clsact };
    let hook = hook.unwrap_or(newest);
    let options = match hook {
        Hook::Tcx => TcAttachOptions::TcxOrder(LinkOrder::default()),
        Hook::Clsact => {
            // An existing clsact is not an error. After any other problem, the attachment fails with a message.
            let _ = tc::qdisc_add_clsact(device);
            TcAttachOptions::Netlink(FILTER)
        }
    };
    match program.attach_with_options(device, TcAttachType::Egress, options) {
        Ok(_) => Ok(hook),
        Err(e) if hook == Hook::Clsact && format!("{e:?}").contains("code: 17") => Err(Error::failed(format!(
            "device {device}: a router is attached already, or one that was killed left its filter; remove it: levelflow-net router detach --dev {device}"
        ))),
        Err(e) => Err(failed("attach", &e)),
    }
}

fn has_tcx() -> bool {
    KernelVersion::current().is_ok_and(|version| version >= KernelVersion::new(6, 6, 0))
}

/// Returns true if the program of a running router is attached to the device by TCX.
///
/// # Errors
/// When the kernel does not return the list.
pub fn attached(device: &str) -> Result<bool, Error> {
    if !has_tcx() {
        return Ok(false);
    }
    let (_, programs) = SchedClassifier::query_tcx(device, TcAttachType::Egress).map_err(|e| failed("attach", &e))?;
    Ok(programs.iter().any(|p| p.name_as_str() == Some(PROGRAM)))
}

/// Removes the filter that a killed router may have left on a device. Returns true if there was a filter. Do not call
/// this function for a device with a running router.
///
/// # Errors
/// When the kernel rejects the removal.
pub fn detach(device: &str) -> Result<bool, Error> {
    match tc::qdisc_detach_program(device, TcAttachType::Egress, PROGRAM) {
        Ok(()) => Ok(true),
        Err(tc::TcError::IoError(e)) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        // A device without clsact has no filters.
        Err(tc::TcError::NetlinkError(e)) if format!("{e:?}").contains("code: 22") => Ok(false),
        Err(e) => Err(failed("detach", &e)),
    }
}
