"""``underfed run``: starts a command so that each Python in it records.

Runs in: the launcher; ``site`` and ``autoload`` in every Python below it.
Imported by: commands.
"""
