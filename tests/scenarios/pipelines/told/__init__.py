"""Runs as an agent would tell them, of sicknesses that need a device or another machine."""
