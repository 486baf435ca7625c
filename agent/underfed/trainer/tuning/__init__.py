"""``--tune``: other settings of the training loader, tried while it trains; the fastest one measured stays."""
