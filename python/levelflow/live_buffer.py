"""``python -m levelflow.live_buffer``: buffers of a real queue, sized by ``levelflow-net abs`` and left alone.

Four network namespaces of this machine, a line of 10 Mb/s and round trips of 40 ms, and the kernel's own TCP in four
phases. The same traffic meets a queue that is ten times too small and one that is ten times too large, each once as it
is and once sized. Needs root, ``ip`` and ``tc``; leaves nothing behind, whatever ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from levelflow.claims.dataplane import usable
from levelflow.claims.model import ClaimError
from levelflow.style import STYLE

RATE, DELAY = 10e6, "20 ms"  # of the line, and of the wire in each direction
UTILISATION, LOSS = 0.95, 0.01
#: Packets of the two queues at first, and bytes of a packet.
FIRST, PACKET = (3, 300), 1514
PORT = 9001
TRAFFIC = Path(__file__).with_name("live_traffic.py")
#: A phase: its name, and what runs in it; `{seconds}` is how long.
PHASES = (
    ("2 CUBIC", ("flows {to} cubic 2 {seconds}",)),
    ("16 CUBIC", ("flows {to} cubic 16 {seconds}",)),
    ("4 BBR", ("flows {to} bbr 4 {seconds}",)),
    (
        "2 CUBIC, UDP, short",
        ("flows {to} cubic 2 {seconds}", "udp {to} 1e6 {seconds}", "short {to} cubic 8 50000 {seconds}"),
    ),
)
#: What is judged of a phase is its last part.
JUDGED = 0.5

NETWORK = """
ip netns add a
ip netns add w
ip netns add r
ip netns add b
ip link add dev a0 netns a gso_max_segs 1 type veth peer name wa netns w
ip link add dev wr netns w type veth peer name r0 netns r
ip link add dev r1 netns r type veth peer name b0 netns b
ip -n a address add 10.0.1.1/24 dev a0
ip -n r address add 10.0.1.2/24 dev r0
ip -n r address add 10.0.2.1/24 dev r1
ip -n b address add 10.0.2.2/24 dev b0
ip -n a link set dev a0 up
ip -n w link set dev wa up
ip -n w link set dev wr up
ip -n r link set dev r0 up
ip -n r link set dev r1 up
ip -n b link set dev b0 up
ip -n a route add default via 10.0.1.2
ip -n b route add default via 10.0.2.1
ip netns exec r sysctl -q net.ipv4.ip_forward=1
"""


@dataclass
class Run:
    """What one queue did."""

    first: int
    sized: bool
    decisions: list[dict[str, Any]]
    #: Times of short transfers, s.
    short: list[float]

    @property
    def name(self) -> str:
        """For legends and tables."""
        return f"{'sized, from' if self.sized else 'left at'} {self.first} packets"

    def rows(self, seconds: float) -> list[dict[str, float]]:
        """Use, loss, wait and limit of the later part of each phase."""
        rows = []
        for number in range(len(PHASES)):
            begin, end = (number + 1 - JUDGED) * seconds, (number + 1) * seconds
            later = [d for d in self.decisions if begin < d["time"] <= end]
            time_, arrived = sum(d["elapsed_ns"] for d in later), sum(d["admitted"] + d["dropped"] for d in later)
            rows.append(
                {
                    "used": sum(d["sent"] for d in later) * 8e9 / (RATE * max(time_, 1)),
                    "lost": sum(d["dropped"] for d in later) / max(arrived, 1),
                    "wait": statistics.fmean(d["wait"] for d in later) if later else 0.0,
                    "limit": statistics.fmean(packets(d, self.sized) for d in later) if later else 0.0,
                }
            )
        return rows


def packets(decision: dict[str, Any], sized: bool) -> float:
    """The limit in force after a decision, in packets of the largest size."""
    limit: float = decision["limit" if sized else "before"]
    return limit / PACKET


def shell(lines: str) -> None:
    """Runs lines of commands, all or an error."""
    for line in lines.strip().splitlines():
        subprocess.run(shlex.split(line), check=True, capture_output=True, timeout=20)


def inside(namespace: str, *words: object) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", namespace, *map(str, words)]


def started(stack: ExitStack, command: list[str], **options: Any) -> subprocess.Popen[str]:
    """A program that ends with the stack at the latest."""
    process = subprocess.Popen(command, text=True, **options)

    def end() -> None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(end)
    return process


def one(net: Path, first: int, sized: bool, seconds: float, more: list[str], log: Path) -> Run:
    """All phases before one queue."""
    shell(f"tc -n r qdisc replace dev r1 root handle 1: tbf rate {RATE:.0f} burst 4kb limit {first * PACKET}")
    to = f"10.0.2.2 {PORT}"
    total = seconds * len(PHASES)
    with ExitStack() as stack:
        started(stack, inside("b", sys.executable, "-S", TRAFFIC, "sink", PORT))
        time.sleep(0.5)
        # The round trip goes over the same wire twice.
        words = ["--dev", "r1", "--utilisation", str(UTILISATION), "--loss", str(LOSS), "--every", "0.5 s"]
        words += ["--set", "rtt=40 ms", "--log", str(log), "--quiet", "--duration", f"{total} s", *more] + (
            [] if sized else ["--dry-run"]
        )
        sizer = started(stack, inside("r", net, "abs", *words), stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        outputs = []
        for number, (_, phase) in enumerate(PHASES):
            time.sleep(max(0.0, begun + number * seconds - time.monotonic()))
            for line in phase:
                traffic = line.format(to=to, seconds=seconds).split()
                quiet = {"stdout": subprocess.PIPE} if traffic[0] == "short" else {}
                command = inside("a", sys.executable, "-S", TRAFFIC, *traffic)
                outputs.append((traffic[0], started(stack, command, **quiet)))
        times: list[float] = []
        for kind, process in outputs:
            out, _ = process.communicate(timeout=total + 60)
            if kind == "short":
                times += [float(line) for line in out.split()]
        if sizer.wait(30) != 0:
            raise ClaimError("levelflow-net abs failed; what it said stands above")
    lines = log.read_text(encoding="utf-8").splitlines()
    return Run(first, sized, [json.loads(line) for line in lines[1:]], times)


def table(runs: list[Run], seconds: float) -> str:
    """Each phase of each run, judged by its later part."""
    lines = [f"{'':20} {'queue':24} {'limit':>8} {'used':>8} {'lost':>8} {'wait':>9}"]
    for number, (phase, _) in enumerate(PHASES):
        for later, run in enumerate(runs):
            row = run.rows(seconds)[number]
            what = f"{'' if later else phase:20} {run.name:24} {row['limit']:8.1f}"
            shares = f"{100 * row['used']:6.1f} % {100 * row['lost']:6.2f} %"
            lines.append(f"{what} {shares} {1e3 * row['wait']:6.1f} ms")
    for run in runs:
        if run.short:
            tenth = statistics.quantiles(run.short, n=10)[-1] if len(run.short) > 1 else run.short[0]
            lines.append(
                f"short flows, {run.name}: {len(run.short)}, median {statistics.median(run.short):.2f} s, "
                f"the slowest tenth over {tenth:.2f} s"
            )
    return "\n".join(lines)


def picture(runs: list[Run], seconds: float) -> Figure:
    """Limits, use and loss over time."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 7), layout="constrained")
        axes = figure.subplots(3, 1, sharex=True)
        for run in runs:
            style = {"label": run.name, "linestyle": "-" if run.sized else ":", "linewidth": 1.6 if run.sized else 1.1}
            color = f"C{FIRST.index(run.first)}"
            times = [d["time"] for d in run.decisions]
            axes[0].plot(times, [packets(d, run.sized) for d in run.decisions], color=color, **style)
            axes[1].plot(times, smooth(run.decisions, lambda d: 100 * d["utilisation"]), color=color, **style)
            axes[2].plot(times, smooth(run.decisions, lambda d: 100 * d["loss"]), color=color, **style)
        axes[0].set(ylabel="limit (packets)", yscale="log")
        axes[1].set(ylabel="used (%)")
        axes[1].axhline(100 * UTILISATION, color="0.6", linewidth=0.8)
        axes[2].set(ylabel="lost (%)", xlabel="time (s)", ylim=(0, 20))
        axes[2].axhline(100 * LOSS, color="0.6", linewidth=0.8)
        for number, (phase, _) in enumerate(PHASES):
            for ax in axes:
                ax.axvline(number * seconds, color="0.8", linewidth=0.8)
            axes[0].text((number + 0.02) * seconds, 1.02, phase, transform=axes[0].get_xaxis_transform(), fontsize=9)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(runs))
    return figure


