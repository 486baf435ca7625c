"""Before every route: which connections, callers and requests are admitted, and how much they may take together.

It knows no route. What it asks for is in ``ingest`` and ``store``.
"""
