"""The HTTP API of the page, the terminal and other tools."""
