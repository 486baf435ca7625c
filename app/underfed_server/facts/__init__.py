"""What was measured of a run, condensed into one typed record."""
