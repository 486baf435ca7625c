"""Times what loads a batch, in a worker or, without workers, in the training process."""
