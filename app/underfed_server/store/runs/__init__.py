"""The list of runs: found, sorted, named, judged and deleted."""
