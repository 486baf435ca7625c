"""The ``underfed`` command and what it does on its own: ``doctor``, ``push``.

Runs in: a process of its own, started by a person or a script.
Imported by: nobody.
"""
