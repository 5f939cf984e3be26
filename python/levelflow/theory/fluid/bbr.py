"""BBR, version 1, with a maximum filter over round trips (after Scherrer, Legner, Perrig, Schmid 2022).

    x = min(0.99 gain B, the rate that the window allows),   window 2 B r + 3 packets
    B = largest ACK rate in 10 round trips,                  r = shortest round trip so far

Startup, Drain, the eight gains of ProbeBW and ProbeRTT follow each other as in the packet law. A packet is in flight if
it was sent and neither acknowledged nor lost. Not modelled: the reaction of the window to a loss. As in the packet law,
the amount of delivered data selects the first phase of ProbeBW. If flows share a full buffer, their rates depend on
this phase.
"""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.fluid.law import ACKS, LOSSES, WAITS, Feedback, Law, number

CYCLE = np.array([1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
#: Length of the maximum filter, round trips. Bandwidth growth per round that Startup requires. Number of rounds without
#: this growth after which the pipe is full.
ROUNDS, GROWTH, FLAT = 10, 1.25, 3
MARGIN, HEADROOM, SMALLEST = 0.99, 3.0, 4.0
#: Fraction of a round trip in which a flow drains the packets in flight that exceed the window.
BRAKE = 0.25
#: Correction of the packets in flight towards Little's law: fraction of the deviation per round trip. Losses are looked
#: up once per step, so errors would otherwise accumulate.
LEAK = 0.1
#: Duration of ProbeRTT, s.
STAY = 0.2
STARTUP, DRAIN, PROBE, REST = range(4)
#: State components: mode; phase of ProbeBW and start of the phase; end of the round; bandwidth of the full pipe and
#: number of rounds without growth; packets in flight; packets delivered; shortest round trip and time of this
#: measurement; end of ProbeRTT; bandwidths of the last rounds.
MODE, PHASE, SINCE, ROUND, FULL, STILL, OUT, DELIVERED, SHORTEST, SEEN, END = range(11)
FILTER = slice(11, 11 + ROUNDS)


class Bbr(Law):
    """Sender. All state components change by jumps, except for the packets in flight."""

    first = number(10.0, "initial_window")
    startup = number(2.77, "startup_gain")
    window = number(2.0, "window_gain")
    old = number(10.0, "rtt_window")
    FEEDBACK = frozenset({LOSSES, ACKS, WAITS})
    HANDSHAKE = True

    def start(self) -> Floats:
        """Returns the initial state. The initial bandwidth is one initial window per round trip."""
        state = np.zeros((FILTER.stop, self.base.size))
        state[SHORTEST] = np.inf
        return state

    def _model(self, state: Floats, feedback: Feedback) -> tuple[Floats, Floats]:
        """Returns bandwidth in packets/s and shortest round trip."""
        rtt = np.where(np.isfinite(state[SHORTEST]), state[SHORTEST], feedback.waits)
        bandwidth = state[FILTER].max(axis=0)
        return np.where(bandwidth > 0, bandwidth, self.first / rtt), rtt

    def _gain(self, state: Floats) -> Floats:
        mode = state[MODE]
        probe = CYCLE[state[PHASE].astype(np.int64) % CYCLE.size]
        return np.select([mode == STARTUP, mode == DRAIN, mode == PROBE], [self.startup, 1 / self.startup, probe], 1.0)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the pacing rate, limited by the window."""
        bandwidth, rtt = self._model(state, feedback)
        window = np.maximum(self.window * bandwidth * rtt + HEADROOM, SMALLEST)
        allowed = np.maximum(feedback.acked + feedback.lost + (window - state[OUT]) / (BRAKE * rtt), 0.0)
        # ProbeRTT sends nothing until few packets are in flight. Then it sends its minimum window per round trip.
        resting = np.where(np.isinf(state[END]), 0.0, SMALLEST / feedback.rtt)
        allowed = np.where(state[MODE] == REST, resting, allowed)
        return np.minimum(MARGIN * self._gain(state) * bandwidth, allowed) * self.packet

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rates of change of the packets in flight and of the delivered packets."""
        slope = np.zeros_like(state)
        slope[OUT] = self.rate(state, feedback) / self.packet - feedback.acked - feedback.lost
        slope[OUT] += LEAK * (feedback.acked * feedback.waits - state[OUT]) / feedback.waits
        slope[DELIVERED] = feedback.acked
        return slope

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Updates filters, rounds and modes."""
        now, acked = feedback.now, feedback.acked > 0
        state[OUT] = np.maximum(state[OUT], 0.0)
        expired = acked & (now - state[SEEN] > self.old) & (state[MODE] != REST)
        sooner = acked & ((feedback.waits <= state[SHORTEST]) | expired)
        state[SHORTEST] = np.where(sooner, feedback.waits, state[SHORTEST])
        state[SEEN] = np.where(sooner, now, state[SEEN])
        state[FILTER.start] = np.maximum(state[FILTER.start], feedback.acked)
        bandwidth, rtt = self._model(state, feedback)
        self._end_rounds(state, feedback, acked & (now >= state[ROUND]), bandwidth)
        full = (state[MODE] == STARTUP) & (state[STILL] >= FLAT)
        state[MODE] = np.where(full, DRAIN, state[MODE])
        drained = (state[MODE] == DRAIN) & (state[OUT] <= bandwidth * rtt + HEADROOM)
        self._probe(state, feedback, drained)
        self._cycle(state, feedback, bandwidth * rtt)
        state[MODE] = np.where(expired, REST, state[MODE])
        state[END] = np.where(expired, np.inf, state[END])
        self._rest(state, feedback)
        return state

    def _probe(self, state: Floats, feedback: Feedback, begins: Bools) -> None:
        """Enters ProbeBW. The amount of delivered data selects the phase, but never the phase that drains the queue."""
        pick = state[DELIVERED].astype(np.int64) % (CYCLE.size - 1)
        state[MODE] = np.where(begins, PROBE, state[MODE])
        state[PHASE] = np.where(begins, (CYCLE.size - pick) % CYCLE.size, state[PHASE])
        state[SINCE] = np.where(begins, feedback.now, state[SINCE])

    def _rest(self, state: Floats, feedback: Feedback) -> None:
        """Stays in ProbeRTT for `STAY` and a round trip, counted from the time at which few packets are in flight."""
        little = np.minimum(state[OUT], feedback.acked * feedback.waits) <= SMALLEST
        small = (state[MODE] == REST) & np.isinf(state[END]) & little
        state[END] = np.where(small, feedback.now + np.maximum(STAY, feedback.waits), state[END])
        over = (state[MODE] == REST) & (feedback.now > state[END])
        state[SEEN] = np.where(over, feedback.now, state[SEEN])
        known = state[STILL] >= FLAT
        state[MODE] = np.where(over & ~known, STARTUP, state[MODE])
        self._probe(state, feedback, over & known)

    def _end_rounds(self, state: Floats, feedback: Feedback, ends: Bools, bandwidth: Floats) -> None:
        grown = bandwidth >= GROWTH * state[FULL]
        counts = ends & (state[STILL] < FLAT)
        state[STILL] = np.where(counts, np.where(grown, 0.0, state[STILL] + 1), state[STILL])
        state[FULL] = np.where(counts & grown, bandwidth, state[FULL])
        shifted = np.vstack((np.zeros(self.base.size), state[FILTER][:-1]))
        state[FILTER] = np.where(ends, shifted, state[FILTER])
        state[ROUND] = np.where(ends, feedback.now + feedback.waits, state[ROUND])

    def _cycle(self, state: Floats, feedback: Feedback, product: Floats) -> None:
        gain = CYCLE[state[PHASE].astype(np.int64) % CYCLE.size]
        late = feedback.now - state[SINCE] > np.where(np.isfinite(state[SHORTEST]), state[SHORTEST], feedback.waits)
        up = late & ((feedback.lost > 0) | (state[OUT] >= gain * product + HEADROOM))
        down = late | (state[OUT] <= product + HEADROOM)
        done = (state[MODE] == PROBE) & np.where(gain > 1, up, np.where(gain < 1, down, late))
        state[PHASE] = np.where(done, (state[PHASE] + 1) % CYCLE.size, state[PHASE])
        state[SINCE] = np.where(done, feedback.now, state[SINCE])
