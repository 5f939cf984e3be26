//! Changes to a running link: `rate 10 Mb/s`, `forward delay 20 ms`, `reverse loss 0.01`.

use std::str::FromStr;

use levelflow_units::{Buffer, BufferError, Duration, Rate, Time};

use levelflow_path::{GilbertElliott, Settings, WireLoss};

/// Largest accepted delay and jitter.
const MAX_DELAY: Duration = Duration::from_secs(100);
/// Lowest accepted line rate. A lower rate is probably a mistake, and could make times overflow.
const MIN_RATE_BPS: f64 = 1e4;

/// New value of one link parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// Line rate; `None` for no limit.
    Rate(Option<Rate>),
    /// Propagation delay.
    Delay(Duration),
    /// Largest random delay.
    Jitter(Duration),
    /// Queue limit.
    Buffer(Buffer),
    /// Period of batched deliveries.
    Slot(Duration),
    /// Packet loss model.
    Loss(WireLoss),
}

/// Change of a link parameter, and the directions to which the change applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Parameter and its new value.
    pub setting: Setting,
    /// True for the direction from the first device to the second.
    pub forward: bool,
    /// True for the direction from the second device to the first.
    pub reverse: bool,
}

impl Setting {
    /// Parses the value of the named parameter.
    ///
    /// # Errors
    /// Returns a one-line error with the allowed values.
    pub fn read(name: &str, value: &str) -> Result<Self, String> {
        let problem = |e: &dyn std::fmt::Display| format!("{name} {value}: {e}");
        let time = || value.parse::<Duration>().map_err(|e| problem(&e));
        let setting = match name {
            "rate" if value == "unlimited" => Self::Rate(None),
            "rate" => Self::Rate(Some(
                value.parse().map_err(|e: levelflow_units::ParseError| problem(&e))?,
            )),
            "delay" => Self::Delay(time()?),
            "jitter" => Self::Jitter(time()?),
            "buffer" => Self::Buffer(value.parse().map_err(|e: BufferError| problem(&e))?),
            "slot" => Self::Slot(time()?),
            "loss" => Self::Loss(loss(value).ok_or_else(|| problem(&LOSSES))?),
            _ => {
                return Err(format!(
                    "\"{name}\" is unknown; allowed: rate, delay, jitter, slot, buffer, loss"
                ));
            }
        };
        setting.check().map_err(|e| problem(&e))?;
        Ok(setting)
    }

    /// Checks that the value is in the allowed range.
    ///
    /// # Errors
    /// Returns the allowed range.
    pub fn check(self) -> Result<(), &'static str> {
        match self {
            Self::Rate(Some(rate)) if rate > Rate::ZERO && rate.bps() < MIN_RATE_BPS => {
                Err("must be at least 10 kb/s, or 0 b/s for an outage, or unlimited")
            }
            Self::Delay(time) | Self::Jitter(time) | Self::Slot(time) if time > MAX_DELAY => {
                Err("must be at most 100 s")
            }
            _ => Ok(()),
        }
    }

    /// Applies the change to the settings of one direction.
    pub fn apply(self, settings: &mut Settings) {
        match self {
            Self::Rate(rate) => settings.rate = rate,
            Self::Delay(delay) => settings.wire.delay = delay,
            Self::Jitter(jitter) => settings.wire.jitter = jitter,
            Self::Buffer(buffer) => settings.buffer = buffer,
            Self::Slot(slot) => settings.wire.slot = slot,
            Self::Loss(loss) => settings.wire.loss = loss,
        }
    }
}

/// Allowed values of the loss parameter.
const LOSSES: &str = "must be a probability, as in 0.01 or 1 %, or gemodel P R [BAD [GOOD]]: the probabilities of \
                      entering and of leaving the bad state, and of loss in the bad state (default 1) and in the good \
                      state (default 0)";

