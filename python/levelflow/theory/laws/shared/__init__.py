"""Common parts of several laws, and long parts of one law."""
