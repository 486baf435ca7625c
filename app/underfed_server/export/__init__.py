"""Every recorded step of a run, with the batch it was given, in formats that other programs read."""
