"""Base class of congestion-control laws in Python, and the events that they receive.

>>> from dataclasses import dataclass
>>> from levelflow.law import Ack, Law, Loss, Timeout, parameter
>>> class Halving(Law):
...     \"\"\"Adds a packet per round trip, and halves the window after a loss.\"\"\"
...
...     @dataclass
...     class Params:
...         initial_window: float = parameter(10.0, "initial window, packets", low=1)
...
...     def start(self) -> None:
...         self.window = self.params.initial_window
...
...     def on_ack(self, ack: Ack) -> None:
...         if not ack.recovering:
...             self.window += ack.acked / self.window
...
...     def on_loss(self, loss: Loss) -> None:
...         if loss.first:
...             self.window /= 2
...
...     def on_timeout(self, timeout: Timeout) -> None:
...         self.window = 1.0
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from levelflow._core import Ack, FlowStart, Loss, Timeout

__all__ = ["Ack", "FlowStart", "Law", "Loss", "Timeout", "parameter"]

#: Key of a scenario with the texts of its law files.
LAW_FILES = "law_files"

Unit = Literal["number", "time", "rate", "size", "packets"]


def parameter(
    default: Any, doc: str = "", *, unit: Unit = "number", low: float | None = None, high: float | None = None
) -> Any:
    """Returns a field of the dataclass `Params`, with its meaning and its range.

    Args:
        default: Default value in base units (s, bit/s, bytes, packets).
        doc: Meaning of the parameter, in one line.
        unit: Unit. Scenarios write a time as "100 ms", a rate as "10 Mb/s", a size as "1 kB", a number of packets as
            "5 packets". The law receives a number in base units.
        low: Smallest allowed value.
        high: Largest allowed value.
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "unit": unit, "low": low, "high": high})


@dataclasses.dataclass
class NoParams:
    """Parameters of a law without parameters."""


class Law(ABC):
    """Sender of a law, one object per flow. Scenarios name the law by the class name in lower case.

    A law sets `window` (packets), `rate` (bit/s) or both. Levelflow reads them after each call. With a rate, packets
    are paced. A law must define `on_ack`, `on_loss` and `on_timeout`. The transport detects losses, retransmits, and
    measures round-trip times.

    Attributes:
        Params: Dataclass of the parameters.
        signal: Congestion signal: "loss", "delay" or "marks". With "marks", queues may mark packets instead of
            dropping them.
        handshake: True if a control packet opens the flow, as for TCP.
        delayed_ack: True if receivers acknowledge every second packet, as Linux does.
        scalable: True if packets carry ECT(1), as for L4S.
        draws: True if the law draws random numbers, from a generator that it creates with the seed `flow.seed`.
        params: Parameters of this flow.
        flow: Packet size, seed and size of this flow.
        window: Limit on the packets in flight; None for no limit. A window below 1 acts as 1.
        rate: Pacing rate, bit/s; None for a law without pacing.
    """

    Params: ClassVar[type[Any]] = NoParams
    signal: ClassVar[Literal["loss", "delay", "marks"]] = "loss"
    handshake: ClassVar[bool] = True
    delayed_ack: ClassVar[bool] = True
    scalable: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    window: float | None = None
    rate: float | None = None

    def __init__(self, params: Any, flow: FlowStart) -> None:
        """Creates the sender of a flow and calls `start`."""
        self.params = params
        self.flow = flow
        self.start()

    def start(self) -> None:  # noqa: B027 - optional: a law may set its state in the class
        """Sets the initial state."""

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """Processes an ACK for data."""

    @abstractmethod
    def on_loss(self, loss: Loss) -> None:
        """Processes the loss of a packet."""

    @abstractmethod
    def on_timeout(self, timeout: Timeout) -> None:
        """Processes a retransmission timeout (RTO)."""
