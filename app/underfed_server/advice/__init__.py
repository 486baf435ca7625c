"""From facts and verdict to changes: computed from the batches of this run, never canned."""
