"""What a run came to, for people: summary, tables, pictures, pages."""
