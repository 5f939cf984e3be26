"""Verifies that checks of papers notice changes of laws: `python -m tools.mutations [--only LAW]`.

Each change of `tools/mutations.toml` is applied to a copy of the working tree. The figures that should notice the
change are measured in this copy, with the change and without it. A change *survives* if no check becomes worse; a check
is then missing. A change *fails* if a figure has no values, because no check was evaluated. Tools such as cargo-mutants
mutate a whole program and expect unit tests to fail. Here, checks of papers must fail, after changes in Rust and in
Python. For a law without a paper, the figure `cargo:WORD` selects the tests of the laws whose names contain the word.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from levelflow import _core, files
from levelflow.ending import BAD_INPUT, interrupted
from levelflow.library import PAPERS
from levelflow.reproduce import model
from levelflow.reproduce.verdict import Verdict
from tools import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TABLE = Path(__file__).with_suffix(".toml")
KINDS = ("threshold", "gain", "sign", "rounding", "dropped term")
#: Files of the working tree that a build and a measurement need.
COPIED = ("Cargo.toml", "Cargo.lock", "crates", "apps", "benches", "fuzz", "papers", "python", "scenarios")
MODULE = Path("python/levelflow/_core.abi3.so")
BUILD = ("cargo", "build", "--quiet", "--profile", "quick", "-p", "levelflow-py", "--features", "extension-module")
#: Build profile for a rebuild in seconds instead of half a minute. Results are the same.
PROFILE = {"incremental": "true", "codegen_units": "256"}
#: Prefix of a figure that selects tests in Rust, the command that runs them, and a line of its output.
CARGO = "cargo:"
TEST = ("cargo", "test", "-p", "levelflow-laws", "--lib")
TESTED = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)$", re.MULTILINE)
REPRODUCE = (sys.executable, "-c", "from levelflow.cli import main; main()", "reproduce")
#: Time limit of a changed law, which may never end: `LONGEST_TIMES * (time of the unchanged law) + LONGEST_MORE`, s.
LONGEST_TIMES, LONGEST_MORE = 20, 60
SHOWN = 2

#: Verdicts of a figure's checks, by `entry[check]`.
Verdicts = dict[str, str]


class TableError(ValueError):
    """Invalid table of changes."""


class RunError(RuntimeError):
    """Build or measurement without verdicts."""


@dataclass(frozen=True)
class Mutation:
    """One change of one law.

    Attributes:
        law: law or queue discipline that is changed.
        name: one-word name of the change.
        kind: one of `KINDS`.
        file: path below the checkout. A change in Rust needs a build. A change in Python does not.
        before: text that occurs once in the file.
        after: text that replaces `before`.
        figures: entries or folders of `papers/` that should notice the change, in the order of measurement; or
            `cargo:WORD`.
        open: description of the missing check, if no check notices the change.
    """

    law: str
    name: str
    kind: str
    file: str
    before: str
    after: str
    figures: tuple[str, ...]
    open: str = ""

    @property
    def compiled(self) -> bool:
        """True if the change needs a build."""
        return self.file.endswith(".rs")

    @property
    def only_tested(self) -> bool:
        """True if only Rust tests should notice the change. These tests build the code that they need."""
        return not _of_papers(self.figures)

    def changed(self, root: Path) -> str:
        """Returns the text of the file below a root, with the change applied.

        Raises:
            TableError: if the file does not exist, or `before` does not occur once.
        """
        path = root / self.file
        if not path.is_file():
            raise TableError(f"{TABLE.name}, {self.name}: there is no file {self.file}")
        text = path.read_text(encoding="utf-8")
        if (count := text.count(self.before)) != 1:
            raise TableError(
                f"{TABLE.name}, {self.name}: {self.before!r} occurs {count} times in {self.file}; needs one"
            )
        return text.replace(self.before, self.after)


def read(path: Path = TABLE) -> list[Mutation]:
    """Reads the table of changes.

    Raises:
        TableError: if the table is invalid.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]
    mutations = [_mutation(row) for row in rows]
    names = [mutation.name for mutation in mutations]
    if twice := [name for name in names if names.count(name) > 1]:
        raise TableError(f"{path.name}: {twice[0]} occurs {names.count(twice[0])} times; needs a name of its own")
    return mutations


