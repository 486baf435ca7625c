"""``python -m benchmarks [NAME …]``: every benchmark of this folder in turn, or the named ones."""

from __future__ import annotations

import argparse
from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def main() -> None:
    names = sorted(module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "name", nargs="*", choices=[*names, []], help=f"one of {', '.join(names)}; all when none is given"
    )
    for name in parser.parse_args().name or names:
        print(f"\n# {name}", flush=True)
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
