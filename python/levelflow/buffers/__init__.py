"""Comparison of candidate buffers for a link, a recommended buffer, and commands that apply the buffer."""
