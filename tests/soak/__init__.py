"""``make soak``: the tests marked soak, and those of the agent on each Python and PyTorch that can be had here."""
