"""Compiled part of Levelflow: parser of scenarios, engine and laws."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

class ScenarioError(ValueError):
    """Invalid scenario; one line per mistake with the problem, its place and the allowed values."""

    mistakes: list[str]  # only set if validation of a scenario raised the error

class LawError(Exception):
    """Exception in a law in Python, its cause; the arguments are law, method and simulated time."""

class PythonLaw:
    """Law in Python for the engine."""

    def __init__(
        self,
        description: str,
        read: Callable[[Sequence[float]], object],
        make: Callable[[Sequence[float], FlowStart], object],
    ) -> None: ...

class FlowStart:
    """Properties of a flow that its sender receives at the start."""

    packet_bytes: int
    """Largest data packet, including headers."""
    seed: int
    """Seed of random numbers; 0 if the law does not draw any."""
    size: int | None
    """Size of the transfer, including the headers of its packets; None for a flow without an end."""

    def __init__(self, *, packet_bytes: int = 1000, seed: int = 0, size: int | None = None) -> None: ...

class Ack:
    """ACK for data. Times are in seconds."""

    now: float
    """Time of the simulation."""
    number: int
    """Number of the acknowledged packet. A retransmission has a new number."""
    next: int
    """Number of the next packet to be sent."""
    rtt: float
    """Round-trip time of the acknowledged packet."""
    srtt: float
    """Smoothed round-trip time: moving average with weight 1/8."""
    min_rtt: float
    """Smallest round-trip time so far."""
    acked: int
    """Packets newly acknowledged; 0 for a duplicate ACK."""
    outstanding: int
    """Packets in flight."""
    spurious: int
    """Packets that had been declared lost, and whose arrival this ACK reports."""
    marked: bool
    """True if a queue marked a packet that the ACK covers."""
    round: bool
    """True for the first ACK of a round trip."""
    recovering: bool
    """True from a loss until all packets in flight at the loss have arrived, and while a packet is missing. False after
    a timeout. Windows do not grow in recovery."""
    window_used: bool
    """True if the flow used its window, or has none. Only then may the window grow."""
    delivered: int
    """Packets delivered since the flow started."""
    delivery_rate: float | None
    """Delivery rate while the acknowledged packet was in flight, bit/s; None without a sample."""
    app_limited: bool
    """True if the application limited this sample of the delivery rate."""

    def __init__(
        self,
        *,
        now: float = 0.0,
        number: int = 0,
        next: int = 1,
        rtt: float = 0.1,
        srtt: float = 0.1,
        min_rtt: float = 0.1,
        acked: int = 1,
        outstanding: int = 0,
        spurious: int = 0,
        marked: bool = False,
        round: bool = False,
        recovering: bool = False,
        window_used: bool = True,
        delivered: int = 0,
        delivery_rate: float | None = None,
        app_limited: bool = False,
    ) -> None: ...

class Loss:
    """Packet declared lost, reported before the ACK that reveals the loss."""

    now: float
    """Time of the simulation, s."""
    number: int
    """Number of the lost packet."""
    next: int
    """Number of the next packet to be sent."""
    outstanding: int
    """Packets in flight."""
    first: bool
    """True for the first loss of a window: the packet was sent after the last loss with `first`, and after the last
    timeout."""

    def __init__(
        self, *, now: float = 0.0, number: int = 0, next: int = 1, outstanding: int = 0, first: bool = True
    ) -> None: ...

class Timeout:
    """Retransmission timeout (RTO): all packets in flight are declared lost."""

    now: float
    """Time of the simulation, s."""
    next: int
    """Number of the first retransmission."""
    repeated: bool
    """True if no packet was acknowledged since the previous timeout."""

    def __init__(self, *, now: float = 0.0, next: int = 1, repeated: bool = False) -> None: ...

def check_limits(sender: object, /) -> None:
    """Raises ValueError if the rate or the window of a sender in Python is not allowed."""

def parse(text: str, /) -> str:
    """Converts TOML to the JSON of the scenario as written."""

def lines(text: str, errors: list[str], /) -> list[int | None]:
    """Returns the line numbers of errors in a scenario file; None for an unknown one."""

def check_name(place: str, name: str, /) -> None:
    """Checks a name that becomes the name of a directory."""

def read_traces(json: str, folder: str, /) -> str:
    """Returns the JSON of a scenario with changes in place of the traces of links; paths are relative to `folder`."""

def locate(json: str, path: str, /) -> str:
    """Returns the JSON list of steps along a path such as `flow.x1.start`: keys of tables and indices of lists."""

def value_of(text: str, /) -> str:
    """Returns the JSON of a value of the command line, parsed as TOML, or as text if it is not TOML."""

def scale_arrivals(json: str, factor: float, /) -> str:
    """Returns the JSON of a scenario with the arrivals of all flow entries multiplied by a factor."""

def resolve(json: str, laws: Sequence[PythonLaw] = ()) -> str:
    """Validates a scenario, and returns the JSON of the resolved one, in base units; flows may name `laws`."""

def schema() -> str:
    """Returns the JSON Schema of scenarios."""

def records() -> str:
    """Returns the JSON Schemas of the records that this module returns, by name."""

def laws() -> str:
    """Returns the JSON list of control laws and their parameters."""

def queues() -> str:
    """Returns the JSON list of queue disciplines and their parameters."""

def buffer_algorithms() -> str:
    """Returns the JSON list of buffer rules and buffer-sizing algorithms and their parameters."""

def replay(log: bytes, /) -> str:
    """Replays a log of a law's inputs and returns the JSON of the comparison; raises ValueError for an invalid log."""

