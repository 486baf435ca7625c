"""What concerns all runs together: projects, people, hosts, hours, and who may see them."""
