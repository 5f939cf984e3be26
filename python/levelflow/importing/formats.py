"""Formats of input files, recognised by their content."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from levelflow.importing import hpcc, htsim_matrix, htsim_topology, rocketfuel, sndlib

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.importing.source import Source


class Format(NamedTuple):
    """Format of a file.

    Attributes:
        name: Name in messages.
        recognise: Returns True if a file has this format.
    """

    name: str
    recognise: Callable[[Source], bool]


#: Formats by key. The first one that recognises a file is its format.
FORMATS: dict[str, Format] = {
    "sndlib": Format("SNDlib network", sndlib.recognise),
    "htsim_topology": Format("htsim topology (.topo)", htsim_topology.recognise),
    "htsim_matrix": Format("htsim connection matrix (.cm, .tm)", htsim_matrix.recognise),
    "hpcc_config": Format("HPCC configuration", hpcc.recognise_config),
    "hpcc_topology": Format("HPCC topology", hpcc.recognise_topology),
    "hpcc_flows": Format("HPCC flows", hpcc.recognise_flows),
    "hpcc_trace": Format("HPCC trace", hpcc.recognise_trace),
    "rocketfuel": Format("Rocketfuel latencies or weights", rocketfuel.recognise),
}


def of(source: Source) -> str:
    """Returns the key of the format of a file.

    Raises:
        ScenarioError: If no format recognises the file.
    """
    found = next((key for key, one in FORMATS.items() if one.recognise(source)), None)
    if found:
        return found
    names = ", ".join(one.name for one in FORMATS.values())
    return source.fail(0, f"has none of these formats: {names}; 'levelflow topology' reads GraphML and GML")
