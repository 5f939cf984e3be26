"""Reproduction of papers: measures and verifies the claims of each figure.

A figure is a folder of ``papers/``; ``docs/guides/add-a-figure.md`` describes its files.
"""

from levelflow.reproduce.verdict import Against, Noted, Readings, Seeds, over_seeds

__all__ = ["Against", "Noted", "Readings", "Seeds", "over_seeds"]