def smooth(decisions: list[dict[str, Any]], of: Any, over: int = 4) -> list[float]:
    """Means over the last few decisions."""
    values = [of(d) for d in decisions]
    return [statistics.fmean(values[max(0, i + 1 - over) : i + 1]) for i in range(len(values))]


def experiment(out: Path, seconds: float, more: list[str]) -> None:
    """Runs everything inside namespaces that end with this process."""
    net = usable()
    shell(NETWORK)
    out.mkdir(parents=True, exist_ok=True)
    runs = []
    with ExitStack() as stack:
        link = inside("w", net, "link", "wa", "wr", "--delay", DELAY, "--realtime")
        wire = started(stack, link, stdout=subprocess.DEVNULL)
        for first in FIRST:
            for sized in (False, True):
                print(f"{'sized' if sized else 'left alone'}, {first} packets at first ...", flush=True)
                log = out / f"{'sized' if sized else 'fixed'}-{first}.jsonl"
                runs.append(one(net, first, sized, seconds, more, log))
                if wire.poll() is not None:
                    raise ClaimError("levelflow-net link ended; what it said stands above")
    text = table(runs, seconds)
    print(text)
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")
    picture(runs, seconds).savefig(out / "live-buffer.png", dpi=100)
    print(f"picture and decisions: {out}")


def main() -> int:
    """Reads the command line, and goes on in namespaces of its own."""
    parser = argparse.ArgumentParser(prog="python -m levelflow.live_buffer", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("results/live-buffer"), help="folder for table, picture, decisions"
    )
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="how long a phase lasts; there are four runs of four"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the sizer")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.seconds < 1:
        parser.error("--seconds: at least 1")
    try:
        usable()
        if words.inside:
            shell("mount -t tmpfs none /run\nmkdir /run/netns")
            experiment(words.out, words.seconds, [word for text in words.set for word in ("--set", text)])
            return 0
    except ClaimError as error:
        print(f"levelflow.live_buffer: {error}", file=sys.stderr)
        return 2
    # Whatever ends this process, namespaces and all that run in them go with it.
    own = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.call([*own, sys.executable, "-m", "levelflow.live_buffer", "--inside", *sys.argv[1:]])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
