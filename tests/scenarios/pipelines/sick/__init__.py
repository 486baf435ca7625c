"""Loaders with one sickness, and without it."""
