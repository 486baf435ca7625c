"""``underfed.prefetch``: batches on their device before the model asks for them, copied beside its work."""
