"""Experiments of other simulators: topologies, connection matrices, flow files and demands as scenarios."""
