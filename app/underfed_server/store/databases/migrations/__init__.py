"""How the tables came to be, step by step, so that a newer version can open an older file."""
