"""``python -m experiments.live_buffer``: buffers of a real queue, fixed or sized by ``levelflow-net abs``.

The experiment uses network namespaces of this machine, lines of 10 Mb/s, round trips of 40 ms, and the kernel's own
TCP. Each of four kinds of traffic runs over four queues at the same time. Each queue is on a separate path. A queue
with the limit `Phase.needs` roughly meets the targets. Two queues start with a tenth of this limit (at least one
packet), and two with ten times this limit. In each of these pairs, one queue keeps its limit, and ``levelflow-net abs``
sizes the other. The experiment needs root, ``ip`` and ``tc``. Even after an error, it leaves no namespaces.
"""

from __future__ import annotations

import argparse
import json
import math
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

from levelflow.buffers.candidates import Targets
from levelflow.dataplane import DataPlaneError, usable
from levelflow.ending import BAD_INPUT
from levelflow.measure.utilisation import Use
from levelflow.style import STYLE

RATE, DELAY = 10e6, "20 ms"  # rate of the line, and delay of the wire in each direction
TARGETS = Targets(0.95, 0.02)
#: Packet size, bytes.
PACKET = 1514
#: Factor by which initial limits of queues are too small or too large.
TIMES = 10
PORT = 9001
TRAFFIC = Path(__file__).with_name("live_traffic.py")


