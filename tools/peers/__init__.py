"""Laws beside other implementations of them, over the same networks; `python -m tools.peers` runs the comparisons."""
