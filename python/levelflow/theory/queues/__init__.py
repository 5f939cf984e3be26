"""Queues: losses and marks, buffer-sizing rules, processor sharing, shortest completion times."""
