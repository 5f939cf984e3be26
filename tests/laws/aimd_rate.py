"""AIMD on rates (Zhang 2008, eq 19 and 114), as in `crates/laws/src/aimd`."""

from dataclasses import dataclass

from levelflow.law import Ack, Law, Loss, Timeout, parameter


class PyAimd(Law):
    """AIMD on rates."""

    handshake = False
    delayed_ack = False

    @dataclass
    class Params:
        alpha: float = parameter(10e3, "increase per round-trip time", unit="rate")
        keep: float = parameter(0.5, "fraction of the rate kept on loss", low=0, high=1)
        initial_rate: float = parameter(100e3, "rate before the first ACK", unit="rate")
        min_rate: float = parameter(1e3, "smallest rate", unit="rate")

    def start(self) -> None:
        self.rate = self.params.initial_rate
        self.stepped = 0  # first packet of the next round trip
        self.decreased = 0  # first packet after the last decrease

    def decrease(self, after: int) -> None:
        self.rate = max(self.params.keep * self.rate, self.params.min_rate)
        self.stepped = self.decreased = after

    def on_ack(self, ack: Ack) -> None:
        if ack.number >= self.stepped:
            self.rate += self.params.alpha
            self.stepped = ack.next

    def on_loss(self, loss: Loss) -> None:
        if loss.number >= self.decreased:
            self.decrease(loss.next)

    def on_timeout(self, timeout: Timeout) -> None:
        self.decrease(timeout.next)
