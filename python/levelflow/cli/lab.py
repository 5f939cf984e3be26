"""`levelflow lab`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import PATH, Whole

if TYPE_CHECKING:
    from pathlib import Path

#: Address that only this machine reaches.
LOOPBACK = "127.0.0.1"


@click.command()
@click.option("--port", type=Whole(0, 65535), default=0, help="Port; 0 for a free one.")
@click.option(
    "--listen",
    default=LOOPBACK,
    show_default=True,
    metavar="ADDRESS",
    help="IP address to serve at: 0.0.0.0 for a class or a container.",
)
@click.option(
    "--open",
    "open_",
    type=PATH,
    metavar="RESULTS",
    help="Show this result directory, of a simulation or of a testbed.",
)
@click.option("--no-open", is_flag=True, help="Only print the address.")
def lab(port: int, listen: str, open_: Path | None, no_open: bool) -> None:
    """Open the lab in a browser: an interactive page with the simulator.

    Runs until Ctrl-C. The printed address contains a secret token. Without --listen, only this machine can open it.
    """
    import webbrowser

    from levelflow.lab import LabError, Server

    try:
        server = Server(port, stored=open_, listen=listen)
    except LabError as error:
        raise click.BadParameter(str(error)) from None
    with server:
        click.echo(server.url)
        if not no_open and not webbrowser.open(server.url):
            click.echo("open this address in a browser; Ctrl-C ends the lab", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("", err=True)
