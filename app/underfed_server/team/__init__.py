"""What only several runs together show: a cause that they share, and how advice has come true."""
