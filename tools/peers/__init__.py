"""Laws beside other simulators that have them, over the same networks; `python -m tools.peers` runs the comparisons."""
