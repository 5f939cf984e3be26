"""Compares laws with other implementations, on the same networks: `python -m experiments.peers`."""
