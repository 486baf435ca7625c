"""A loader's settings: read as facts, and set from outside (``--set``)."""
