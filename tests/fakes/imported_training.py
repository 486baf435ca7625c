"""What a training that is recorded has imported, and compiled: the fork server that starts trainings for tests imports
this.
"""

from __future__ import annotations

import numpy.random  # noqa: F401  # torch seeds it in each worker, which imports it if the training has not
import torch.utils.data  # noqa: F401

import underfed.trainer.control  # noqa: F401
from underfed.trainer.hooks.install import Hooks

_hooks = Hooks(lambda _loader: None, None, None)
_hooks.install()
_hooks.remove()
