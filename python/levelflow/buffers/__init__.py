"""Comparison of buffers of a link: candidates, recommendation, and commands to apply it."""
