"""The demo: a small net trained on real photographs by a starved loader, diagnosed, mended, measured again."""
