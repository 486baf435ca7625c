"""Figures of data loading in the tools that people already open; each module imports its framework only when used.

Runs in: the training process.
Imported by: launcher.
"""
