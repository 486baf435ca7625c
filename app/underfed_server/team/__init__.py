"""What only several runs together show: causes that they share, hours lost, hosts, and how advice turned out."""
