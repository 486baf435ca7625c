"""Where agents post windows: bounded, checked, handed to the store, acknowledged when durable."""
