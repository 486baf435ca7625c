"""Plants one fault after the other and runs its tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tests.planted_faults.fault import Fault, occurrences
from tests.planted_faults.scratch import Scratch

TEST_LIMIT_S = 120
"""Of one test: a fault may make it wait for ever, which counts as noticed."""

LIMIT_S = 900
"""Of all tests of one fault."""

PYTEST = ("-q", "-rfE", "-p", "no:cacheprovider", "--timeout", str(TEST_LIMIT_S))
WARM = ("-W", "ignore:Module already imported so cannot be rewritten")
"""Of the plugins that the warm process knows already."""

ON_SQLITE = ("-k", "not postgresql")
VITEST = ("node_modules/.bin/vitest", "run", "--reporter=dot")

# What a test logged also begins with ERROR.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>tests/.+?)(?: - .*)?$", re.MULTILINE)
_FAILED_PAGE = re.compile(r"^\s*FAIL\s+(?P<test>.+)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Outcome(Enum):
    CAUGHT = "caught"
    ESCAPED = "ESCAPED"
    NOT_FOUND = "text not found"
    NOT_RUN = "tests did not run"


@dataclass(frozen=True, slots=True)
class Found:
    fault: Fault
    outcome: Outcome
    by: str = ""
    """The first test that failed, or why none ran."""


class Suite:
    """Tests of one scratch copy. Ends with :meth:`close`."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        # As in an activated environment, and without what would point to another.
        left_out = ("PYTHONPATH", "VIRTUAL_ENV")
        self._environment = {name: value for name, value in os.environ.items() if name not in left_out}
        self._environment["PATH"] = f"{scratch.python.parent}{os.pathsep}{os.environ['PATH']}"
        # A fault of the same length, planted within the second in which the file was compiled, would not be seen.
        self._environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self._warm = subprocess.Popen(
            [str(scratch.python), "-m", "tests.planted_faults.warm"],
            cwd=scratch.root, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self) -> None:
        self._warm.communicate()

    def judge(self, fault: Fault) -> Found:
        if occurrences(fault, self._scratch.root) != 1:
            return Found(fault, Outcome.NOT_FOUND, fault.file)
        with self._scratch.planted(fault):
            for paths in (*_by_language(fault.tests), *_by_language(fault.wider)):
                code, said = self._run(paths, on_postgresql=fault.on_postgresql, first_only=True)
                named = (_FAILED_PAGE if _is_page(paths[0]) else _FAILED).search(said)
                if code == 1 and named is not None:
                    return Found(fault, Outcome.CAUGHT, named["test"])
                if code != 0:
                    return Found(fault, Outcome.NOT_RUN, f"exit code {code}: {said[-300:]}")
        return Found(fault, Outcome.ESCAPED)

    def confirmed(self, found: Sequence[Found]) -> list[Found]:
        """Each test that noticed a fault is run without one: one that fails then too has noticed nothing."""
        caught = [each for each in found if each.outcome is Outcome.CAUGHT]
        failing: set[str] = set()
        for paths in _by_language(_to_run_again(each) for each in caught):
            code, said = self._run(paths, on_postgresql=True, first_only=False)
            pattern = _FAILED_PAGE if _is_page(paths[0]) else _FAILED
            failing |= {match["test"] for match in pattern.finditer(said)} if code == 1 else set()
            if code not in (0, 1):
                failing |= {each.by for each in caught if _is_page(each.fault.file) == _is_page(paths[0])}
        return [
            replace(each, outcome=Outcome.NOT_RUN, by=f"fails without the fault, too: {each.by}")
            if each.by in failing
            else each
            for each in found
        ]

    def _run(self, paths: Sequence[str], *, on_postgresql: bool, first_only: bool) -> tuple[int | None, str]:
        """Exit code and output; ``None``: there was no end."""
        if _is_page(paths[0]):
            return self._run_vitest([*(["--bail=1"] if first_only else []), *paths])
        said = self._scratch.root / "said.txt"
        options = [*PYTEST, *WARM, *(["-x"] if first_only else []), *([] if on_postgresql else ON_SQLITE)]
        asked = {"words": [*options, *paths], "said": str(said), "limit_s": LIMIT_S}
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        print(json.dumps(asked), file=self._warm.stdin, flush=True)
        code: int | None = json.loads(self._warm.stdout.readline())
        return code, said.read_text(errors="replace")

    def _run_vitest(self, words: Sequence[str]) -> tuple[int | None, str]:
        names = [word.removeprefix("frontend/") for word in words]
        try:
            done = subprocess.run(
                [*VITEST, *names], cwd=self._scratch.root / "frontend", env=self._environment, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, _COLOUR.sub("", done.stdout)


def _by_language(paths: Iterable[str]) -> list[list[str]]:
    """Each once, in their order: Python's, then the page's."""
    every = list(dict.fromkeys(paths))
    both = ([path for path in every if _is_page(path) == of_page] for of_page in (False, True))
    return [some for some in both if some]


def _to_run_again(found: Found) -> str:
    """vitest names a test by its file and what it says; the file is quick enough."""
    return f"frontend/{found.by.partition(' ')[0]}" if _is_page(found.fault.file) else found.by


def _is_page(path: str) -> bool:
    return path.startswith("frontend/")
