"""Runs fuzz targets guided by coverage, with libFuzzer, and counts the inputs.

    python -m tools.fuzz [TARGET ...] [--seconds 60]    run targets, by default all, and count their inputs
    python -m tools.fuzz --keep [TARGET ...]            put new inputs that reach more code into the corpora
    python -m tools.fuzz --total                        print the inputs of all runs on this machine

A finding ends the run with exit status 1. Its input is printed as a line of the corpus, `fuzz/corpus/TARGET.hex`. Add
the line to this file after the mistake is fixed: `cargo test -p levelflow-fuzz` runs all lines.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
CORPORA = CHECKOUT / "fuzz/corpus"
TARGET_DIRECTORY = Path(os.environ.get("CARGO_TARGET_DIR", CHECKOUT / "target")) / "fuzz"
#: Inputs of each run: one line of JSON per target.
COUNTS = TARGET_DIRECTORY / "counts.jsonl"
#: Coverage counters and traces of comparisons, as libFuzzer expects them. Stable Rust accepts these flags.
FLAGS = (
    "--cfg=fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
    " -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
    " -Cllvm-args=-sanitizer-coverage-trace-compares"
)
#: Largest length of an input, bytes.
MAX_LENGTH = 256
#: Largest size of a corpus in the repository, bytes.
MAX_CORPUS = 60_000


def targets() -> list[str]:
    """Returns the names of all targets."""
    source = (CHECKOUT / "fuzz/tests/targets.rs").read_text()
    names = re.search(r"^tests! \{(.*?)\}", source, re.MULTILINE | re.DOTALL)
    assert names
    return names[1].split()


def build() -> Path:
    """Builds the program that runs a target, and returns its path."""
    host = subprocess.run(
        ["rustc", "--print", "host-tuple"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    environment = {**os.environ, "RUSTFLAGS": FLAGS, "CARGO_TARGET_DIR": str(TARGET_DIRECTORY)}
    # With --target, build scripts and macros are not instrumented.
    words = ["cargo", "build", "--profile", "fuzz", "--target", host, "-p", "levelflow-fuzz", "--bin", "guided"]
    subprocess.run(words, check=True, cwd=CHECKOUT, env=environment)
    return TARGET_DIRECTORY / host / "fuzz/guided"


def unpacked(target: str) -> Path:
    """Returns the folder with a target's inputs, which includes the corpus in the repository."""
    folder = TARGET_DIRECTORY / "inputs" / target
    folder.mkdir(parents=True, exist_ok=True)
    corpus = CORPORA / f"{target}.hex"
    for number, line in enumerate(corpus.read_text().splitlines() if corpus.exists() else []):
        (folder / f"kept-{number}").write_bytes(bytes.fromhex(line))
    return folder


def libfuzzer(program: Path, target: str, *words: str | Path) -> tuple[int, str]:
    """Runs libFuzzer on a target and returns its exit status and its messages."""
    found = TARGET_DIRECTORY / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_len={MAX_LENGTH}", "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1"]
    done = subprocess.run(
        [program, *options, f"-artifact_prefix={found}/", *words],
        check=False,
        env={**os.environ, "LEVELFLOW_FUZZ_TARGET": target},
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stderr


def run(program: Path, target: str, seconds: int) -> bool:
    """Runs a target for a time, counts its inputs, and returns True if there was no finding."""
    status, text = libfuzzer(program, target, f"-max_total_time={seconds}", unpacked(target))
    executed = re.search(r"stat::number_of_executed_units: (\d+)", text)
    # After a finding, libFuzzer prints no statistics. The last progress line has the number of inputs.
    progress = [int(number) for number in re.findall(r"^#(\d+)", text, re.MULTILINE)]
    count = int(executed[1]) if executed else max(progress, default=0)
    with COUNTS.open("a") as counts:
        counts.write(json.dumps({"target": target, "inputs": count, "found": status != 0}) + "\n")
    print(f"{count:>13,}  {target}", flush=True)
    if status == 0:
        return True
    print(*text.splitlines()[-40:], sep="\n", file=sys.stderr)
    found = sorted((TARGET_DIRECTORY / "found" / target).iterdir(), key=lambda path: path.stat().st_mtime)
    if found:
        print(f"{target}: add to its corpus: {found[-1].read_bytes().hex()}", file=sys.stderr)
    return False


def keep(program: Path, target: str) -> None:
    """Writes the corpus of a target: its lines so far, and the shortest new inputs that reach more code."""
    corpus = CORPORA / f"{target}.hex"
    lines = corpus.read_text().splitlines() if corpus.exists() else []
    merged = TARGET_DIRECTORY / "merged" / target
    merged.mkdir(parents=True, exist_ok=True)
    for path in merged.iterdir():
        path.unlink()
    for number, line in enumerate(lines):
        (merged / f"kept-{number}").write_bytes(bytes.fromhex(line))
    status, text = libfuzzer(program, target, "-merge=1", merged, unpacked(target))
    if status:
        sys.exit(f"{target}: libFuzzer cannot merge its inputs:\n{text[-1000:]}")
    new = sorted({path.read_bytes() for path in merged.iterdir()} - {bytes.fromhex(line) for line in lines}, key=len)
    size = sum(len(line) + 1 for line in lines)
    for data in new:
        size += 2 * len(data) + 1
        if size > MAX_CORPUS:
            break
        lines.append(data.hex())
    CORPORA.mkdir(exist_ok=True)
    corpus.write_text("".join(line + "\n" for line in lines))
    print(f"{len(lines):>5} inputs  {target}", flush=True)


def total() -> None:
    """Prints the number of inputs per target and of all targets, and the number of findings."""
    rows = [json.loads(line) for line in COUNTS.read_text().splitlines()] if COUNTS.exists() else []
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["target"]] = sums.get(row["target"], 0) + row["inputs"]
    for target, inputs in sorted(sums.items()):
        print(f"{inputs:>13,}  {target}")
    print(f"{sum(sums.values()):>13,}  in {len(rows)} runs, {sum(row['found'] for row in rows)} with a finding")


def main() -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help="name of a target, or the beginning of one")
    parser.add_argument("--seconds", type=int, default=60, help="time per target (default: 60)")
    parser.add_argument("--keep", action="store_true", help="update the corpora instead")
    parser.add_argument("--total", action="store_true", help="print the number of inputs of all runs so far")
    asked = parser.parse_args()
    if asked.total:
        total()
        return 0
    chosen = [name for name in targets() if not asked.target or name.startswith(tuple(asked.target))]
    if not chosen:
        parser.error(f"no such target; allowed: {', '.join(targets())}")
    program = build()
    if asked.keep:
        for name in chosen:
            keep(program, name)
        return 0
    results = [run(program, name, asked.seconds) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
