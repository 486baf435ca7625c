"""The databases themselves: SQLite and PostgreSQL, their tables, how they are opened, upgraded, locked and copied."""
