"""Queues: losses and marks, buffer rules, processor sharing, least completion times."""
