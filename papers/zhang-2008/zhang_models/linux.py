"""Flows and users of Zhang 2008, chapter VII: TCP variants of Linux 2.6.16, and sessions of short transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: TCP variants of Linux 2.6.16 by their names in the text. Each value has a law, and the parameters whose values in
#: that kernel differ from our defaults. Scalable TCP of that kernel grew by 1/50 of a packet per ACK, to compensate for
#: delayed ACKs. Our receivers acknowledge each packet, so we keep 1/100. In table I, ACKs are delayed, but windows are
#: too small for a difference.
LINUX_2_6_16: dict[str, dict[str, dict[str, Any]]] = {
    "Reno": {"newreno": {}},
    "BIC": {"bic": {"search": 4, "s_max": 16, "s_min": 0.2, "cut": 0.2, "initial_ssthresh": 100}},
    "CUBIC": {"cubic": {"beta": 0.8, "initial_ssthresh": 100}},
    "HSTCP": {"highspeed": {}},
    "STCP": {"scalable": {"low_window": 1, "reno_floor": True}},
    "HTCP": {"htcp": {"rtt_scaling": True}},
    "Westwood": {"westwood": {}},
    "TCP-LP": {"lp": {}},
}

#: A user of section VII.3.4. The objects of a page start at the same time, not 10 ms apart as by default.
SESSION = {
    "pages": {"uniform": [10, 2000]},
    "objects": {"uniform": [1, 5]},
    "think": {"exponential": "1 s"},
}
OBJECT = {"pareto": {"mean": "10 kB", "shape": 1.2}}


def marking(law: Mapping[str, Mapping[str, Any]], **words: Any) -> dict[str, dict[str, Any]]:
    """Returns the law with ECN and with the given parameters."""
    return {name: {**params, "ecn": True, **words} for name, params in law.items()}
