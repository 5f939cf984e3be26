"""Metrics that the claims are stated in: pure functions over the tables of a result.

``series`` holds what applies to any column, ``rates`` flow rates, ``queues`` links, ``completions`` finite
flows, ``sizing`` buffers; ``onset`` finds where a parameter stops being stable.
"""

from levelflow.claims.metrics import completions, queues, rates, series, sizing
from levelflow.claims.metrics.onset import grid, last_stable, onset

__all__ = ["completions", "grid", "last_stable", "onset", "queues", "rates", "series", "sizing"]
