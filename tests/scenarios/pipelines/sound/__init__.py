"""Loops that are not hungry, whatever they look like."""
