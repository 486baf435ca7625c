"""Runs when a Python below ``underfed run`` starts, or one of a cluster that sets ``UNDERFED_AUTOLOAD=1``: arms
``autoload``, then gives way to the sitecustomize behind it.

Every Python of the command comes by here, so it is written for all of them, 2.7 included, and imports nothing.
"""

# ruff: noqa: PTH118, PTH120, PTH123

import os
import sys

HERE = os.path.dirname(__file__)
LAUNCH = os.environ.get("UNDERFED_LAUNCH")
IS_WANTED = LAUNCH or os.environ.get("UNDERFED_AUTOLOAD") == "1"
# A user's own `underfed run` where the cluster has one too: its site comes first, and the cluster's is behind it.
IS_ARMED = any(type(finder).__module__ == "underfed.launcher.autoload" for finder in sys.meta_path)

if IS_WANTED and not IS_ARMED and os.environ.get("UNDERFED_DISABLED", "") in ("", "0"):
    try:
        if sys.version_info >= (3, 10):  # noqa: UP036
            # By its path, as this file was loaded: importing the package would cost every helper process 10 ms.
            autoload = type(sys)("underfed.launcher.autoload")
            autoload.__file__ = os.path.join(os.path.dirname(HERE), "autoload.py")
            type(__loader__)(autoload.__name__, autoload.__file__).exec_module(autoload)  # type: ignore[name-defined]
            autoload.arm(LAUNCH)
        elif LAUNCH:
            with open(os.path.join(LAUNCH, "old-python"), "a") as reports:
                reports.write("%d.%d\n" % sys.version_info[:2])  # noqa: UP031
    except Exception:
        # This Python must start as without us. The failure shows in the run, which reports that no loader was found.
        pass

if HERE in sys.path:
    # As if we had never been there. What this raises, a missing module above all, `site` treats as it would have.
    sys.path.remove(HERE)
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
