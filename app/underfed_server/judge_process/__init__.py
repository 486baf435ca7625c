"""Judging in a process of its own: what the service forks, asks, and replaces where it has died."""
