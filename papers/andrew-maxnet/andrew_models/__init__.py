"""Models that only figures of Andrew et al. (MaxNet) need."""
