"""What the service remembers: one SQLite file, one writer, many readers."""
