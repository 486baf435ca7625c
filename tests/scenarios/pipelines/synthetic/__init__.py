"""Runs with problems that need a device or another machine, as windows that an agent would send."""
