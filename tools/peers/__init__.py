"""Laws compared with other implementations, over the same networks; `python -m tools.peers` runs the comparisons."""
