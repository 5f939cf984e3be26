"""Which laws come to their rates on networks at large: random families, an adversarial search, tables, pictures."""
