//! Alarms: pending events that can be postponed without adding another event.

use levelflow_units::Time;

/// Time of the pending event, and time `due` at which the alarm acts. A postponed alarm keeps its earlier event.
#[derive(Debug, Clone, Copy)]
pub struct Alarm {
    event: Time,
    due: Time,
}

impl Alarm {
    pub const OFF: Self = Self {
        event: Time::NEVER,
        due: Time::NEVER,
    };

    /// Sets the time of the alarm. If no event is pending at or before `due`, returns the time of an event that the
    /// caller must add.
    #[inline]
    pub fn set(&mut self, due: Time) -> Option<Time> {
        self.due = due;
        if due < self.event {
            self.event = due;
            return Some(due);
        }
        None
    }

    /// Cancels the alarm. The pending event becomes stale.
    #[inline]
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }

    /// Handles an event of the alarm.
    #[inline]
    pub fn fire(&mut self, now: Time) -> Fired {
        if now != self.event {
            return Fired::Stale;
        }
        self.event = Time::NEVER;
        if self.due <= now {
            self.due = Time::NEVER;
            return Fired::Now;
        }
        if self.due == Time::NEVER {
            return Fired::Stale;
        }
        self.event = self.due;
        Fired::Later(self.due)
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.due != Time::NEVER
    }
}

impl Default for Alarm {
    fn default() -> Self {
        Self::OFF
    }
}

/// Result of an event of an [`Alarm`].
#[derive(Debug, PartialEq, Eq)]
pub enum Fired {
    /// The alarm acts now.
    Now,
    /// The alarm was postponed. The caller adds an event at this time.
    Later(Time),
    /// The alarm was cancelled, or an earlier event has replaced this event.
    Stale,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_adds_no_event_when_it_is_put_off() {
        let at = |s: u64| Time::from_ps(s);
        let mut alarm = Alarm::OFF;
        assert_eq!(alarm.set(at(10)), Some(at(10)));
        assert_eq!(alarm.set(at(20)), None);
        assert_eq!(alarm.fire(at(10)), Fired::Later(at(20)));
        assert_eq!(alarm.set(at(15)), Some(at(15)));
        assert_eq!(alarm.fire(at(15)), Fired::Now);
        assert_eq!(alarm.fire(at(20)), Fired::Stale);
    }
}
