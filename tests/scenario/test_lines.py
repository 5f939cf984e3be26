"""Ready scenarios of common access lines."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tools import lines

from levelflow import Scenario

READY = ("dsl", "docsis", "lte", "5g", "wifi", "leo")


@pytest.mark.parametrize("name", lines.LINES)
def test_files_are_what_the_generator_writes(name: str) -> None:
    assert Path("scenarios", f"{name}.csv").read_text(encoding="utf-8") == lines.text(name)


def test_the_lte_model_has_the_published_numbers() -> None:
    """Far from both bounds, steps of the rate have the variance of the Brownian motion. Outages last 1 s on average."""
    squares, outages = [], []
    for seed in range(40):
        rates = [row["capacity_bps"] / 12e3 for row in lines.lte(Random(seed))]
        assert all(0 <= rate <= 1000 for rate in rates)
        squares += [(b - a) ** 2 for a, b in pairwise(rates) if 300 < a < 700]
        length = 0
        for rate in rates:
            if rate == 0:
                length += 1
            elif length:
                outages.append(length * 0.1)
                length = 0
    assert sum(squares) / len(squares) == pytest.approx(200**2 * 0.1, rel=0.03)
    # Exponential outage times of mean 1 s are rounded up to multiples of 0.1 s.
    assert sum(outages) / len(outages) == pytest.approx(1.05, rel=4 / len(outages) ** 0.5)
    assert len(outages) > 100


def test_a_satellite_serves_15_s_within_the_published_ranges() -> None:
    rows = list(lines.leo(Random(3)))
    served = [row for row in rows if row["loss"] != 0.5]
    assert [row["t_s"] for row in served] == [15.0 * n for n in range(8)]
    for row in served:
        for value, (low, high) in zip((row["capacity_bps"], row["delay_s"], row["loss"]), lines.RANGES, strict=True):
            assert low <= value <= high


@pytest.mark.parametrize("name", READY)
def test_ready_scenarios_run_from_anywhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = Scenario.named(name).set("duration", "12 s").run()
    flows = {flow["name"]: flow for flow in result.summary["flows"]}
    assert flows["call"]["throughput_bps"] > 0
    assert flows["download"]["throughput_bps"] > flows["call"]["throughput_bps"]
