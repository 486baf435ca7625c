"""The companion process: reads the rings of a run's ranks on this host, closes windows, keeps and sends them."""
