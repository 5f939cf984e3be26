"""The compiled half of Levelflow: scenarios in, tables out."""

from os import PathLike

class ScenarioError(ValueError):
    """A scenario that is not allowed; a line for each mistake: what, where, what is allowed."""

    mistakes: list[str]  # of those that checking a scenario raises

def parse(text: str, /) -> str:
    """Turns TOML into the JSON of the scenario as written."""

def line(text: str, error: str, /) -> int | None:
    """Returns the line of a scenario file that an error is about."""

def read_traces(json: str, folder: str, /) -> str:
    """Returns the JSON of a scenario with changes in place of traces that its links name, as paths from a folder."""

def locate(json: str, path: str, /) -> str:
    """Returns the JSON list of steps along a path such as `flow.x1.start`: keys of tables and indices of lists."""

def value_of(text: str, /) -> str:
    """Returns the JSON of a value as typed on a command line: TOML where it is TOML, otherwise the text itself."""

def scale_arrivals(json: str, factor: float, /) -> str:
    """Returns the JSON of a scenario with the arrivals of all flow entries multiplied by a factor."""

def resolve(json: str, /) -> str:
    """Checks a scenario and returns the JSON of what it means, in base units."""

def schema() -> str:
    """Returns the JSON Schema of scenarios."""

def laws() -> str:
    """Returns the JSON list of control laws and their parameters."""

def queues() -> str:
    """Returns the JSON list of queue disciplines and their parameters."""

def buffer_algorithms() -> str:
    """Returns the JSON list of buffer rules and buffer-sizing algorithms and their parameters."""

def replay(log: bytes, /) -> str:
    """Does again what a log of laws says and returns the JSON of what came out; ValueError if it is no log."""

def build() -> str:
    """Returns the version and the build profile."""

class Simulation:
    """One run of a scenario."""

    now: float
    duration: float
    events: int
    packet_hops: int
    memory: int
    division: str  # how the run is divided among threads, or why it is not

    def __init__(self, json: str, capture: list[str] | None = None, threads: int | None = 1) -> None: ...
    def advance(self, to_s: float, budget_events: int, /) -> bool:
        """Runs until that time or for that many events; says whether the run is over."""

    def record_end(self) -> None:
        """Records the transfers that go on at the end of the run, which then must not go on."""

    def take(self) -> dict[str, dict[str, tuple[str, bytes]]]:
        """Returns the columns recorded since the last call."""

    def captured(self) -> bytes:
        """Returns the pcapng captured since the last call."""

    def summary(self) -> str:
        """Returns the JSON of the exact counters; a broken conservation raises RuntimeError."""

RESULT_FORMAT: str

class Recording:
    """The files of a run while it goes on; a directory that holds anything but a result raises ScenarioError."""

    def __init__(self, path: PathLike[str], manifest: str, origin: str | None = None) -> None: ...
    def flush(self, simulation: Simulation, /) -> None:
        """Writes what was recorded since the last time as one part per table, then how far the run came."""

    def close(self, simulation: Simulation, complete: bool, /) -> None:
        """Writes the rest, and puts one file in place of the parts of each table."""

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
