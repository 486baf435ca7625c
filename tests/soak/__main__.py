"""Runs them all, goes on after what is red, and ends with a line for each Python and PyTorch."""

from __future__ import annotations

import subprocess
import sys

from tests.soak import debian, postgresql
from tests.soak.interpreters import OLDEST_TORCH, interpreters, torches, try_on
from tests.soak.trying import LONGEST_S, ROOT, Outcome


def on_other_pythons() -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for interpreter in interpreters():
        for torch in torches(interpreter):
            name = f"installed Python {interpreter}, {torch}"
            print(name, flush=True)
            outcomes[name] = try_on(interpreter, torch)
    for release in debian.RELEASES:
        print(f"Debian {release}", flush=True)
        outcomes[f"Debian {release}"] = debian.try_on(release)
    missing = sorted(OLDEST_TORCH.keys() - {each.version[1] for each in interpreters()})
    return outcomes | {f"installed Python 3.{minor}": Outcome("not had: none is here") for minor in missing}


def main() -> int:
    suite = [sys.executable, "-m", "pytest", "--soak", "--timeout", str(LONGEST_S)]
    code = subprocess.run(suite, cwd=ROOT, check=False).returncode
    outcomes = on_other_pythons() | {f"PostgreSQL {major}": postgresql.try_on(major) for major in postgresql.VERSIONS}
    print("\nThe agent's tests on other Pythons and PyTorches, the store's on every PostgreSQL")
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome.said}")
    return 1 if code or any(outcome.is_red for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
