"""The command `levelflow`: one function per command; what they need is imported when they run."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from typing import Annotated, Any

import typer

from levelflow.cli.buffers import app as buffers
from levelflow.cli.comparing import app as comparing
from levelflow.cli.convergence import app as convergence
from levelflow.cli.demo import app as demo
from levelflow.cli.inspecting import app as inspecting
from levelflow.cli.lab import app as lab
from levelflow.cli.replaying import app as replaying
from levelflow.cli.running import app as running
from levelflow.cli.study import app as study
from levelflow.cli.theory import app as theory
from levelflow.cli.topology import app as topology

#: What is wrong with a command line; typer exports one kind of it only.
UsageError: Any = typer.BadParameter.__mro__[1]

#: Old words of commands, which work for one release.
RENAMED: dict[tuple[str, ...], tuple[str, str]] = {
    ("list", "protocols"): ("list", "laws"),
    ("list", "sizers"): ("list", "buffers"),
}

#: What the parser of arguments adds to a line that is clear without.
PARSER = re.compile(r"Value error, |, unable to parse string as an? \w+")

app = typer.Typer(
    help="Explicit-rate congestion control that you can prove, simulate and deploy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts three times as fast
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(demo)
app.add_typer(running)
app.add_typer(study)
app.add_typer(comparing)
app.add_typer(buffers)
app.add_typer(lab)
app.add_typer(replaying)
app.add_typer(inspecting)
app.add_typer(topology)
app.add_typer(convergence, name="convergence")
app.add_typer(theory, name="theory")


def _version(wanted: bool) -> None:
    if wanted:
        from levelflow import _core

        typer.echo(_core.build())
        raise typer.Exit


@app.callback()
def levelflow(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print version and build.")
    ] = False,
) -> None:
    """Explicit-rate congestion control that you can prove, simulate and deploy."""


def main() -> None:
    """Runs the command line; bad input is a line per mistake on standard error and exit status 2."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices here are small: threads would wait for each other
    gc.set_threshold(100_000)  # libraries make many objects while they load, and next to no garbage
    atexit.register(gc.freeze)  # in the end, too, a search for garbage would take a fifth of the time of a short run
    words = sys.argv[1:]
    if renamed := RENAMED.get(tuple(words[:2])):
        print(f"levelflow: {' '.join(words[:2])} is now {' '.join(renamed)}", file=sys.stderr)
        words[:2] = renamed
    try:
        status = app(words, standalone_mode=False)
    except typer.Abort:
        sys.exit(1)
    except (ValueError, UsageError) as error:
        line = _line(error)
        if line is None:
            raise
        from levelflow.status import BAD_INPUT

        print(line, file=sys.stderr)
        sys.exit(BAD_INPUT)
    sys.exit(status)


def _line(error: Exception) -> str | None:
    """Returns what to say of bad input, and nothing of a mistake of ours."""
    if isinstance(error, UsageError):
        text: str = error.format_message()
        where = error.ctx
        if where is not None and text == where.get_help():  # without a command, typer says what there is
            return text
        wrong = PARSER.sub("", " ".join(text.split())).replace("Input should be", "must be").rstrip(".")
        command = "levelflow" if where is None else where.command_path
        return f"levelflow: {wrong[0].lower()}{wrong[1:]}; see '{command} --help'"
    from levelflow import ScenarioError
    from levelflow.theory.errors import TheoryError

    if not isinstance(error, ScenarioError | TheoryError):
        return None
    # A name from the command line may have lines of its own.
    mistakes = (" ".join(mistake.split("\n")) for mistake in getattr(error, "mistakes", [str(error)]))
    return "\n".join(f"levelflow: {mistake}" for mistake in mistakes)
