"""Draws from DataLoaders of another release: bare, then watched, then bare again. Prints what it got, as JSON.

``python -m tests.torch_versions.job [LOADER …]``, with ``TORCH_DATA_SOURCES`` naming the directory.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.torch_versions.serve import serve, served_from

# Not only where this is the program: a spawned worker imports the program's main module before it loads batches.
ROOT = Path(os.environ["TORCH_DATA_SOURCES"])
serve(ROOT)


def main() -> None:
    import underfed
    from tests.fakes.traces import patched_attributes
    from tests.torch_versions.drawing import LOADERS, draw_all, leave

    names = sys.argv[1:] or list(LOADERS)
    bare = draw_all([name for name in names if name != "spawn"], leave)
    watched = draw_all(names, underfed.watch)
    underfed.finish()
    left = patched_attributes()
    # Enough to see whether anything is left: the whole list takes seconds.
    after = draw_all(names[:2], leave)
    printed = {"bare": bare, "watched": watched, "after": after, "left": left, "is_served": served_from(ROOT)}
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