def _mutation(row: Mapping[str, Any]) -> Mutation:
    where = f"{TABLE.name}, {row.get('name', row)}"
    allowed = [field.name for field in fields(Mutation)]
    wrong = [key for key in row if key not in allowed] + [key for key in allowed[:-1] if not row.get(key)]
    if wrong:
        raise TableError(f"{where}: {wrong[0]!r} is missing or unknown; needs {', '.join(allowed[:-1])}, may have open")
    if row["kind"] not in KINDS:
        raise TableError(f"{where}: the kind {row['kind']!r} is not allowed; needs one of {', '.join(KINDS)}")
    return Mutation(**{**row, "figures": tuple(row["figures"])})


def check(mutations: Sequence[Mutation]) -> None:
    """Checks that each change can be applied to the checkout, and that its figures exist.

    Raises:
        TableError: if a `before` text does not occur once, or a change has no effect.
        ClaimError: if a figure is unknown.
    """
    claims = model.discover(PAPERS)
    for mutation in mutations:
        mutation.changed(CHECKOUT)
        if mutation.before == mutation.after:
            raise TableError(f"{TABLE.name}, {mutation.name}: changes nothing")
        if not mutation.only_tested:
            model.select(claims, _of_papers(mutation.figures))


def _of_papers(figures: Sequence[str]) -> list[str]:
    """Returns the figures that are entries or folders of `papers/`."""
    return [figure for figure in figures if not figure.startswith(CARGO)]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a change: it is noticed if checks become worse, fails if a figure has no values, or else survives.

    Attributes:
        turned: checks that became worse, in the first figure that notices the change.
        failed: reasons why figures have no values.
    """

    turned: list[str]
    failed: str = ""

    @property
    def noticed(self) -> bool:
        """True if checks became worse."""
        return bool(self.turned)

    @property
    def survives(self) -> bool:
        """True if all figures were judged, and no check became worse."""
        return not self.turned and not self.failed


class Tree:
    """Copy of the working tree, in which laws are changed. The original is never modified.

    Args:
        folder: folder for the copy, its builds and the results.
        workers: number of parallel runs; by default, one per CPU.
    """

    def __init__(self, folder: Path, workers: int | None = None) -> None:
        self.folder = folder.resolve()
        self.root = self.folder / "tree"
        self._words = ["--workers", str(workers)] if workers else []
        self._target = Path(os.environ.get("CARGO_TARGET_DIR", self.folder / "target"))

    def copy(self) -> None:
        """Makes the copy equal to the working tree. Unchanged files keep their times, so builds stay valid."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *COPIED]
        listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
        names = [name for name in listed.split("\0") if name and os.path.lexists(CHECKOUT / name)]
        for old in [path for path in self.root.rglob("*") if path.is_symlink() or path.is_file()]:
            if str(old.relative_to(self.root)) not in names and old.suffix != ".pyc":
                old.unlink()
        for name in names:
            source, target = CHECKOUT / name, self.root / name
            if not (os.path.lexists(target) and _content(source) == _content(target)):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copyfile(source, target, follow_symlinks=False)
        self._names = sorted(names)

    def digest(self, figures: Sequence[str]) -> str:
        """Returns a hash of all inputs of the verdicts: the copy, without the folders of other figures."""
        entries = _of_papers(figures)
        own = {claim.folder.name for claim in model.select(self._claims, entries)} if entries else set()
        digest = hashlib.sha256()
        for name in self._names:
            top, *below = Path(name).parts
            folder = below[1] if top == "papers" and len(below) > 2 else ""
            if not folder or folder in own or folder.endswith("_models"):
                digest.update(self._contents(name))
        return digest.hexdigest()

    @cached_property
    def _claims(self) -> list[model.Claim]:
        return model.discover(PAPERS)

    @cache  # noqa: B019 - as long as the tree, of which a run has one
    def _contents(self, name: str) -> bytes:
        return hashlib.sha256(name.encode() + _content(self.root / name)).digest()

    def build(self) -> None:
        """Builds the compiled module in the copy.

        Raises:
            RunError: if the build fails.
        """
        profile = {f"CARGO_PROFILE_QUICK_{name.upper()}": value for name, value in PROFILE.items()}
        environment = os.environ | profile | {"CARGO_TARGET_DIR": str(self._target)}
        done = subprocess.run(BUILD, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"does not build: {_first(done.stderr, 'error')}")
        shutil.copyfile(self._target / "quick" / "lib_core.so", self.root / MODULE)

    def borrow(self) -> str:
        """Copies the compiled module of the checkout, and returns its hash."""
        shutil.copyfile(_core.__file__, self.root / MODULE)
        return hashlib.sha256((self.root / MODULE).read_bytes()).hexdigest()

    @contextmanager
    def with_change(self, mutation: Mutation) -> Iterator[None]:
        """Applies a change on entry, and reverts it on exit."""
        path = self.root / mutation.file
        text = path.read_text(encoding="utf-8")
        path.write_text(mutation.changed(self.root), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")

    def measure(self, figure: str, longest: float | None = None) -> tuple[Verdicts, float]:
        """Returns the verdicts of a figure, and the time that the measurement took, s.

        Raises:
            RunError: if the measurement fails, or takes longer than `longest` seconds.
        """
        if figure.startswith(CARGO):
            return self._test(figure.removeprefix(CARGO), longest)
        found = self.folder / "verdicts.json"
        found.unlink(missing_ok=True)
        command = [*REPRODUCE, figure, "--json", str(found), "--out", str(self.folder / "report"), *self._words]
        python = {"PYTHONPATH": str(self.root / "python")}
        if longest:  # Python selects bytecode by file time in seconds, and two changes may have equal times
            python["PYTHONDONTWRITEBYTECODE"] = "1"
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=os.environ | python,
                capture_output=True,
                text=True,
                timeout=longest,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"{figure} takes more than {longest:.0f} s") from None
        rows = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
        if not rows:
            raise RunError(f"{figure} fails: {_first(done.stderr, 'panicked')}")
        return {f"{row['id']}[{row['check']}]": row["verdict"] for row in rows}, time.monotonic() - begin

    def _test(self, word: str, longest: float | None) -> tuple[Verdicts, float]:
        """Returns the results of the tests whose names contain a word, as verdicts, and their run time in s."""
        environment = os.environ | {"CARGO_TARGET_DIR": str(self._target)}
        begin = time.monotonic()
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*TEST, word], cwd=self.root, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        ) as process:
            try:
                printed, errors = process.communicate(timeout=longest)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise RunError(f"{CARGO}{word} takes more than {longest:.0f} s") from None
        if not (rows := TESTED.findall(printed)):
            raise RunError(f"{CARGO}{word} fails: {_first(errors, 'error')}")
        verdicts = {name: "reproduced" if result == "ok" else "not reproduced" for name, result in rows}
        return verdicts, time.monotonic() - begin


