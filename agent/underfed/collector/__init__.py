"""The process beside the training: reads the rings of a run's ranks on this host, closes windows, keeps and sends them.

Runs in: the collector, one a run and host.
Imported by: commands.
"""
