//! The line behind a queue: its rate, and what it counts of a packet.

use levelflow_units::Rate;

use super::trouble::failed;
use levelflow_host::Error;
use levelflow_host::limit::{Spec, spec_of};
use levelflow_host::qdisc::Device;
use levelflow_host::tc::{Found, Handle};

/// What Ethernet sends with each frame and queues do not count: preamble, checksum and the gap between two frames.
const FRAMING: u32 = 24;

/// What the kernel says of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its rate; `None`: nobody says.
    pub rate: Option<Rate>,
    /// What it can be lent; the rate itself where nobody lends.
    pub most: Option<Rate>,
    /// Bytes of each packet that count at its rate, and that the queue does not count.
    pub extra: u32,
    /// Whether it counts cells (`linklayer atm`), not bytes.
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
                FRAMING
            } else {
                0
            },
            cells: false,
        }
    }

    /// Its rate and the most that it can be lent, in bytes as the queue counts them, for frames of that size.
    #[must_use]
    pub fn payload(&self, frame: u32) -> Option<(f64, f64)> {
        let share = f64::from(frame) / f64::from(frame.saturating_add(self.extra));
        Some((self.rate?.bps() * share, self.most?.bps() * share))
    }
}

/// The line of a queue: its own, that of the filter or class that it hangs at, or that of the hardware.
///
/// # Errors
/// When device, queue or class are gone.
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
            extra: FRAMING,
            cells: false,
        };
        let percent = |frame| (card.payload(frame).unwrap().1 * 1e-7 * 100.0).round() / 100.0;
        assert_eq!([percent(1514), percent(700), percent(60)], [98.44, 96.69, 71.43]);
        assert_eq!(Line::default().payload(1514), None);
    }
}
