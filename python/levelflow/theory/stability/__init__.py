"""Matrices, delays and loops: norms, roots, margins, and integration of equations with delays."""
