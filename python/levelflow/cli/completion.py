"""The command `completion`."""

from __future__ import annotations

import click

from levelflow.cli.choosing import Choice

EXAMPLE = "Example: levelflow completion bash > ~/.local/share/bash-completion/completions/levelflow"


@click.command(epilog=EXAMPLE)
@click.argument(
    "shell",
    type=Choice(["bash", "fish", "zsh"]),
    metavar="SHELL",
    help="The shell: bash, fish, zsh.",
)
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script for shell completion of commands, options and scenarios."""
    from click.shell_completion import shell_complete

    command = context.find_root().command
    shell_complete(command, {}, "levelflow", "_LEVELFLOW_COMPLETE", f"{shell}_source")
