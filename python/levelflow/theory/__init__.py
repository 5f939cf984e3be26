"""Models of the papers, one per file; none needs compiled code."""
