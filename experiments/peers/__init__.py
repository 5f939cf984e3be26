"""Compares laws with other implementations, over the same networks: `python -m experiments.peers`."""
