"""`levelflow lab`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback interface; 0 for a free one.")] = 0,
    open_: Annotated[
        Path | None,
        typer.Option("--open", metavar="RESULTS", help="Show this result directory, of a simulation or of a testbed."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
) -> None:
    """Opens the lab in a browser: the simulator in a page, in which everything can be dragged.

    Runs until Ctrl-C. Only this machine reaches it, with the address that is printed.
    """
    import webbrowser

    from levelflow.lab import LabError, Server

    try:
        server = Server(port, stored=open_)
    except LabError as error:
        raise typer.BadParameter(str(error)) from None
    with server:
        typer.echo(server.url)
        if not no_open and not webbrowser.open(server.url):
            typer.echo("open this address in a browser; Ctrl-C ends the lab", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("", err=True)