@dataclass(frozen=True)
class Phase:
    """Kind of traffic. `lines` are commands of `live_traffic.py`, where `{seconds}` is the duration."""

    name: str
    #: Queue limit that roughly meets the targets, packets. It is near the final limit of sized queues.
    needs: int
    lines: tuple[str, ...]

    def firsts(self) -> tuple[int, int]:
        """Initial limits of the small and the large queue, packets. Each is at least one."""
        return max(1, self.needs // TIMES), self.needs * TIMES


PHASES = (
    Phase("2 CUBIC", 7, ("flows {to} cubic 2 {seconds}",)),
    Phase("8 CUBIC", 40, ("flows {to} cubic 8 {seconds}",)),
    Phase("4 BBR", 80, ("flows {to} bbr 4 {seconds}",)),
    Phase(
        "2 CUBIC, UDP, short",
        80,
        ("flows {to} cubic 2 {seconds}", "udp {to} 1e6 {seconds}", "short {to} cubic 8 50000 {seconds}"),
    ),
)
#: Traffic of ``--fixed``.
FIXED = Phase("16 CUBIC", 0, ("flows {to} cubic 16 {seconds}",))
SIZES = (40, 80, 160, 320, 640)
#: Initial limit of each queue in packets, and True if the queue is sized.
Queues = list[tuple[int, bool]]
#: Last fraction of a phase, over which results are judged.
JUDGED = 0.5
#: Longest phase, s.
LONGEST = 3600

NETWORK = """
ip netns add {n}a
ip netns add {n}w
ip netns add {n}r
ip netns add {n}b
ip link add dev a0 netns {n}a gso_max_segs 1 type veth peer name wa netns {n}w
ip link add dev wr netns {n}w type veth peer name r0 netns {n}r
ip link add dev r1 netns {n}r type veth peer name b0 netns {n}b
ip -n {n}a address add 10.0.1.1/24 dev a0
ip -n {n}r address add 10.0.1.2/24 dev r0
ip -n {n}r address add 10.0.2.1/24 dev r1
ip -n {n}b address add 10.0.2.2/24 dev b0
ip -n {n}a link set dev a0 up
ip -n {n}w link set dev wa up
ip -n {n}w link set dev wr up
ip -n {n}r link set dev r0 up
ip -n {n}r link set dev r1 up
ip -n {n}b link set dev b0 up
ip -n {n}a route add default via 10.0.1.2
ip -n {n}b route add default via 10.0.2.1
ip netns exec {n}r sysctl -q net.ipv4.ip_forward=1
"""


@dataclass
class Run:
    """Results of one queue in one phase."""

    phase: Phase
    first: int
    sized: bool
    decisions: list[dict[str, Any]]
    #: Durations of short transfers, s.
    short: list[float]

    @property
    def name(self) -> str:
        """Name of the queue in tables."""
        return f"{'sized, from' if self.sized else 'left at'} {self.first} packet{'' if self.first == 1 else 's'}"

    def later(self, seconds: float) -> Use:
        """Returns the means over the judged part. The backlog (`queue`) is not computed, so it is NaN."""
        later = [d for d in self.decisions if (1 - JUDGED) * seconds < d["time"] <= seconds]
        time_, arrived = sum(d["elapsed_ns"] for d in later), sum(d["admitted"] + d["dropped"] for d in later)
        return Use(
            utilisation=sum(d["sent"] for d in later) * 8e9 / (RATE * max(time_, 1)),
            loss=sum(d["dropped"] for d in later) / max(arrived, 1),
            buffer=statistics.fmean(packets(d, self.sized) for d in later) if later else 0.0,
            queue=math.nan,
            wait=statistics.fmean(d["wait"] for d in later) if later else 0.0,
        )


def packets(decision: dict[str, Any], sized: bool) -> float:
    """Returns the queue limit after a decision, in packets of the largest size."""
    limit: float = decision["limit" if sized else "before"]
    return limit / PACKET


def shell(lines: str) -> None:
    """Runs lines of shell commands; raises an error if a command fails."""
    for line in lines.strip().splitlines():
        subprocess.run(shlex.split(line), check=True, capture_output=True, timeout=60)


def inside(namespace: str, *words: object) -> list[str]:
    """Returns a command that runs in a network namespace."""
    return ["ip", "netns", "exec", namespace, *map(str, words)]


def started(stack: ExitStack, command: list[str], **options: Any) -> subprocess.Popen[str]:
    """Starts a program that ends when the stack closes."""
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


def path(stack: ExitStack, net: Path, number: int, first: int) -> subprocess.Popen[str]:
    """Creates a path whose queue has a limit of `first` packets. Returns the process that emulates the wire."""
    shell(NETWORK.format(n=number))
    limit = first * PACKET
    shell(f"tc -n {number}r qdisc replace dev r1 root handle 1: tbf rate {RATE:.0f} burst 4kb limit {limit}")
    link = inside(f"{number}w", net, "link", "wa", "wr", "--delay", DELAY, "--realtime")
    wire = started(stack, link, stdout=subprocess.DEVNULL)
    started(stack, inside(f"{number}b", sys.executable, "-S", TRAFFIC, "sink", PORT))
    return wire


def algorithm(net: Path, seconds: float, sized: bool, more: list[str], log: Path) -> list[str | Path]:
    """Returns the command that sizes a queue, or that only measures the queue."""
    words = ["--dev", "r1", "--utilisation", str(TARGETS.utilisation), "--loss", str(TARGETS.loss), "--every", "0.5 s"]
    # The round trip crosses the wire twice.
    words += ["--set", "rtt=40 ms", "--log", str(log), "--quiet", "--duration", f"{seconds} s", *more]
    return [net, "abs", *words, *([] if sized else ["--dry-run"])]


def side_by_side(net: Path, phase: Phase, queues: Queues, seconds: float, more: list[str], out: Path) -> list[Run]:
    """Runs one kind of traffic over several queues at the same time, each on its own path."""
    logs = [out / f"{phase.name} {'sized' if sized else 'left'} {first}.jsonl" for first, sized in queues]
    times: list[list[float]] = [[] for _ in queues]
    with ExitStack() as stack:
        wires = [path(stack, net, number, first) for number, (first, _) in enumerate(queues)]
        time.sleep(0.5)
        algorithms = []
        for number, ((_, sized), log) in enumerate(zip(queues, logs, strict=True)):
            command = inside(f"{number}r", *algorithm(net, seconds, sized, more, log))
            algorithms.append(started(stack, command, stdout=subprocess.DEVNULL))
        traffic = []
        for line in phase.lines:
            words = line.format(to=f"10.0.2.2 {PORT}", seconds=seconds).split()
            for number in range(len(queues)):
                command = inside(f"{number}a", sys.executable, "-S", TRAFFIC, *words)
                traffic.append((number, started(stack, command, stdout=subprocess.PIPE)))
        for number, process in traffic:
            said, _ = process.communicate(timeout=seconds + 60)
            times[number] += [float(word) for word in said.split()]
        if any(process.wait(30) != 0 for process in algorithms):
            raise DataPlaneError("levelflow-net abs failed; see its output above")
        if any(wire.poll() is not None for wire in wires):
            raise DataPlaneError("levelflow-net link ended; see its output above")
    shell("\n".join(f"ip netns del {number}{end}" for number in range(len(queues)) for end in "awrb"))
    texts = [log.read_text(encoding="utf-8").splitlines()[1:] for log in logs]
    decisions = [[json.loads(line) for line in lines] for lines in texts]
    ran = zip(queues, decisions, times, strict=True)
    return [Run(phase, first, sized, made, short) for (first, sized), made, short in ran]


def table(runs: list[Run], seconds: float) -> str:
    """Returns a table with the results of each queue in the judged part of a phase."""
    lines = [f"{'':20} {'queue':25} {'limit':>8} {'used':>8} {'lost':>8} {'wait':>10}  met"]
    names = [run.phase.name for run in runs]
    for number, run in enumerate(runs):
        used = run.later(seconds)
        what = f"{'' if run.phase.name in names[:number] else run.phase.name:20} {run.name:25} {used.buffer:8.1f}"
        shares = f"{100 * used.utilisation:6.1f} % {100 * used.loss:6.2f} %"
        lines.append(f"{what} {shares} {1e3 * used.wait:7.1f} ms  {TARGETS.fit(used)}")
    for run in runs:
        if run.short:
            tenth = statistics.quantiles(run.short, n=10)[-1] if len(run.short) > 1 else run.short[0]
            lines.append(
                f"short flows, {run.name}: {len(run.short)}, median {statistics.median(run.short):.2f} s, "
                f"the slowest tenth over {tenth:.2f} s"
            )
    return "\n".join(lines)


def picture(runs: list[Run]) -> Figure:
    """Draws limit, utilisation and loss rate over time, with a column for each kind of traffic."""
    names = list(dict.fromkeys(run.phase.name for run in runs))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(names) + 0.8, 7), layout="constrained")
        axes = figure.subplots(3, len(names), sharex=True, sharey="row", squeeze=False)
        for run in runs:
            column = axes[:, names.index(run.phase.name)]
            large = run.first > run.phase.needs
            name = f"{'sized, from' if run.sized else 'left'} too {'large' if large else 'small'}"
            style: dict[str, Any] = {"label": name, "color": "C1" if large else "C0"}
            style |= {"linestyle": "-", "linewidth": 1.6} if run.sized else {"linestyle": ":", "linewidth": 1.1}
            times = [d["time"] for d in run.decisions]
            column[0].plot(times, [packets(d, run.sized) for d in run.decisions], **style)
            column[1].plot(times, smooth(run.decisions, lambda d: 100 * d["utilisation"]), **style)
            column[2].plot(times, smooth(run.decisions, lambda d: 100 * d["loss"]), **style)
        for column, name in zip(axes.T, names, strict=True):
            column[0].set(title=name, yscale="log")
            column[1].axhline(100 * TARGETS.utilisation, color="0.6", linewidth=0.8)
            column[2].axhline(100 * TARGETS.loss, color="0.6", linewidth=0.8)
            column[2].set(xlabel="time (s)", ylim=(0, 10))
        for ax, name in zip(axes[:, 0], ("limit (packets)", "used (%)", "lost (%)"), strict=True):
            ax.set(ylabel=name)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def smooth(decisions: list[dict[str, Any]], of: Any, over: int = 10) -> list[float]:
    """Returns moving averages over the last `over` decisions."""
    values = [of(d) for d in decisions]
    return [statistics.fmean(values[max(0, i + 1 - over) : i + 1]) for i in range(len(values))]


