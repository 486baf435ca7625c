"""Every recorded step of a run with the batch it was given, and what was seen to be executed, in formats that other
programs read."""
