"""Buffers of a link beside each other: what is tried, what is chosen, and what to type next."""
