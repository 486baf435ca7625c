"""Training jobs that the rules were not written for."""
