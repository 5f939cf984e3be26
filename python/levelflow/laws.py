"""Step-by-step use of a law: one router, sender or buffer-sizing algorithm without a network.

>>> from levelflow.laws import Router, Sender
>>> router = Router("jetmax", capacity_bps=10e6)
>>> sender = Sender("jetmax", {"initial_rate": "1 Mb/s"})
>>> header = router.arrive(1000, sender.send(now_s=0.0, number=0, size=1000))
>>> router.close(elapsed_s=0.1)
>>> sender.feedback(now_s=0.1, number=0, rtt_s=0.1, header=header)
>>> sender.rate_bps
1000000.0
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from levelflow import _core

__all__ = ["BufferAlgorithm", "Router", "Sender"]

Value = str | float | bool


def Router(  # noqa: N802 - named as the class that it returns
    law: str,
    capacity_bps: float,
    params: Mapping[str, Value] | None = None,
    id: int = 1,  # noqa: A002
    logged: bool = False,
) -> _core.Router:
    """Returns a router at an output port, for packets with a signalling.

    Args:
        law: Name of a signalling, or of a law with router feedback.
        capacity_bps: Line rate of the port, bit/s.
        params: Parameters that differ from the defaults, as in scenarios.
        id: Identity of the router on the wire.
        logged: True to record the inputs in `journal`, for `levelflow replay`.

    Raises:
        ScenarioError: If the law has no routers, the law or a parameter is unknown, or a value is out of range.
    """
    return _core.Router(law, capacity_bps, json.dumps(dict(params or {})), id, logged)


def Sender(  # noqa: N802
    law: str,
    params: Mapping[str, Value] | None = None,
    packet_bytes: int = 1000,
    logged: bool = False,
    seed: int = 0,
) -> _core.Sender:
    """Returns the sender of a law for one flow.

    Args:
        law: Name of the law.
        params: Parameters that differ from the defaults, as in scenarios.
        packet_bytes: Largest data packet including headers, bytes.
        logged: True to record the inputs in `journal`, for `levelflow replay`.
        seed: Seed of the random choices of the law, 0 to 2^64 - 1.

    Raises:
        ScenarioError: If the law or a parameter is unknown, or a value is out of range.
    """
    return _core.Sender(law, json.dumps(dict(params or {})), packet_bytes, logged, seed)


def BufferAlgorithm(name: str, capacity_bps: float, params: Mapping[str, Value] | None = None) -> _core.BufferAlgorithm:  # noqa: N802
    """Returns a buffer-sizing algorithm at an output port.

    Args:
        name: Name of the algorithm.
        capacity_bps: Line rate of the port, bit/s.
        params: Parameters that differ from the defaults, as in scenarios.

    Raises:
        ScenarioError: If the algorithm or a parameter is unknown, or a value is out of range.

    >>> algorithm = BufferAlgorithm("adt", capacity_bps=10e6, params={"utilisation": 0.9, "gain": 100})
    >>> algorithm.close(elapsed_s=0.2, admitted=200_000, dropped=0, sent=200_000)
    110.0
    """
    return _core.BufferAlgorithm(name, capacity_bps, json.dumps(dict(params or {})))
