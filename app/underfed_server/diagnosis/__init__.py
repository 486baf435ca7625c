"""From facts to a verdict: pure functions, no clock, no store, no network."""
