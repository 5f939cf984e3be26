"""Failures of JetMax on the smallest networks, by rule: `python -m experiments.jetmax_cycles`.

Runs all networks of two or three links with capacities 2, 3 and 5, for every choice of routes. All flows start at the
same time. Each network is run twice. In the first run, each flow may change its rate in every round. In the second run,
flow i waits i rounds after a change. A network fails if a rate stays 2 % or more from max-min fairness.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from levelflow.theory.networks.membership import EQUATIONS, LEVELFLOW, PRINTED, Rules, failures, networks

if TYPE_CHECKING:
    from collections.abc import Sequence

CAPACITIES = (2.0, 3.0, 5.0)
SIZES = ((2, 2), (2, 3), (2, 4), (3, 3))

CASES: dict[str, Rules] = {
    "equations 133 to 136 alone": EQUATIONS,
    "as printed": PRINTED,
    "as printed, proposals outlive a change": replace(PRINTED, keep=True),
    "our rules": LEVELFLOW,
    "our rules, a change ends the proposal": replace(LEVELFLOW, keep=False),
    "our rules without patience": replace(LEVELFLOW, patience=0),
    "our rules without 'smaller share'": replace(LEVELFLOW, smaller=False),
    "our rules, no tie rule": replace(LEVELFLOW, eps_s=float("inf")),
    "our rules, routers without a share silent": replace(LEVELFLOW, shareless=False),
    "our rules, price of the named router": replace(LEVELFLOW, largest=False),
    "our rules, eps_p 0.01": replace(LEVELFLOW, eps_p=0.01),
    "our rules, tau 0.3": replace(LEVELFLOW, tau=0.3),
    "our rules, confirm": replace(LEVELFLOW, confirm=True),
    "our rules, no proposals": replace(LEVELFLOW, propose=False),
    "our rules, hysteresis": replace(LEVELFLOW, hysteresis=True),
}


def row(rules: Rules) -> tuple[list[str], list[int]]:
    """Returns the failures in both runs, by size, and the numbers of fixed points, cycles and other failures."""
    cells, kinds = [], [0, 0, 0]
    for links, flows in SIZES:
        counts = []
        for pace in ([1] * flows, range(1, flows + 1)):
            found = list(failures(rules, networks(links, flows, CAPACITIES, list(pace))))
            counts.append(len(found))
            for one in found:
                kinds[0 if one["period"] and not one["moves"] else 1 if one["period"] else 2] += 1
        cells.append(f"{counts[0]} / {counts[1]}")
    return cells, kinds


def main(words: Sequence[str] | None = None) -> int:
    """Prints the table. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.jetmax_cycles", description=__doc__)
    parser.parse_args(words)
    head = [f"{links} links, {flows} flows" for links, flows in SIZES]
    print(f"| rules | {' | '.join(head)} | bottlenecks stay | they cycle | longer or none |")
    print(f"|{' --- |' * (len(SIZES) + 4)}")
    total = [len(networks(links, flows, CAPACITIES, [1] * flows).routes) for links, flows in SIZES]
    print(f"| *networks* | {' | '.join(f'{count} / {count}' for count in total)} | | | |")
    for name, rules in CASES.items():
        cells, kinds = row(rules)
        print(f"| {name} | {' | '.join(cells)} | {' | '.join(map(str, kinds))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
