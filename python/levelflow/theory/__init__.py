"""Models of the papers, one per file. No model needs compiled code."""
