"""Pictures of what theory says; each function returns a matplotlib figure."""
