"""Simulates what `make bench` does, for the compiler of a wheel to learn which ways packets take (profile-guided)."""

from __future__ import annotations

from tools.bench import cases, measure

#: With more flows, packets take the same paths, but longer.
MOST_FLOWS = 100_000


def main() -> None:
    """Runs each case once."""
    for _, _, scenario, flows in cases():
        if (flows or 0) <= MOST_FLOWS:
            measure(scenario)


if __name__ == "__main__":
    main()