/// Parses `0.01`, `1 %`, or the parameters of the Gilbert-Elliott model in the order of netem's `gemodel`.
fn loss(text: &str) -> Option<WireLoss> {
    let share = |text: &str| {
        let percent = text
            .strip_suffix('%')
            .map(|number| number.trim_end().parse().map(|p: f64| p / 100.0));
        let share = percent.unwrap_or_else(|| text.parse()).ok()?;
        (0.0..=1.0).contains(&share).then_some(share)
    };
    let Some(model) = text.strip_prefix("gemodel ") else {
        return share(text).map(WireLoss::Independent);
    };
    let numbers: Option<Vec<f64>> = model.split_whitespace().map(share).collect();
    let (p, r, bad, good) = match numbers?[..] {
        [p, r] => (p, r, 1.0, 0.0),
        [p, r, bad] => (p, r, bad, 0.0),
        [p, r, bad, good] => (p, r, bad, good),
        _ => return None,
    };
    (p > 0.0 && r > 0.0).then_some(WireLoss::Bursts(GilbertElliott { p, r, good, bad }))
}

impl FromStr for Change {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut rest = line.trim();
        let (mut forward, mut reverse) = (true, true);
        if let Some(after) = rest.strip_prefix("forward ") {
            (rest, reverse) = (after.trim_start(), false);
        } else if let Some(after) = rest.strip_prefix("reverse ") {
            (rest, forward) = (after.trim_start(), false);
        }
        let (name, value) = rest
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("\"{rest}\": must be [forward|reverse] NAME VALUE, as in: rate 10 Mb/s"))?;
        Ok(Self {
            setting: Setting::read(name, value.trim())?,
            forward,
            reverse,
        })
    }
}

/// Parses a schedule: one `TIME: CHANGE` per line. `#` begins a comment.
///
/// # Errors
/// Returns the line number and the error.
pub fn schedule(text: &str) -> Result<Vec<(Time, Change)>, String> {
    let mut changes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let change = entry(line).map_err(|e| format!("line {}: {e}", number + 1))?;
        changes.push(change);
    }
    changes.sort_by_key(|&(at, _)| at);
    Ok(changes)
}

fn entry(line: &str) -> Result<(Time, Change), String> {
    let (at, change) = line
        .split_once(':')
        .ok_or("must be TIME: CHANGE, as in: 5 s: rate 10 Mb/s")?;
    let at: Time = at.trim().parse().map_err(|e| format!("{e}"))?;
    Ok((at, change.parse()?))
}

#[cfg(test)]
mod tests {
    use levelflow_units::Bytes;

    use super::*;

    #[test]
    fn lines_say_what_changes_where() {
        let change: Change = " forward  rate 10 Mb/s ".parse().unwrap();
        let setting = Setting::Rate(Rate::new(1e7));
        assert_eq!(
            change,
            Change {
                setting,
                forward: true,
                reverse: false
            }
        );
        let both = "delay 20 ms".parse::<Change>().unwrap();
        assert_eq!(
            both,
            Change {
                setting: Setting::Delay(Duration::from_ms(20)),
                forward: true,
                reverse: true
            }
        );
        for (text, buffer) in [
            ("50 packets", Buffer::Packets(50)),
            ("100 kB", Buffer::Bytes(Bytes::new(100_000))),
            ("unlimited", Buffer::Unlimited),
        ] {
            assert_eq!(Setting::read("buffer", text), Ok(Setting::Buffer(buffer)));
        }
    }

    #[test]
    fn impossible_changes_get_one_line() {
        for (line, part) in [
            ("rate 1 b/s", "at least 10 kb/s"),
            ("rate fast", "rate fast"),
            ("rate", "NAME VALUE"),
            ("", "NAME VALUE"),
            ("delay -1 ms", "delay -1 ms"),
            ("delay 1000 s", "at most 100 s"),
            ("loss 1.5", "must be a probability"),
            ("loss nan", "must be a probability"),
            ("loss gemodel 0.1", "gemodel P R"),
            ("loss gemodel 0 0.5", "gemodel P R"),
            ("buffer 0 packets", "room for a packet"),
            ("buffer 3", "packets"),
            ("reverse colour red", "allowed: rate, delay"),
        ] {
            let error = line.parse::<Change>().unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn a_schedule_is_sorted_and_its_mistakes_have_a_line() {
        let text = "# path change\n5 s: delay 30 ms\n\n1 s: reverse rate 1 Mb/s # slow\n";
        let times: Vec<f64> = schedule(text).unwrap().iter().map(|(at, _)| at.as_secs_f64()).collect();
        assert_eq!(times, [1.0, 5.0]);
        assert!(
            schedule("1 s: loss 0\nsoon: loss 0")
                .unwrap_err()
                .starts_with("line 2: ")
        );
        assert!(schedule("1 s loss 0").unwrap_err().contains("TIME: CHANGE"));
    }
}
