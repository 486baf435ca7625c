"""What happens to a window between its arrival and its chunk, all on one thread."""
