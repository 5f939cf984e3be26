"""Compares laws with other implementations, on equal networks: `python -m experiments.peers [COMPARISON ...]`.

A comparison whose peer is not installed prints one line, and the others continue.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from experiments.peers import abc, bbr3, cake, dualpi2, linux, ns2, queues, rcp, reno, tcp, xcp
from levelflow import dataplane

Compare = Callable[[str], Iterator[str]]

#: Comparisons by name: the option that names the peer, a check of the peer, and a function that yields the table.
COMPARISONS: dict[str, tuple[str, Callable[[str], str | None], Compare]] = {
    "tcp": ("ns3", tcp.lacks, tcp.compare),
    "queues": ("ns3", tcp.lacks, queues.compare),
    "abc": ("abc", abc.lacks, abc.compare),
    "dualpi2": ("dualpi2", dualpi2.PEER.lacks, dualpi2.compare),
    "linux": ("net", linux.lacks, linux.compare),
    "cake": ("linux", cake.lacks, cake.compare),
    "bbr3": ("bbr3", bbr3.PEER.lacks, bbr3.compare),
    "reno": ("ns2", ns2.lacks("Agent/TCP/Sack1"), reno.compare),
    "xcp": ("ns2", ns2.lacks("Agent/TCP/Reno/XCP"), xcp.compare),
    "rcp": ("ns2", ns2.lacks("Agent/RCP"), rcp.compare),
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the comparisons whose peers are installed, and prints their tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.peers", description=__doc__)
    parser.add_argument("comparison", nargs="*", metavar="COMPARISON", help=f"{', '.join(COMPARISONS)}; default: all")
    parser.add_argument("--ns3", default=sys.executable, metavar="PYTHON", help="interpreter that has ns-3")
    parser.add_argument("--ns2", default="ns", metavar="BINARY", help="ns-2, for rcp with the code of RCP's authors")
    parser.add_argument("--abc", default="", metavar="FOLDER", help="library of an ABC router's queue, and traces")
    parser.add_argument("--dualpi2", default="", metavar="FOLDER", help="libraries of a DualPI2 and of a Prague sender")
    parser.add_argument("--linux", default="", metavar="FOLDER", help="copy of the source of Linux, for cake")
    parser.add_argument("--bbr3", default="", metavar="FOLDER", help="library of a BBRv3")
    net = str(dataplane.program() or "")
    parser.add_argument("--net", default=net, metavar="PROGRAM", help="levelflow-net, for linux: as root, 24 minutes")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.comparison if name not in COMPARISONS]:
        parser.error(f"comparison {unknown[0]}: unknown; allowed: {', '.join(COMPARISONS)}")
    for name in options.comparison or COMPARISONS:
        option, lacks, compare = COMPARISONS[name]
        peer = getattr(options, option)
        if lack := lacks(peer):
            print(f"{name}: skipped, {lack}")
            continue
        print(f"{name}, compared with {peer}\n")
        for line in compare(peer):
            print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
