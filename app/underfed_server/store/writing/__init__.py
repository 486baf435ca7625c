"""What happens to a window between its posted and its chunk, all on one thread."""
