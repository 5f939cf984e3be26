"""What theory predicts of scenarios, against what the simulator does with them; the scenarios are drawn by seed."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from levelflow import Scenario
from levelflow.theory.laws.kelly import critical_gain
from levelflow.theory.verdicts import Port, verdict

#: A verdict is asked for only where gains are this far from the boundary.
AWAY = 1.1
#: Rates that swing by less than this part of their mean are at rest; packets that are counted make some of it.
SWING = 0.1
#: Share of the verdicts that must agree.
AGREE = 0.95


def one_link(draw, law):
    """Flows of one law over one link, with gains drawn on both sides of the boundary."""
    count, shortest = draw.randint(2, 10), draw.uniform(30, 150)
    delays = [shortest * draw.uniform(1, draw.choice([1, 2, 4])) for _ in range(count)]
    capacity, buffer, gains = draw.uniform(40, 80), "8 MB", {}
    if law == "rcp":
        gains = {"alpha": draw.uniform(0.1, 1.8), "beta": draw.uniform(0.1, 1.5), "interval": "5 ms"}
    elif law == "xcp":
        gains = {"alpha": (alpha := draw.uniform(0.2, 1.0)), "beta": alpha**2 * draw.uniform(0.5, 2)}
    elif law == "maxnet":
        slow = draw.random() < 0.3
        delays = [delay * 12 for delay in delays] if slow else delays
        gains = {"alpha": draw.uniform(0.3, 1.2), "eta": 1.0 if slow else draw.choice([0.06, 0.2])}
    elif law == "kelly":
        steps = draw.randint(0, 4)
        delays = [40.0 * steps + 5] * count
        gain = critical_gain(steps + 2) * draw.uniform(0.3, 1.3)
        capacity, buffer, gains = 10, "20 kB", {"kappa": gain, "omega": "5 kb/s", "min_rate": "50 kb/s"}
    elif law == "jetmax":
        gains = {"tau": draw.uniform(0.1, 0.99)}
    elif law == "emkc":
        gains = {"beta": draw.uniform(0.2, 1.8), "alpha": "400 kb/s"}
    return capacity, buffer, [round(delay, 3) for delay in delays], gains


def build(law, seed):
    draw = random.Random(f"{law} {seed}")
    while True:
        capacity, buffer, delays, gains = one_link(draw, law)
        ports = np.array(delays) / 1e3
        scenario = Scenario(f"{law} {seed}", "60 s", seed=seed, sample="100 ms").law(law, **gains)
        scenario.link("A", "B", f"{capacity:.3f} Mb/s", "1 ms", buffer=buffer, duplex=True)
        for number, delay in enumerate(delays):
            scenario.flow(f"x{number}", law, "A", "B", rtt=f"{delay} ms", start=f"{number * 200} ms")
        parameters = scenario.resolve()["flows"][0]["params"]
        found = verdict(law, Port(np.full(len(delays), capacity * 1e6 / len(delays)), ports, parameters))
        if not 1 / AWAY < found.margin < AWAY:
            duration = max(60.0, 150 * ports.max(), 3 * (found.time or 0))
            return scenario.set("duration", f"{duration:.3f} s"), found


def swing(scenario):
    result = scenario.run()
    late = result.flows.filter(pl.col("t") > 0.8 * result.flows["t"].max())
    rates = late.group_by("flow").agg(swing=(pl.col("rate_bps").max() - pl.col("rate_bps").min()) / pl.col("rate_bps").mean())
    return rates["swing"].median()


if __name__ == "__main__":
    import sys, time
    for law in sys.argv[1].split(","):
        for seed in range(int(sys.argv[2])):
            t=time.time(); s, v = build(law, seed); a=time.time()-t; t=time.time(); sw = swing(s); b=time.time()-t
            print(law, seed, "ok" if (sw<SWING)==v.stable else "DIFF", v.stable, "%.2f" % v.margin, "swing %.3f"%sw, {k:(round(x,2) if isinstance(x,float) else x) for k,x in s.raw["law"][law].items()}, len(s.raw["flow"]), s.raw["flow"][0]["rtt"], s.raw["duration"], "%.1f %.1f"%(a,b), flush=True)
