"""`levelflow theory laws`."""

from __future__ import annotations

import click

from levelflow.cli.theory.shared import json_option


@click.command(epilog="Example: levelflow theory laws jetmax")
@click.argument("law", required=False, help="One law, with the reason for each no.")
@json_option
def laws(law: str | None, as_json: bool) -> None:
    """List the theory of each law: yes, or no with the reason."""
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.shared import reply
    from levelflow.theory.laws import LAWS, theory_of
    from levelflow.theory.record import CAPABILITIES, NotSupported

    known = {
        name: {
            words: found.reason if isinstance(found := getattr(theory_of(name), field), NotSupported) else None
            for field, words in CAPABILITIES.items()
        }
        for name in (LAWS if law is None else [law])
    }

    def show() -> None:
        if law is not None:
            rows = [[words, "yes" if why is None else f"no: {why}"] for words, why in known[law].items()]
            show_table(f"Theory of {law}", ["what", "known"], rows, numbers=False)
        else:
            rows = [[name, *("yes" if why is None else "-" for why in row.values())] for name, row in known.items()]
            show_table("Theory by law", ["law", *CAPABILITIES.values()], rows, numbers=False)

    reply(as_json, {name: {words: why or True for words, why in row.items()} for name, row in known.items()}, show)
