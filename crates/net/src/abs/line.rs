//! The line behind a queue: its rate, and what it counts of a packet.

use levelflow_units::Rate;

use super::kernel::{Found, Handle};
use super::place::failed;
use super::room::{Spec, spec_of};
use crate::Error;
use crate::router::live::rate;
use crate::router::qdisc::Device;

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
    /// What people should know.
    pub notes: Vec<String>,
}

impl Line {
    fn shaped(rate: Rate, spec: Spec) -> Self {
        let mut line = Self {
            rate: Some(rate),
            most: Some(rate),
            extra: spec.overhead.into(),
            notes: Vec::new(),
        };
        if spec.cells {
            line.notes.push(
                "its shaper counts cells (linklayer atm), which are not counted here: a full line is used to less than 100 %".into(),
            );
        }
        line
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
            notes: Vec::new(),
        }
    }

    /// The most that the queue can send in frames of that size, as the queue counts them.
    #[must_use]
    pub fn payload(&self, frame: u32) -> Option<Rate> {
        let share = f64::from(frame) / f64::from(frame.saturating_add(self.extra));
        Rate::new(self.most?.bps() * share)
    }
}

/// The line of a queue: its own, that of the filter or class that it hangs at, or that of the hardware.
///
/// # Errors
/// When device, queue or class are gone.
pub fn behind(device: &mut Device, found: &Found) -> Result<Line, Error> {
    if let Some(rate) = found.queue.rate {
        return Ok(Line::shaped(rate, spec_of(&found.options)));
    }
    if found.parent == Handle::ROOT {
        return Ok(Line::hardware(device));
    }
    let above = device.queue_of(found.parent.queue()).map_err(|e| failed(device, &e))?;
    match (above.queue.kind.as_str(), above.queue.rate) {
        ("htb", _) => class(device, found.parent),
        ("tbf", Some(rate)) => Ok(Line::shaped(rate, spec_of(&above.options))),
        _ => Ok(Line::hardware(device)),
    }
}

fn class(device: &mut Device, class: Handle) -> Result<Line, Error> {
    let share = device.share_of(class).map_err(|e| failed(device, &e))?;
    let Some(share) = share else {
        return Ok(Line::default());
    };
    let mut line = Line::shaped(share.rate, share.spec);
    if share.ceil.bps() > share.rate.bps() {
        line.most = Some(share.ceil);
        line.notes.push(format!(
            "class {class} may borrow up to {}; what counts is its own {} (--capacity says otherwise)",
            rate(share.ceil.bps()),
            rate(share.rate.bps())
        ));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_sends_less_than_its_speed() {
        let card = Line {
            most: Rate::new(1e9),
            extra: FRAMING,
            ..Line::default()
        };
        let percent = |frame| (card.payload(frame).unwrap().bps() * 1e-7 * 100.0).round() / 100.0;
        assert_eq!([percent(1514), percent(700), percent(60)], [98.44, 96.69, 71.43]);
        assert_eq!(Line::default().payload(1514), None);
    }

    #[test]
    fn shapers_count_as_they_were_told() {
        let rate = Rate::new(1e7).unwrap();
        let plain = Line::shaped(rate, Spec::default());
        assert_eq!((plain.extra, plain.notes.len()), (0, 0));
        assert_eq!(plain.payload(1514), Some(rate));
        let cells = Line::shaped(
            rate,
            Spec {
                overhead: 10,
                cells: true,
            },
        );
        assert_eq!(cells.extra, 10);
        assert!(cells.notes[0].contains("linklayer atm"), "{:?}", cells.notes);
    }
}
