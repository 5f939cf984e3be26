//! Warnings if queue, line and targets do not fit together. They are printed before the first decision.

use levelflow_units::{Bytes, Duration, Rate};

use super::queue::SizedQueue;
use levelflow_host::Error;
use levelflow_host::format::rate;
use levelflow_host::limit::burst_of;

/// Relative difference up to which two rates count as equal.
const EQUAL_SHARE: f64 = 1e-6;
/// Extra traffic of a refilled token bucket, as a fraction of the line rate, that causes a warning.
const NOTABLE_SHARE: f64 = 0.01;

/// Returns all warnings about a queue of a device. `given` is true if the user has set the line rate.
#[must_use]
pub fn notes(place: &SizedQueue, device: &str, given: bool, every: Duration) -> Vec<String> {
    let borrows = if given { None } else { borrows(place) };
    let notes = [beside(place), borrows, cells(place), bucket(place, device, every)];
    let name = place.handle;
    notes
        .into_iter()
        .flatten()
        .map(|note| format!("{device} {name}: {note}"))
        .collect()
}

/// Rejects a target utilisation that the line cannot reach.
///
/// # Errors
/// When the target is too high. The message contains the largest possible capacity.
pub fn check_use(place: &SizedQueue, utilisation: Option<f64>) -> Result<(), Error> {
    let (Some(share), Some((_, most))) = (utilisation, place.line.payload(place.frame)) else {
        return Ok(());
    };
    if share * carried(place) <= most * (1.0 + EQUAL_SHARE) {
        return Ok(());
    }
    Err(Error::input(format!(
        "--capacity {}: the line of {} carries {} at most{}, so no buffer meets --utilisation {share} (allowed: up to {})",
        rate(place.capacity.bps()),
        place.handle,
        rate(most),
        framed(place),
        below(most / share),
    )))
}

/// Returns the capacity of the line. The capacity counts bytes as the queue does.
fn carried(place: &SizedQueue) -> f64 {
    let share = f64::from(place.frame) / f64::from(place.frame.saturating_add(place.extra));
    place.capacity.bps() * share
}

/// Formats the largest allowed rate. The rate is rounded down, so that the printed rate is allowed, too.
fn below(bps: f64) -> String {
    let step = 10_f64.powf(bps.log10().floor() - 3.0);
    rate((bps / step).floor() * step)
}

fn framed(place: &SizedQueue) -> String {
    match place.line.extra {
        0 => String::new(),
        extra => format!(" in packets of {} bytes, with {extra} more for each", place.frame),
    }
}

fn beside(place: &SizedQueue) -> Option<String> {
    let (own, most) = place.line.payload(place.frame)?;
    let carried = carried(place);
    let given = rate(place.capacity.bps());
    if carried > most * (1.0 + EQUAL_SHARE) {
        let full = 100.0 * most / carried;
        let (most, framed) = (rate(most), framed(place));
        return Some(format!(
            "its line carries at most {most}{framed}, not {given}: a full line counts as used to {full:.2} %"
        ));
    }
    (carried < own * (1.0 - EQUAL_SHARE)).then(|| {
        let framed = framed(place);
        format!(
            "its line carries {}{framed}, not {given}: utilisation may exceed 100 %",
            rate(own)
        )
    })
}

fn borrows(place: &SizedQueue) -> Option<String> {
    let (own, most) = (place.line.rate?, place.line.most?);
    (most.bps() > own.bps()).then(|| {
        let (own, most) = (rate(own.bps()), rate(most.bps()));
        format!("its class may borrow up to {most}; utilisation refers to its own {own}, unless --capacity is given")
    })
}

fn cells(place: &SizedQueue) -> Option<String> {
    place.line.cells.then(|| {
        "its shaper counts cells (linklayer atm), but abs counts bytes: a full line counts as less than 100 %".into()
    })
}

/// Returns a warning about a token bucket filter, because each change of its limit also fills its bucket.
fn bucket(place: &SizedQueue, device: &str, every: Duration) -> Option<String> {
    if place.kind != "tbf" {
        return None;
    }
    let burst = burst_of(&place.options)?;
    let more = f64::from(burst) * 8.0 / every.as_secs_f64();
    let share = more / place.capacity.bps();
    (share > NOTABLE_SHARE).then(|| {
        format!(
            "each decision that changes its limit also fills its bucket of {}: up to {} ({:.0} %) more than its rate; \
             to avoid this, attach an inner queue: tc qdisc add dev {device} parent {}1 bfifo limit {}",
            Bytes::new(burst.into()),
            rate(Rate::clamped(more).bps()),
            100.0 * share,
            place.handle,
            place.limit,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;

    fn place(capacity: f64, own: f64, most: f64, extra: u32) -> SizedQueue {
        SizedQueue {
            capacity: Rate::clamped(capacity),
            line: Line {
                rate: Rate::new(own),
                most: Rate::new(most),
                extra,
                cells: false,
            },
            ..SizedQueue::example()
        }
    }

    #[test]
    fn an_unreachable_utilisation_is_rejected() {
        let check = |capacity, share| check_use(&place(capacity, 1e7, 1e7, 0), Some(share));
        assert!(check(1e7, 0.9999).is_ok() && check(1.05e7, 0.95).is_ok());
        let error = check(1.06e7, 0.95).unwrap_err().to_string();
        assert!(
            error.contains("10.6 Mb/s") && error.contains("up to 10.52 Mb/s"),
            "{error}"
        );
        // The card has 1 Gb/s, and its line counts 24 bytes more per packet.
        let card = place(1e9, 1e9, 1e9, 24);
        let error = check_use(&card, Some(0.99)).unwrap_err().to_string();
        assert!(error.contains("984") && error.contains("24 more"), "{error}");
        assert!(check_use(&SizedQueue { extra: 24, ..card }, Some(0.99)).is_ok());
        assert!(check_use(&place(5e6, 1e6, 5e6, 0), Some(0.99)).is_ok(), "borrowed");
    }

    #[test]
    fn a_capacity_that_contradicts_the_line_is_reported() {
        let said = |capacity, own, most| beside(&place(capacity, own, most, 0));
        assert_eq!(said(1e7, 1e7, 1e7), None);
        assert_eq!(
            said(1.5e7, 1e7, 2e7),
            None,
            "the given capacity is between its own rate and its largest rate"
        );
        assert!(said(2e7, 1e7, 1e7).unwrap().contains("used to 50.00 %"));
        assert!(said(5e6, 1e7, 1e7).unwrap().contains("exceed 100 %"));
    }

    #[test]
    fn a_class_that_may_borrow_is_reported_without_a_given_capacity() {
        let said = |given| notes(&place(1e7, 1e7, 2e7, 0), "lf0", given, Duration::from_ms(100));
        assert!(said(false)[0].starts_with("lf0 1:: its class may borrow up to 20"));
        assert!(said(true).is_empty());
    }
}
