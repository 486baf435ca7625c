"""What the service has done in processes of its own: judging runs, and computing the chunks of their streams."""
