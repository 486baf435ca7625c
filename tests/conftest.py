"""What holds for every test. Those marked soak run where ``--soak`` is given: so many of several tries must pass."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.fakes.forkserver import none_left_by_failures
from tests.fakes.huge_pages import lay_in_huge_pages

# A shell starts what runs in its background with SIGINT ignored, and so would be the jobs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test fails by how long an example took; the examples are the same each time, and others where --soak is given.
SLOW_IS_FINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("test", SLOW_IS_FINE, derandomize=True, database=None)
settings.register_profile("soak", SLOW_IS_FINE, max_examples=1_000)


@dataclass(slots=True)
class Tries:
    """Of one test: those that passed, those that did not, and how many must pass of how many."""

    passes: int = 1
    of: int = 1
    passed: int = 0
    failed: int = 0

    def are_decided(self) -> bool:
        return self.passed >= self.passes or self.failed > self.of - self.passes

    def __str__(self) -> str:
        return f"{self.passed} of {self.passed + self.failed} tries passed, needed {self.passes} of {self.of}"


TRIES = pytest.StashKey[dict[str, Tries]]()
"""By test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the tests marked soak, and no others")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Four for two cores: a third of the time a test waits for what it started, and three left 7 % of both idle."""
    return min(8, (os.cpu_count() or 1) * 2)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        # What several processes import, and hundreds of programs below them, is compiled once, whatever the shell says:
        # else half of what a process costs before its first test is spent on compiling.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.stash[TRIES] = {}
    settings.load_profile("soak" if config.getoption("--soak") else "test")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None]:
    """What is imported and collected stays: no search for garbage visits it, neither here nor in forked processes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        if not session.config.option.collectonly:
            lay_in_huge_pages()
        atexit.register(gc.unfreeze)  # else what is still open at the end is told of in warnings
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (chosen if is_wanted(item, is_soak=config.getoption("--soak")) else left).append(item)
    config.hook.pytest_deselected(items=left)
    # What takes long begins early, so that no process is left with it when the others have ended.
    items[:] = sorted(chosen, key=lambda item: item.get_closest_marker("long") is None)


def is_wanted(item: pytest.Item, *, is_soak: bool) -> bool:
    """Tests by examples are wanted each time."""
    has_examples = is_hypothesis_test(getattr(item, "obj", None))
    return has_examples or (item.get_closest_marker("soak") is not None) == is_soak


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """What the last try of a soak test showed is what is reported of it."""
    marker = item.get_closest_marker("soak")
    if marker is None:
        return None
    tries = item.config.stash[TRIES][item.nodeid] = Tries(**marker.kwargs)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports: list[pytest.TestReport] = []
    while not tries.are_decided() and not any(report.skipped for report in reports):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        tries.failed += any(report.failed for report in reports)
        tries.passed += all(report.passed for report in reports)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with none_left_by_failures():
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """``--exitfirst`` ends the process whose test is red; another would first work off the queue that it was given."""
    if (sign := sign_of_red(item.config)) and sign.exists():
        item.session.shouldstop = "a test is red in another process"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.shouldfail and (sign := sign_of_red(session.config)):
        sign.touch()


def sign_of_red(config: pytest.Config) -> Path | None:
    """``None``: this is no process of several, or it only hands out the tests."""
    return Path(config.option.basetemp).parent / "red" if hasattr(config, "workerinput") else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash[TRIES]:
        terminalreporter.section("soak")
    for test, tries in config.stash[TRIES].items():
        terminalreporter.write_line(f"{tries}  {test}")
