"""Windows on disk until the service has them, and their way there."""
