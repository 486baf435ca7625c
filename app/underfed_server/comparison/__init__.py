"""Several runs side by side: how fast each is against the first, why, and what else differs."""
