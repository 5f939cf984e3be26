"""Reports of a run: summary, tables, pictures and pages."""