def experiment(out: Path, seconds: float, more: list[str]) -> None:
    """Runs the experiment in namespaces that end with this process."""
    net = usable()
    out.mkdir(parents=True, exist_ok=True)
    runs = []
    for phase in PHASES:
        print(f"{phase.name}, {seconds:g} s ...", flush=True)
        queues = [(first, sized) for first in phase.firsts() for sized in (False, True)]
        runs += side_by_side(net, phase, queues, seconds, more, out)
    show(runs, seconds, out)
    picture(runs).savefig(out / "live-buffer.png", dpi=100)
    print(f"picture and decisions: {out}")


def fixed(out: Path, seconds: float) -> None:
    """Measures the loss rates of queues with fixed limits."""
    net = usable()
    out.mkdir(parents=True, exist_ok=True)
    show(side_by_side(net, FIXED, [(size, False) for size in SIZES], seconds, [], out), seconds, out)
    print(f"table and decisions: {out}")


def show(runs: list[Run], seconds: float, out: Path) -> None:
    """Prints the table and writes it to a file."""
    text = table(runs, seconds)
    print(text)
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")


def main() -> int:
    """Parses the command line, and continues in separate namespaces."""
    parser = argparse.ArgumentParser(prog="python -m experiments.live_buffer", description=__doc__)
    folder = "for table, decisions and, without --fixed, a picture"
    parser.add_argument("--out", type=Path, default=Path("results/live-buffer"), help=folder)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long each of four kinds of traffic runs")
    parser.add_argument(
        "--fixed", action="store_true", help="instead: 16 CUBIC flows, fixed queues, no buffer-sizing algorithm"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the algorithm")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if not 1 <= words.seconds <= LONGEST:
        parser.error(f"--seconds {words.seconds:g}: allowed are 1 to {LONGEST}")
    if words.fixed and words.set:
        parser.error("--set: --fixed sizes no queue; leave one of them out")
    try:
        usable()
        if words.inside:
            shell("mount -t tmpfs none /run\nmkdir /run/netns")
            if words.fixed:
                fixed(words.out, words.seconds)
            else:
                experiment(words.out, words.seconds, [word for text in words.set for word in ("--set", text)])
            return 0
    except DataPlaneError as error:
        print(f"experiments.live_buffer: {error}", file=sys.stderr)
        return BAD_INPUT
    # The namespaces and all their processes end with this process.
    own = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.call([*own, sys.executable, "-m", "experiments.live_buffer", "--inside", *sys.argv[1:]])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
