//! Line behind a queue, with its rate and the extra bytes that it sends per packet.

use levelflow_units::Rate;

use super::trouble::failed;
use levelflow_host::Error;
use levelflow_host::limit::{Spec, spec_of};
use levelflow_host::qdisc::Device;
use levelflow_host::tc::{Found, Handle};

/// Bytes that Ethernet sends with each frame: preamble, checksum and inter-frame gap. Queues do not count these bytes.
const FRAMING_BYTES: u32 = 24;

/// Line as reported by the kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Rate; `None` if unknown.
    pub rate: Option<Rate>,
    /// Largest rate, including capacity that the class can borrow. Equal to `rate` if the class cannot borrow.
    pub most: Option<Rate>,
    /// Extra bytes per packet. The line counts these bytes, and the queue does not.
    pub extra: u32,
    /// True if the line counts cells (`linklayer atm`), not bytes.
    pub cells: bool,
}

impl Line {
    fn shaped(rate: Rate, most: Rate, spec: Spec) -> Self {
        Self {
            rate: Some(rate),
            most: Some(most),
            extra: spec.overhead.into(),
            cells: spec.cells,
        }
    }

    fn hardware(device: &Device) -> Self {
        let rate = device.hardware_rate();
        Self {
            rate,
            most: rate,
            extra: if rate.is_some() && device.is_ethernet() {
                FRAMING_BYTES
            } else {
                0
            },
            cells: false,
        }
    }

    /// Returns the rate and the largest rate for frames of this size. Both rates count bytes as the queue does.
    #[must_use]
    pub fn payload(&self, frame: u32) -> Option<(f64, f64)> {
        let share = f64::from(frame) / f64::from(frame.saturating_add(self.extra));
        Some((self.rate?.bps() * share, self.most?.bps() * share))
    }
}

/// Returns the line of a queue. The rate is the rate of the queue, of its parent filter or class, or of the hardware.
///
/// # Errors
/// When the device, the queue or the class is gone.
pub fn behind(device: &mut Device, found: &Found) -> Result<Line, Error> {
    if let Some(rate) = found.queue.rate {
        return Ok(Line::shaped(rate, rate, spec_of(&found.options)));
    }
    if found.parent == Handle::ROOT {
        return Ok(Line::hardware(device));
    }
    let above = device.queue_of(found.parent.queue()).map_err(|e| failed(device, &e))?;
    match (above.queue.kind.as_str(), above.queue.rate) {
        ("htb", _) => class(device, found.parent),
        ("tbf", Some(rate)) => Ok(Line::shaped(rate, rate, spec_of(&above.options))),
        _ => Ok(Line::hardware(device)),
    }
}

fn class(device: &mut Device, class: Handle) -> Result<Line, Error> {
    let share = device.share_of(class).map_err(|e| failed(device, &e))?;
    Ok(share.map_or_else(Line::default, |share| Line::shaped(share.rate, share.ceil, share.spec)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_sends_less_than_its_speed() {
        let card = Line {
            rate: Rate::new(1e9),
            most: Rate::new(1e9),
            extra: FRAMING_BYTES,
            cells: false,
        };
        let percent = |frame| (card.payload(frame).unwrap().1 * 1e-7 * 100.0).round() / 100.0;
        assert_eq!([percent(1514), percent(700), percent(60)], [98.44, 96.69, 71.43]);
        assert_eq!(Line::default().payload(1514), None);
    }
}
