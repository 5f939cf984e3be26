"""Models that only figures of Dukkipati (2008) need."""
