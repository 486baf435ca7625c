"""Recorded figures as columns of bytes and back, and what is summed up of them: no table, no clock, no thread."""