def build() -> str:
    """Returns the version and the build profile."""

class Simulation:
    """Single run of a scenario."""

    now: float
    duration: float
    events: int
    packet_hops: int
    memory: int
    division: str  # division of the run among threads, or the reason for a single thread

    def __init__(
        self, json: str, capture: list[str] | None = None, threads: int | None = 1, laws: Sequence[PythonLaw] = ()
    ) -> None: ...
    def advance(self, to_s: float, budget_events: int, /) -> bool:
        """Runs until the time or for the number of events; returns True at the end of the run."""

    def record_end(self) -> None:
        """Records the unfinished transfers at the end of the run; the run cannot continue afterwards."""

    def take(self) -> dict[str, dict[str, tuple[str, bytes]]]:
        """Returns the columns recorded since the last call."""

    def captured(self) -> bytes:
        """Returns the pcapng data captured since the last call."""

    def summary(self) -> str:
        """Returns the JSON of the exact counters; raises RuntimeError if packets are not conserved."""

MAX_BYTES: int
RESULT_FORMAT: str

class Recording:
    """Files of a run in progress; raises ScenarioError if the directory contains anything but a result."""

    def __init__(self, path: PathLike[str], manifest: str, origin: str | None = None) -> None: ...
    def flush(self, simulation: Simulation, /) -> None:
        """Stores the rows since the last call as one part per table, then the simulated time."""

    def finish(self, simulation: Simulation, complete: bool, /) -> Path:
        """Completes tables and manifest, and returns their directory until they are committed."""

    def keep(self, name: str, text: str, /) -> None:
        """Writes a text file of the result."""

    def discard(self) -> None:
        """Removes all files of the run; an earlier result stays."""

    def commit(self) -> Path:
        """Replaces the earlier result by the finished one, and returns the directory of the new result."""

class Lock:
    """Lock of a directory; raises BlockingIOError if another process holds it."""

    def __init__(self, path: PathLike[str], /) -> None: ...
    def close(self) -> None:
        """Releases the lock."""

def recover(path: PathLike[str], /) -> None:
    """Finishes the replacement of a result that a kill interrupted."""

def replace(path: PathLike[str], content: bytes, /) -> None:
    """Replaces a file by new content, atomically and durably."""

def create_dirs(path: PathLike[str], /) -> None:
    """Creates a directory and its missing parents, durably."""

def sync(path: PathLike[str], /) -> None:
    """Waits until the entries of a directory are on the disk."""

def read(path: PathLike[str], /) -> str:
    """Returns the text of a regular file of at most 256 MiB; raises OSError or ScenarioError."""

def text(path: PathLike[str], content: bytes, /) -> str:
    """Converts the content of a file to text; raises ScenarioError, with the path, above 256 MiB or without UTF-8."""

class Router:
    def __new__(cls, law: str, capacity_bps: float, params_json: str, id: int, logged: bool = False) -> Router: ...
    def arrive(self, size: int, header: bytes | None = None) -> bytes | None: ...
    def depart(self, header: bytes) -> bytes: ...
    def close(
        self, elapsed_s: float, queue_bytes: int = 0, dropped_bytes: int = 0, in_service_bytes: int = 0
    ) -> None: ...
    @property
    def journal(self) -> bytes | None: ...
    @property
    def signal(self) -> float: ...
    @property
    def target_bps(self) -> float: ...
    @property
    def interval_s(self) -> float: ...

class Sender:
    def __new__(cls, law: str, params_json: str, packet_bytes: int, logged: bool = False, seed: int = 0) -> Sender: ...
    def send(self, now_s: float, number: int, size: int, kind: str = "data") -> bytes: ...
    def feedback(self, now_s: float, number: int, rtt_s: float, header: bytes, kind: str = "data") -> None: ...
    @property
    def journal(self) -> bytes | None: ...
    @property
    def rate_bps(self) -> float: ...
    @property
    def proposal_bps(self) -> float: ...
    @property
    def packet_size(self) -> int: ...

class BufferAlgorithm:
    def __new__(cls, name: str, capacity_bps: float, params_json: str) -> BufferAlgorithm: ...
    def close(
        self,
        elapsed_s: float,
        admitted: int,
        dropped: int,
        sent: int,
        queue_bytes: int = 0,
        queue_packets: int = 0,
    ) -> float: ...
    @property
    def packets(self) -> float: ...
    @property
    def interval_s(self) -> float: ...
