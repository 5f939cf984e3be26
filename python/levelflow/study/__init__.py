"""Studies: designs over a scenario, replicated, run side by side or on a Dask cluster, kept and judged."""
