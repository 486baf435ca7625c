"""The agent of Underfed: tells why a PyTorch training job waits for its input."""
