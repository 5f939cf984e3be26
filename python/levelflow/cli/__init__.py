"""The command `levelflow`: one function per command; commands import their modules when they run."""

from __future__ import annotations

import atexit
import gc
import os
import sys

import click

from levelflow.cli.late import Late, LateGroup

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
    "convergence": "levelflow.cli.convergence:convergence",
    "theory": "levelflow.cli.theory:theory",
    "completion": "levelflow.cli.completion:completion",
}


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from levelflow import _core

        click.echo(_core.build())
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
    """Explicit-rate congestion control that you can prove, simulate and deploy."""


def main() -> None:
    """Runs the command line. Bad input gives one line per mistake on standard error, and exit status 2."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small: threads would only add overhead
    gc.set_threshold(100_000)  # libraries create many objects at import, and almost no garbage
    atexit.register(gc.freeze)  # the collection at exit would take a fifth of the time of a short run
    try:
        status = app(sys.argv[1:], "levelflow", standalone_mode=False)
    except click.Abort:  # Ctrl-C outside of commands that handle it
        from levelflow.status import INTERRUPTED

        sys.exit(INTERRUPTED)
    except (ValueError, click.UsageError) as error:
        line = _line(error)
        if line is None:
            raise
        from levelflow.status import BAD_INPUT

        print(line, file=sys.stderr)
        sys.exit(BAD_INPUT)
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

    if not isinstance(error, ScenarioError | TheoryError):
        return None
    # Names from the command line may contain line breaks.
    mistakes = (" ".join(mistake.split("\n")) for mistake in getattr(error, "mistakes", [str(error)]))
    return "\n".join(f"levelflow: {mistake}" for mistake in mistakes)
