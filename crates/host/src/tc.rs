//! Access to the queues and classes below the root of a device, over netlink. Limits of queues can be changed.

use std::fmt;
use std::io;
use std::str::FromStr;

use levelflow_units::Rate;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use serde::{Deserialize, Serialize};

use crate::limit::{Spec, attributes, speed};
use crate::qdisc::{Device, Queue, raw, read};

/// Netlink attribute that holds the options of a queue.
const TCA_OPTIONS: u16 = 2;
/// Netlink attributes of an HTB class.
const HTB_PARMS: u16 = 1;
const HTB_RATE: usize = 0;
const HTB_CEIL: usize = 12;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;

/// Handle of a queue (`10:`) or class (`1:10`), in the notation of `tc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Handle {
    /// Number of the queue, or of the queue that a class belongs to.
    pub major: u16,
    /// Number of the class in its queue; 0 for the queue itself.
    pub minor: u16,
}

impl Handle {
    /// Parent handle of the queue at a device's root.
    pub const ROOT: Self = Self {
        major: u16::MAX,
        minor: u16::MAX,
    };

    /// Handle of the queue that a class belongs to.
    #[must_use]
    pub fn queue(self) -> Self {
        Self { minor: 0, ..self }
    }
}

impl FromStr for Handle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text}: write a handle such as 10:, or a class such as 1:10, as tc shows them");
        let (major, minor) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| match text {
            "" => Some(0),
            _ => u16::from_str_radix(text, 16).ok(),
        };
        match (number(major), number(minor)) {
            (Some(major), Some(minor)) if major > 0 => Ok(Self { major, minor }),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Handle {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> Self {
        handle.to_string()
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}

impl From<TcHandle> for Handle {
    fn from(TcHandle { major, minor }: TcHandle) -> Self {
        Self { major, minor }
    }
}

impl From<Handle> for TcHandle {
    fn from(Handle { major, minor }: Handle) -> Self {
        Self { major, minor }
    }
}

/// Queue or class of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Handle; major 0 if the kernel created the queue by itself. Such a queue cannot be changed.
    pub handle: Handle,
    /// Parent, either a class or [`Handle::ROOT`].
    pub parent: Handle,
    /// Reading of the queue.
    pub queue: Queue,
    /// Options, in the kernel's binary form.
    pub options: Vec<u8>,
}

fn found(message: &TcMessage) -> Found {
    let options = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => options.iter().find_map(raw),
        _ => None,
    });
    Found {
        handle: message.header.handle.into(),
        parent: message.header.parent.into(),
        queue: read(&message.attributes),
        options: options.unwrap_or_default(),
    }
}

/// Rates of an HTB class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Guaranteed rate.
    pub rate: Rate,
    /// Rate limit, including bandwidth borrowed from other classes.
    pub ceil: Rate,
    /// Rule by which the class computes the sizes of packets.
    pub spec: Spec,
}

