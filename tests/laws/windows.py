"""NewReno (RFC 6582) and Vegas (Brakmo and Peterson 1995), as in `crates/laws/src/newreno` and `vegas`."""

from dataclasses import dataclass

from levelflow.law import Ack, Law, Loss, Timeout, parameter


class PyNewReno(Law):
    """NewReno with SACK."""

    @dataclass
    class Params:
        initial_window: float = parameter(10.0, "initial window, packets", low=1)

    def start(self) -> None:
        self.window = self.params.initial_window
        self.ssthresh = 1e9

    def on_ack(self, ack: Ack) -> None:
        if ack.recovering or ack.acked == 0 or not ack.window_used:
            return
        if self.window < self.ssthresh:
            self.slow_start(ack)
        else:
            self.avoid(ack)
        self.window = max(self.window, 1.0)

    def slow_start(self, ack: Ack) -> None:
        self.window = min(self.window + ack.acked, self.ssthresh)

    def avoid(self, ack: Ack) -> None:
        self.window += ack.acked / self.window

    def on_loss(self, loss: Loss) -> None:
        if loss.first:
            self.ssthresh = max(self.window / 2, 2.0)
            self.window = min(self.window, self.ssthresh)

    def on_timeout(self, timeout: Timeout) -> None:
        if not timeout.repeated:
            self.ssthresh = max(self.window / 2, 2.0)
        self.window = 1.0


class PyVegas(PyNewReno):
    """Vegas."""

    signal = "delay"

    @dataclass
    class Params(PyNewReno.Params):
        alpha: float = parameter(2.0, "queued packets below which the window grows", low=0)
        beta: float = parameter(4.0, "queued packets above which the window shrinks", low=0)
        gamma: float = parameter(1.0, "queued packets above which slow start ends", low=0)

        def __post_init__(self) -> None:
            if self.beta < self.alpha:
                raise ValueError("beta must be at least alpha")

    def start(self) -> None:
        super().start()
        self.grows = False

    def on_ack(self, ack: Ack) -> None:
        self.grows ^= ack.round
        super().on_ack(ack)

    def queued(self, ack: Ack) -> float:
        return self.window * (1.0 - ack.min_rtt / ack.rtt)

    def slow_start(self, ack: Ack) -> None:
        if ack.round and self.queued(ack) > self.params.gamma:
            self.window = self.ssthresh = min(self.window, self.window * ack.min_rtt / ack.rtt + 1.0)
        elif self.grows:
            super().slow_start(ack)

    def avoid(self, ack: Ack) -> None:
        if not ack.round:
            return
        queued = self.queued(ack)
        if queued < self.params.alpha:
            self.window += 1.0
        elif queued > self.params.beta:
            self.window -= 1.0
            self.ssthresh = min(self.ssthresh, self.window)
