"""Pictures of theory. Each function returns a matplotlib figure."""
