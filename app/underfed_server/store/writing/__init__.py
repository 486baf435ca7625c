"""What happens to a window between its post and its chunk, all on one thread."""
