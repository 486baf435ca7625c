"""Changes of the schema, step by step, so that a newer version can open an older database."""
