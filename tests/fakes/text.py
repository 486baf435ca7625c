"""Runs a program that is given as text: ``python -m tests.fakes.text 'import sys; print(sys.argv)' words``."""

from __future__ import annotations

import sys


def main() -> None:
    program = sys.argv.pop(1)
    exec(compile(program, "<text>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
