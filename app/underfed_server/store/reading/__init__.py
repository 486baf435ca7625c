"""What was recorded of a run, read back at any zoom."""
