"""Routes over links: max-min fair and utility-optimal rates, bottlenecks, laws stepped over paths."""
