"""What the terminal shows: the runs table and one run's diagnosis, read from the service."""
