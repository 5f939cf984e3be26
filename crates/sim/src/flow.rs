//! One flow: a sender that paces packets at its law's rate, and what its receiver keeps.

use levelflow_laws::{FlowInfo, Protocol, SenderLaw};
use levelflow_units::{Bytes, Duration, Time};

use crate::overhead::Overhead;
use crate::reliable::{Chunk, Reliable};

/// A time that never comes.
pub const NEVER: Time = Time::from_ps(u64::MAX);
/// A transfer without end.
pub const ENDLESS: u64 = u64::MAX;
/// Marks a flow that belongs to no session.
pub const NO_SESSION: u32 = u32::MAX;

/// The time that is `after` later, or never: a slow link's queue can outlast the clock.
#[inline]
pub fn later(at: Time, after: Duration) -> Time {
    at.checked_add(after).unwrap_or(NEVER)
}

const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Time goes on between two packets, however high the rate.
const SHORTEST_GAP: Duration = Duration::from_ps(1);

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the answer to its first packet.
    Opening,
    /// Sending, or waiting for answers.
    Running,
    /// Nothing more will be sent; packets may still be on their way.
    Over,
    /// The slot is free.
    Free,
}

/// A pending event and the time at which it should act: a later time waits in `due` until the event fires.
#[derive(Debug, Clone, Copy)]
pub struct Alarm {
    event: Time,
    due: Time,
}

impl Alarm {
    pub const OFF: Self = Self {
        event: NEVER,
        due: NEVER,
    };

    /// Moves the alarm; gives the time of the event to add, if one is needed.
    #[inline]
    pub fn set(&mut self, due: Time) -> Option<Time> {
        self.due = due;
        if due < self.event {
            self.event = due;
            return Some(due);
        }
        None
    }

    /// No longer wanted.
    #[inline]
    pub fn clear(&mut self) {
        self.due = NEVER;
    }

    /// An event fires.
    #[inline]
    pub fn fire(&mut self, now: Time) -> Fired {
        if now != self.event {
            return Fired::Stale;
        }
        self.event = NEVER;
        if self.due <= now {
            self.due = NEVER;
            return Fired::Now;
        }
        if self.due == NEVER {
            return Fired::Stale;
        }
        self.event = self.due;
        Fired::Later(self.due)
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.due != NEVER
    }
}

/// What an event of an [`Alarm`] means.
#[derive(Debug, PartialEq, Eq)]
pub enum Fired {
    /// Act.
    Now,
    /// Add an event then.
    Later(Time),
    /// Nothing.
    Stale,
}

/// A flow under way. What every packet needs comes first, on as few cache lines as possible: with many flows, each
/// packet finds them cold.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow<P: Protocol> {
    pub entry: u32,
    pub pipe: u32,
    pub in_flight: u32,
    pub ack_delay: u32,
    pub phase: Phase,
    /// Whether it counts as active: begun, and its receiver does not have everything.
    pub active: bool,
    pub last_size: u16,
    pub next_number: u32,
    pub reliable: Option<Box<Reliable>>,
    pub overhead: Option<Box<Overhead>>,
    /// End of the transfer.
    pub size: u64,
    /// Next byte that has never been sent.
    pub position: u64,
    pub stop: Time,
    pub last_sent: Time,
    /// When to send next.
    pub pace: Alarm,
    pub sender: P::Sender,
    pub receiver: P::Receiver,
    /// When to give up waiting for an answer.
    pub timer: Alarm,
    pub started: Time,
    /// One-way delay from the host to the first link.
    pub host_delay: Duration,
    pub base_rtt: Duration,
    pub retries: u32,
    /// The web session that it belongs to, or none.
    pub session: u32,
}

impl<P: Protocol> Flow<P> {
    /// A flow that has sent nothing.
    pub fn new(entry: u32, params: &P::Params, info: &FlowInfo, now: Time) -> Self {
        Self {
            sender: P::Sender::new(params, info),
            receiver: P::Receiver::default(),
            entry,
            pipe: crate::pipe::NO_PIPE,
            ack_delay: u32::MAX,
            phase: Phase::Opening,
            active: true,
            last_size: 0,
            in_flight: 0,
            next_number: 0,
            retries: 0,
            session: NO_SESSION,
            pace: Alarm::OFF,
            timer: Alarm::OFF,
            last_sent: now,
            started: now,
            stop: NEVER,
            position: 0,
            size: ENDLESS,
            host_delay: Duration::ZERO,
            base_rtt: Duration::ZERO,
            reliable: None,
            overhead: None,
        }
    }

    /// The next piece to send, if there is one: lost pieces first, then new data in packets of at most `packet`.
    #[inline]
    pub fn next_chunk(&mut self, now: Time, packet: Bytes) -> Option<Chunk> {
        if now >= self.stop {
            return None;
        }
        if let Some(reliable) = &mut self.reliable
            && let Some(chunk) = reliable.next_again()
        {
            return Some(chunk);
        }
        let length = packet.get().min(self.size - self.position) as u16;
        if length == 0 {
            return None;
        }
        let chunk = Chunk {
            offset: self.position,
            length,
        };
        self.position += u64::from(length);
        Some(chunk)
    }

    /// Whether [`next_chunk`](Self::next_chunk) would give one.
    pub fn has_data(&self, now: Time) -> bool {
        let again = self.reliable.as_ref().is_some_and(|r| r.has_again());
        now < self.stop && (again || self.position < self.size)
    }

    /// Whether the window has room for a packet.
    #[inline]
    pub fn may_send(&self) -> bool {
        match self.sender.window() {
            u32::MAX => true,
            window => self.reliable.as_ref().is_none_or(|r| r.outstanding() < window),
        }
    }

    /// Whether the sender still has to hear from its receiver.
    pub fn is_waiting(&self, now: Time) -> bool {
        now < self.stop && self.reliable.as_ref().is_some_and(|r| r.is_waiting())
    }

    /// When the packet after the last one may leave at the current rate.
    #[inline]
    pub fn next_departure(&self, now: Time) -> Time {
        let size = Bytes::new(u64::from(self.last_size));
        let at = match self.sender.rate().time_to_send(size) {
            Some(gap) => later(self.last_sent, gap.max(SHORTEST_GAP)),
            None => NEVER,
        };
        at.min(later(self.stop, SHORTEST_GAP)).max(now)
    }

    /// How long to wait for the answer to the opening packet: a second, doubled at each retry.
    pub fn retry_timeout(&self) -> Duration {
        FIRST_RETRY * (1 << self.retries.min(6))
    }
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
