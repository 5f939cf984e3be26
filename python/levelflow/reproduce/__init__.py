"""Claims of the papers: what each figure must show, measured again and judged.

A figure is a folder of ``papers/``; ``docs/guides/add-a-figure.md`` says how to write one.
"""

from levelflow.reproduce.verdict import Against, Noted, Seeds, over_seeds

__all__ = ["Against", "Noted", "Seeds", "over_seeds"]
