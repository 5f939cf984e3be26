"""Convergence of laws on random networks: network families, adversarial search, tables and pictures."""