def _content(path: Path) -> bytes:
    return os.readlink(path).encode() if path.is_symlink() else path.read_bytes()


def _first(text: str, word: str) -> str:
    """Returns the first line that contains a word, or the last line if no line does."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if word in line), lines[-1])


def turned(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Returns the checks whose verdict is worse than before, with the new verdict."""
    order = get_args(Verdict)
    return [
        f"{check}: {verdict} -> {after[check]}"
        for check, verdict in before.items()
        if check not in unjudged(before, after) and order.index(after[check]) > order.index(verdict)
    ]


def unjudged(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Returns the checks that no longer have a value, because their figure raised an error."""
    return [check for check, verdict in before.items() if verdict != "error" == after.get(check, "error")]


class Kept:
    """Stored results of measurements, one file each, so that an interrupted run can resume."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str, key: object) -> Any:
        """Returns the stored result with this name; None if it was stored for another key."""
        try:
            record = json.loads(self._file(name).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record["found"] if record["key"] == repr(key) else None

    def save(self, name: str, key: object, found: Any) -> None:
        """Stores a result, which replaces the result with the same name."""
        files.replace(self._file(name), json.dumps({"key": repr(key), "found": found}))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name.replace('/', '--')}.json"


def run(mutations: Sequence[Mutation], tree: Tree, kept: Kept) -> Iterator[tuple[Mutation, Outcome]]:
    """Yields each change and its outcome. Python changes come first, as they need no build. Failures are not stored.

    Raises:
        RunError: if a figure has no verdicts without any change.
    """
    tree.copy()
    for compiled in (False, True):
        group = [mutation for mutation in mutations if mutation.compiled is compiled]
        module = "built" if compiled else tree.borrow()
        keys = {mutation: (tree.digest(mutation.figures), module, *_what(mutation)) for mutation in group}
        found = {mutation: kept.load(mutation.name, key) for mutation, key in keys.items()}
        missing = [mutation for mutation in group if found[mutation] is None]
        usual = _usual(missing, tree, kept, module)
        for mutation, key in keys.items():
            outcome = Outcome(found[mutation]) if mutation not in missing else _outcome(mutation, tree, usual)
            if not outcome.failed:
                kept.save(mutation.name, key, outcome.turned)
            yield mutation, outcome


def _what(mutation: Mutation) -> tuple[object, ...]:
    """Returns the attributes of a change that determine its outcome."""
    return mutation.file, mutation.before, mutation.after, mutation.figures


def _usual(mutations: Sequence[Mutation], tree: Tree, kept: Kept, module: str) -> dict[str, tuple[Verdicts, float]]:
    """Measures the figures of all changes in the unchanged tree."""
    names = dict.fromkeys(figure for mutation in mutations for figure in mutation.figures)
    keys = {name: (tree.digest([name]), module) for name in names}
    usual = {name: kept.load(f"usual-{name}", key) for name, key in keys.items()}
    missing = [name for name, found in usual.items() if found is None]
    if _of_papers(missing) and module == "built":
        tree.build()
    for name in missing:
        usual[name] = tree.measure(name)
        kept.save(f"usual-{name}", keys[name], usual[name])
    return usual


def _outcome(mutation: Mutation, tree: Tree, usual: Mapping[str, tuple[Verdicts, float]]) -> Outcome:
    """Measures the figures of a change until one of them notices it."""
    failed = []
    with tree.with_change(mutation):
        if mutation.compiled and not mutation.only_tested:
            try:
                tree.build()
            except RunError as error:
                raise TableError(f"{TABLE.name}, {mutation.name}: {error}") from None
        for figure in mutation.figures:
            before, seconds = usual[figure]
            try:
                after, _ = tree.measure(figure, LONGEST_TIMES * seconds + LONGEST_MORE)
            except RunError as error:
                failed.append(str(error))
                continue
            if found := turned(before, after):
                return Outcome(found, "; ".join(failed))
            if lost := unjudged(before, after):
                failed.append(f"{figure} has no value for {len(lost)} of {len(before)} checks")
    return Outcome([], "; ".join(failed))


def row(mutation: Mutation, outcome: Outcome) -> str:
    """Returns a row of the table."""
    if outcome.noticed:
        more = f" and {len(outcome.turned) - SHOWN} more" if len(outcome.turned) > SHOWN else ""
        said = f"{', '.join(outcome.turned[:SHOWN])}{more}" + ("; listed as open" if mutation.open else "")
    else:
        what = "**survives**" if outcome.survives else f"**fails**: {outcome.failed}"
        said = f"{what}{'; open: ' if mutation.open else ''}{mutation.open}"
    return f"| {mutation.law} | {mutation.name} | {mutation.kind} | {said} |"


def main(arguments: list[str] | None = None) -> int:
    """Applies the changes and prints the checks that notice.

    Returns 1 if an open change is noticed, or if a change that is not open is not noticed.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--only", action="append", metavar="LAW", help="changes of this law, or the one of this name")
    parser.add_argument("--no-build", action="store_true", help="only changes of Python")
    parser.add_argument(
        "--out", type=Path, default=CHECKOUT / "results/mutations", help="copy, build and what was found"
    )
    parser.add_argument("--workers", type=int, help="runs side by side; one per processor")
    options = parser.parse_args(arguments)
    try:
        mutations = _chosen(read(), options.only, python=options.no_build)
        check(mutations)
        done = _print(run(mutations, Tree(options.out, options.workers), Kept(options.out / "found")))
    except (TableError, model.ClaimError, RunError) as error:
        print(f"tools.mutations: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("tools.mutations: interrupted; what was found is kept for the next run", file=sys.stderr)
        return interrupted()
    noticed = sum(outcome.noticed for _, outcome in done)
    survive = [mutation for mutation, outcome in done if outcome.survives]
    known = sum(bool(mutation.open) for mutation in survive)
    fail = f"{len(done) - noticed - len(survive)} fail"
    print(f"\n{len(done)} changes: {noticed} noticed, {len(survive)} survive, {known} of them open, {fail}")
    return int(any(bool(mutation.open) == outcome.noticed for mutation, outcome in done))


def _chosen(mutations: list[Mutation], only: list[str] | None, *, python: bool) -> list[Mutation]:
    laws = sorted({mutation.law for mutation in mutations})
    for wanted in only or []:
        if wanted not in {*laws, *(mutation.name for mutation in mutations)}:
            raise TableError(f"--only {wanted}: no such law or change; laws are {', '.join(laws)}")
    named = [m for m in mutations if not only or m.law in only or m.name in only]
    return [mutation for mutation in named if not (python and mutation.compiled)]


def _print(found: Iterator[tuple[Mutation, Outcome]]) -> list[tuple[Mutation, Outcome]]:
    """Prints a row for each change when it is done, and returns all changes with their outcomes."""
    print("| law | change | kind | noticed by |\n|---|---|---|---|")
    done = []
    for mutation, outcome in found:
        done.append((mutation, outcome))
        print(row(mutation, outcome), flush=True)
    return done


if __name__ == "__main__":
    raise SystemExit(main())
