"""The compiled half of Levelflow: scenarios in, tables out."""

class ScenarioError(ValueError):
    """A scenario that is not allowed; one line: what, where, what is allowed."""

def parse(text: str, /) -> str:
    """Turns TOML into the JSON of the scenario as written."""

def resolve(json: str, /) -> str:
    """Checks a scenario and returns the JSON of what it means, in base units."""

def schema() -> str:
    """Returns the JSON Schema of scenarios."""

def laws() -> str:
    """Returns the JSON list of control laws and their parameters."""

def build() -> str:
    """Returns the version and the build profile."""

class Simulation:
    """One run of a scenario."""

    now: float
    duration: float
    events: int
    packet_hops: int
    memory: int

    def __init__(self, json: str, /) -> None: ...
    def advance(self, to_s: float, budget_events: int, /) -> bool:
        """Runs until that time or for that many events; says whether the run is over."""

    def take(self) -> dict[str, dict[str, tuple[str, bytes]]]:
        """Returns the columns recorded since the last call."""

    def summary(self) -> str:
        """Returns the JSON of the exact counters; a broken conservation raises RuntimeError."""
