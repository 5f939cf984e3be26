"""Computed numbers are bit-identical for any number of threads of the engine and of polars.

`test_study.py` compares pools of processes, threads and Dask. `test_convergence.py` compares numbers of workers.
"""

import json
import os
import subprocess
import sys

#: Program that simulates a run divided among threads and a run with thousands of transfers. It prints summaries, and
#: numbers from measures, a study and the convergence benchmark.
DERIVED = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from levelflow import Scenario, Study
from levelflow.convergence import families, trial
from levelflow.measure import completions, rates, samples, transfers
threads = int(sys.argv[1])
run = Scenario.load("abilene").set("duration", "3 s").run(threads=threads)
many = Scenario.load("rcp-poisson").set("duration", "4 s").run()
done, window = many.completions, (1.0, 3.0)
names = [flow["name"] for flow in run.summary["flows"]]
tables = {
    "study": {"scenario": "abilene", "replications": 2}, "axis": [{"path": "duration", "values": ["0.5 s", "1 s"]}]
}
found = Study(tables).run(Path(sys.argv[2]), scheduler="threads", workers=threads, cache=False)
_, network = families.network("chain", 0)
print(json.dumps([
    run.summary,
    completions.by_size(done, 1e9, 0.5).rows(),
    completions.fct_cv(done), completions.fct_max_over_mean(done), completions.afct_ratio(done, done.reverse()),
    [column.tolist() for column in rates.aggregate(run.flows, names, window)],
    samples.means(run.flows, ["flow"], ["throughput_bps", "goodput_bps"], window).rows(),
    many.summary, transfers.summary(many.transfers), transfers.by_size(many.transfers),
    found.rows.rows(), found.summary("fct_mean_s").rows(),
    asdict(trial.attempt(network.scenario("n", "level", 1), 1e9)),
], default=list))
"""


def derived(folder, threads, polars_threads):
    command = [sys.executable, "-c", DERIVED, str(threads), str(folder / f"{threads} {polars_threads}")]
    environment = os.environ | {"POLARS_MAX_THREADS": str(polars_threads)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=300).stdout


def test_derived_numbers_do_not_depend_on_the_number_of_threads(tmp_path):
    first = derived(tmp_path, 1, 1)
    assert len(json.loads(first)[1]) > 3
    assert [derived(tmp_path, *both) for both in ((1, 8), (2, 3))] == [first, first]
