"""From the rings of one rank to its steps, epochs, batches and workers."""
