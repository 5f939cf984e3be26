"""Models that only figures of Kunniyur and Srikant (2003) need."""
