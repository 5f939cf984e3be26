"""Rows and buffer-sizing algorithms of tables I, II and III of Zhang 2008, chapter VII.

The text lacks the values of these tables; `python -m experiments.buffer_tables` prints our values. The results
abs-table1-b100 to abs-table3 use the same runs to check the statements of the text about the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from levelflow.buffers.candidates import BEST, BUFFER_ALGORITHMS, OURS, Line, Targets, best_fixed, candidates, compare
from levelflow.topology.bottleneck import LINK, identical_flows, single_bottleneck
from zhang_models.linux import LINUX_2_6_16, marking

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from levelflow.buffers.candidates import Buffer, Runs
    from levelflow.measure.utilisation import Use
    from levelflow.scenario import Scenario

#: Targets of tables II and III.
TARGETS = Targets(0.98, 0.02)
#: Number of flows of table III; capacity of table II, Mb/s.
FLOWS, CAPACITY = 16, 10
#: Duration of runs with a fixed buffer, and of runs with a buffer-sizing algorithm, which first has to converge, s.
SECONDS = (400, 1000)
#: Smallest number of flows with longer runs, and durations of these runs, s. Queueing delays then reach 10 s.
CROWD, CROWD_SECONDS = 256, (2000, 4000)
#: Durations of table III, s: on slow links, and on links of at least `FAST` Mb/s.
SLOW_SECONDS, FAST, FAST_SECONDS = (200, 400), 64, (100, 300)

#: Table I: number of flows; capacity, Mb/s; target of REM, packets; buffers above and below the target, packets.
REM_FLOWS, REM_CAPACITY, REM_TARGET, REM_BUFFERS = 20, 10, 50, (100, 10)
REM_SECONDS = 200.0
REM_PACKET, REM_RTT = "1000 B", {"uniform": ["40 ms", "60 ms"]}
#: TCP variants of table I.
REM_VARIANTS = tuple(name for name in LINUX_2_6_16 if name != "TCP-LP")


class Row(NamedTuple):
    """Runs of one row of a table.

    Attributes:
        flows: number of NewReno flows, with round trips uniform from 30 to 30 + 2 `flows` ms.
        capacity: capacity of the link, Mb/s.
        rules: durations of runs with a fixed buffer, s.
        algorithms: durations of runs with a buffer-sizing algorithm, s.
    """

    flows: int
    capacity: int
    rules: float
    algorithms: float


def second() -> list[Row]:
    """Rows of table II, with the number of flows as parameter."""
    counts = [2**i for i in range(1, 11)]
    return [Row(n, CAPACITY, *(CROWD_SECONDS if n >= CROWD else SECONDS)) for n in counts]


def third() -> list[Row]:
    """Rows of table III, with the capacity as parameter."""
    return [Row(FLOWS, c, *(FAST_SECONDS if c >= FAST else SLOW_SECONDS)) for c in (2**i for i in range(11))]


def ways(gain: float | None = None) -> tuple[dict[str, Buffer], dict[str, Buffer]]:
    """Returns two tables, rules and algorithms. They map names to values of `buffer`. `gain` is that of `abs_log`."""
    bscl = {"loss": TARGETS.loss}
    parts: dict[str, Buffer] = {
        "BSCL, use (eq 9)": {"bscl": {"part": "use", **bscl}},
        "BSCL, loss (eq 10)": {"bscl": {"part": "loss", **bscl}},
    }
    common = candidates(TARGETS)
    algorithms = {name: common.pop(name) for name in BUFFER_ALGORITHMS}
    if gain is not None:
        ours = algorithms[OURS]
        assert isinstance(ours, dict)  # an algorithm and its parameters
        ours["abs_log"]["gain"] = gain
    return common | parts, algorithms


def network(row: Row, seconds: float) -> Scenario:
    """Returns the scenario of a row."""
    return identical_flows(single_bottleneck(row.capacity, "1 BDP", seconds), row.flows, (30, 30 + 2 * row.flows))


def measure(
    row: Row, runs: Runs, seeds: Sequence[int], names: Collection[str] = (), gain: float | None = None
) -> dict[str, Line]:
    """Measures every buffer of a row by name, or only the buffers in `names`. The best fixed buffer is last."""

    def chosen(buffers: Mapping[str, object]) -> dict[str, object]:
        return {name: buffer for name, buffer in buffers.items() if not names or name in names}

    rules, algorithms = ways(gain)
    lines = compare(network(row, row.rules), LINK, TARGETS, chosen(rules), runs, seeds)
    lines += compare(network(row, row.algorithms), LINK, TARGETS, chosen(algorithms), runs, seeds)
    if not names or BEST in names:
        lines.append(best_fixed(network(row, row.rules), LINK, TARGETS, runs, seeds))
    return {item.name: item for item in lines}


def meets(used: Use, targets: Targets = TARGETS) -> bool:
    """True if utilisation and loss meet their targets with tolerance, and no smaller buffer would suffice.

    >>> from levelflow.measure.utilisation import Use
    >>> [meets(Use(u, p, 0, 0, 0)) for u, p in ((0.975, 0.004), (1.0, 0.021), (1.0, 0.01), (0.96, 0.02))]
    [True, True, False, False]
    """
    return targets.fit(used) == "yes"


def rem(buffer: int, variant: str, **words: Any) -> Scenario:
    """Returns a run of table I. `words` override keys of its flow, such as `law` and `packet`."""
    network = single_bottleneck(REM_CAPACITY, f"{buffer} packets", REM_SECONDS, "20 ms")
    network.set("link.1.queue", {"rem": {"target": f"{REM_TARGET} packets"}})
    law = marking(LINUX_2_6_16[variant], delayed_ack=True)
    keys = {"law": law, "packet": REM_PACKET, "rtt": REM_RTT} | words
    return network.flow("x", keys.pop("law"), "A", "B", count=REM_FLOWS, **keys)
