"""Metrics that the claims are stated in: pure functions over the tables of a result.

``series`` holds what applies to any column, ``rates`` flow rates, ``queues`` links, ``completions`` finite
flows, ``utilisation`` what a buffer costs; ``onset`` finds where a parameter stops being stable.
"""

from levelflow.measure import completions, queues, rates, series, utilisation
from levelflow.measure.onset import grid, last_stable, onset

__all__ = ["completions", "grid", "last_stable", "onset", "queues", "rates", "series", "utilisation"]
