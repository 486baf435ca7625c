"""The commands that read: the runs table, one run's diagnosis, comparisons, exports and tokens, from the service."""
