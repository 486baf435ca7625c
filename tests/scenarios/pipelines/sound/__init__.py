"""Loops that do not wait for data, though they may look so."""
