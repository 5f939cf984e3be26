"""Measures of a result: pure functions over its tables. Summaries, studies and the claims of papers use them.

``series`` holds what applies to any column, ``samples`` means over time, ``windows`` the steady window, ``rates`` rates
of flows, ``fairness`` their comparison, ``queues`` and ``delays`` links, ``transfers`` and ``completions`` finite
flows, ``utilisation`` the cost of a buffer, ``intervals`` means over runs. ``onset`` finds the parameter at which a law
stops being stable.
``docs/reference/measures.md`` defines each measure.
"""

from levelflow.measure import completions, queues, rates, series, utilisation
from levelflow.measure.onset import grid, last_stable, onset

__all__ = ["completions", "grid", "last_stable", "onset", "queues", "rates", "series", "utilisation"]
