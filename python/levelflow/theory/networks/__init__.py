"""Routes over links: max-min fair and utility-optimal rates, bottlenecks, and laws iterated over paths."""
