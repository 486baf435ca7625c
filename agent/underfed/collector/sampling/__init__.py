"""What the host, its devices and a run's processes use, sampled once a second."""
