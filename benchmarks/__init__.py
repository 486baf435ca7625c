"""Ratios within one run: ours against a bare loop, against a peer, against itself. Never asserted, always printed."""