impl Device {
    /// Finds a queue by its handle. The kernel does not report the parent in this case.
    ///
    /// # Errors
    /// When there is no such queue (`ENOENT`), or the device is gone (`ENODEV`).
    pub fn queue_of(&mut self, handle: Handle) -> io::Result<Found> {
        let found = self.get(|message| message.header.handle = handle.into())?;
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// Finds the queue attached to a class; returns `None` if the kernel created it by itself and hides it.
    ///
    /// # Errors
    /// When there is no such class (`ENOENT`), or the device is gone (`ENODEV`).
    pub fn queue_at(&mut self, class: Handle) -> io::Result<Option<Found>> {
        self.get(|message| message.header.parent = class.into())
    }

    fn get(&mut self, which: impl FnOnce(&mut TcMessage)) -> io::Result<Option<Found>> {
        let mut message = TcMessage::with_index(self.index.cast_signed());
        which(&mut message);
        Ok(match self.request(RouteNetlinkMessage::GetQueueDiscipline(message))? {
            Some(RouteNetlinkMessage::NewQueueDiscipline(message)) => Some(found(&message)),
            _ => None,
        })
    }

    /// Lists all visible queues of the device.
    ///
    /// # Errors
    /// When the kernel does not reply.
    pub fn queues(&mut self) -> io::Result<Vec<Found>> {
        let index = self.index.cast_signed();
        let all = self.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(index)))?;
        let ours = all.iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(message) if message.header.index == index => Some(found(message)),
            _ => None,
        });
        Ok(ours.collect())
    }

    /// Returns the rates of a class; `None` if it is not an HTB class.
    ///
    /// # Errors
    /// When there is no such class, or the device is gone.
    pub fn share_of(&mut self, class: Handle) -> io::Result<Option<Share>> {
        let mut message = TcMessage::with_index(self.index.cast_signed());
        message.header.handle = class.into();
        Ok(match self.request(RouteNetlinkMessage::GetTrafficClass(message))? {
            Some(RouteNetlinkMessage::NewTrafficClass(message)) => share(&found(&message)),
            _ => None,
        })
    }

    /// Changes the options of a queue. Packets in the queue stay, even beyond a smaller limit.
    ///
    /// # Errors
    /// When the process lacks privileges (`EPERM`), or when the queue or the device is gone.
    pub fn change(&mut self, handle: Handle, kind: &str, options: Vec<u8>) -> io::Result<()> {
        let message = change(self.index, handle, kind, options);
        self.request(RouteNetlinkMessage::NewQueueDiscipline(message))
            .map(|_| ())
    }
}

fn change(index: u32, handle: Handle, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.handle = handle.into();
    message.attributes = vec![
        TcAttribute::Kind(kind.to_owned()),
        // The library would wrap each option in an attribute, so the options are passed as raw bytes.
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}

/// Decodes the rates of a class; `None` if it is not an HTB class.
///
/// `struct tc_htb_opt` begins with the rate and the ceiling, 12 bytes each. The last 4 of these 12 bytes contain the
/// value in bytes per second.
#[must_use]
pub fn share(class: &Found) -> Option<Share> {
    if class.queue.kind != "htb" {
        return None;
    }
    let all = attributes(&class.options)?;
    let (_, parms) = all.iter().find(|(kind, _)| *kind == HTB_PARMS)?;
    let rate = |at, wide| Rate::new(speed(&all, parms, at, wide)? as f64 * 8.0);
    Some(Share {
        rate: rate(HTB_RATE, HTB_RATE64)?,
        ceil: rate(HTB_CEIL, HTB_CEIL64)?,
        spec: Spec::read(parms),
    })
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable as _;
    use proptest::prelude::*;

    use super::*;

    fn handle(text: &str) -> Handle {
        text.parse().unwrap()
    }

    #[test]
    fn handles_are_written_as_tc_does() {
        for text in ["1:", "10:", "ffff:", "1:10", "a:ff"] {
            assert_eq!(handle(text).to_string(), text);
        }
        assert_eq!(handle("1f:").major, 31);
        assert_eq!(handle("1:10").queue(), handle("1:"));
        for wrong in ["", "1", ":", ":1", "0:", "x:", "1:2:3", "12345:", "1:-1"] {
            let error = wrong.parse::<Handle>().unwrap_err();
            assert!(error.contains("10:") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn a_change_is_what_the_kernel_expects() {
        let message = change(7, handle("10:"), "pfifo", 5_u32.to_ne_bytes().to_vec());
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        let word = |x: u32| x.to_ne_bytes().to_vec();
        let head = [word(0), word(7), word(0x10_0000), word(0), word(0)].concat();
        // The attribute of the kind has 4 + 6 bytes and is padded to 12. The attribute of the options has 4 + 4 bytes.
        let kind = [&[10, 0, 1, 0][..], b"pfifo\0\0\0"].concat();
        let options = [&[8, 0, 2, 0][..], &word(5)].concat();
        assert_eq!(bytes, [head, kind, options].concat());
    }

    proptest! {
        #[test]
        fn any_options_of_a_class_are_read_or_refused(options in proptest::collection::vec(any::<u8>(), 0..80)) {
            let class = Found {
                handle: Handle::ROOT,
                parent: Handle::ROOT,
                queue: Queue { kind: "htb".into(), ..Queue::default() },
                options,
            };
            let _ = share(&class);
        }
    }
}
