"""What can go wrong, named after what the caller can do about it.

UnderfedError
├── ConfigError         an option or variable is wrong: correct it (also a ValueError)
├── NotWatchableError   this object cannot be watched: give a DataLoader or an iterable (also a TypeError)
├── TorchMissingError   PyTorch is not installed: install it, or do not watch (also an ImportError)
├── RunDirectoryError   there is no safe place for the rings: free or name one
├── RingError           a file is not a ring of ours: leave it alone
└── SpoolLockedError    another process sends this spool: let it

These reach a user before training starts, or in the ``underfed`` command. During training nothing of ours
is raised: see ``guard``.
"""

from __future__ import annotations


class UnderfedError(Exception):
    """Everything that this package raises on purpose."""


class ConfigError(UnderfedError, ValueError):
    """An option or environment variable has a value that cannot be used; the message names it."""


class NotWatchableError(UnderfedError, TypeError):
    """``watch()`` was given something it cannot measure."""


class TorchMissingError(UnderfedError, ImportError):
    """``watch()`` was called where PyTorch cannot be imported."""


class RunDirectoryError(UnderfedError, OSError):
    """No directory can hold this run's rings, or the one there belongs to someone else."""


class RingError(UnderfedError, ValueError):
    """The file is not a ring, or one of another version."""


class SpoolLockedError(UnderfedError):
    """Another process holds the spool: a run's own collector, or a second ``underfed push``."""
