"""Models that only figures of Zhang (2008) need."""
