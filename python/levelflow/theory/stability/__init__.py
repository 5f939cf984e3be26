"""Matrices, delays and loops: norms, roots, margins, and equations with delays, stepped."""
