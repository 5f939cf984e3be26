"""The command `levelflow`: one function per command; commands import their modules when they run."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from levelflow.cli.choosing import shortened
from levelflow.cli.late import Late, LateGroup
from levelflow.ending import BAD_INPUT, interrupted, interruptible

COMMANDS = {
    "demo": "levelflow.cli.demo:demo",
    "run": "levelflow.cli.running:run",
    "reproduce": "levelflow.cli.reproduce:reproduce",
    "study": "levelflow.cli.study:study",
    "compare": "levelflow.cli.comparing:compare",
    "buffers": "levelflow.cli.buffers:buffers",
    "lab": "levelflow.cli.lab:lab",
    "replay": "levelflow.cli.replaying:replay",
    "schema": "levelflow.cli.inspecting:schema",
    "list": "levelflow.cli.inspecting:list_",
    "topology": "levelflow.cli.topology:topology",
    "import": "levelflow.cli.importing:import_",
    "export": "levelflow.cli.importing:export",
    "convergence": "levelflow.cli.convergence:convergence",
    "theory": "levelflow.cli.theory:theory",
    "completion": "levelflow.cli.completion:completion",
}


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from levelflow import _core

        click.echo(f"levelflow {_core.build()}")
        context.exit()


@click.group(
    "levelflow",
    cls=LateGroup,
    commands=Late(COMMANDS),
    context_settings={"help_option_names": ["--help", "-h"], "show_default": True},
)
@click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print version and build.",
)
def app() -> None:
    """A network lab for congestion control: simulate, prove, measure and deploy."""


def main() -> None:
    """Runs the command line. Bad input gives one line per mistake on standard error, and exit status 2."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread: matrices are small
    gc.set_threshold(100_000)  # rare collections: imports create many objects and almost no garbage
    atexit.register(gc.freeze)  # no collection at exit: it would take a fifth of the time of a short run
    try:
        with interruptible():
            status = app(sys.argv[1:], "levelflow", standalone_mode=False)
            sys.stdout.flush()
    except click.Abort:  # a signal that the command did not handle itself
        _end("levelflow: interrupted", interrupted())
    except BrokenPipeError:  # the reader of standard output, such as `head`, has closed the pipe
        _end("", BAD_INPUT)
    except Exception as error:
        line = _line(error)
        if line is None:
            raise
        _end(line, BAD_INPUT)
    sys.exit(status)


def _end(line: str, status: int) -> NoReturn:
    """Prints a line and ends the process. Output that cannot be written is dropped."""
    with suppress(OSError):
        print(line, end="\n" if line else "", file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _line(error: Exception) -> str | None:
    """Returns the message for bad input; None for a bug in Levelflow."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    if isinstance(error, click.UsageError):
        wrong = " ".join(error.format_message().split()).rstrip(".")
        command = error.ctx.command_path if error.ctx else "levelflow"
        return f"levelflow: {wrong[0].lower()}{wrong[1:]}; see '{command} --help'"
    from levelflow import ScenarioError
    from levelflow.theory.errors import TheoryError

    if (fault := _fault(error)) is not None:
        return f"levelflow: {fault}"
    if not isinstance(error, ScenarioError | TheoryError):
        return None
    # Names from the command line may contain line breaks.
    mistakes = [" ".join(mistake.split("\n")) for mistake in getattr(error, "mistakes", [str(error)])]
    return "\n".join(f"levelflow: {line}" for line in shortened(mistakes, "mistakes"))


def _fault(error: Exception) -> str | None:
    """Returns the description of an error of the system, such as a full disk; None for other errors."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError):
        reason = (error.strerror or str(error) or type(error).__name__).lower()
        return f"{error.filename}: {reason}" if error.filename else reason
    polars = sys.modules.get("polars")
    if polars and isinstance(error, polars.exceptions.PolarsError):
        return (str(error).splitlines() or ["a table is damaged"])[0]
    return None
