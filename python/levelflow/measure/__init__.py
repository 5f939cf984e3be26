"""Measures of a result, as pure functions of its tables. Summaries, studies and checks of paper claims use them.

``series`` applies to any column, ``samples`` computes time averages, and ``windows`` finds the steady window. ``rates``
measures flow rates, ``fairness`` compares them, ``queues`` and ``delays`` measure links. ``transfers`` and
``completions`` measure finite flows, ``utilisation`` measures the cost of a buffer, ``intervals`` computes means over
runs. ``onset`` finds the parameter value at which a law becomes unstable.
``docs/reference/measures.md`` defines each measure.
"""

from levelflow.measure import completions, queues, rates, series, utilisation
from levelflow.measure.onset import grid, last_stable, onset

__all__ = ["completions", "grid", "last_stable", "onset", "queues", "rates", "series", "utilisation"]
