"""A filtered list learns of runs that begin to match and of those that cease to, while it is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.made_windows import RUN, made_window
from tests.app.operations.asking import ask, send
from tests.app.serving import Service
from tests.e2e.conftest import as_owner
from tests.fakes.service import wait_until

STEP_US = 100_000
DOUBT_MS = 31_000
"""Later than the page asks again for what only figures show."""


@dataclass(slots=True)
class Training:
    """A run whose agent posts to the service, which judges it."""

    served: Service
    name: str
    windows: int = 0
    steps: int = 0

    def train(self, steps: int, wait: float, **last: Any) -> None:
        """``wait``: of each step. ``last``: what else the window says."""
        at_us = self.steps * STEP_US
        columns = {"step_us": [STEP_US] * steps, "data_wait_us": [round(wait * STEP_US)] * steps}
        columns |= {"queue_depth": [0 if wait > 0.1 else 4] * steps}
        at = {"loader": "train", "epoch_index": 0, "first_step_index": self.steps, "first_batch_index": self.steps}
        described = {"run": RUN | {"name": self.name, "job": self.name}} if self.windows == 0 else {}
        window = made_window(
            self.windows, run_id=self.name, start_us=at_us, end_us=at_us + steps * STEP_US,
            steps=[{**at, "start_us": at_us, **columns}], **described, **last,
        )  # fmt: skip
        assert send(self.served.address, window).status == 200
        self.windows, self.steps = self.windows + 1, self.steps + steps


@pytest.fixture
def alpha(served: Service) -> Training:
    """It waits for half of each step."""
    return started(served, "alpha", 0.5)


@pytest.fixture
def beta(served: Service) -> Training:
    """It waits for nothing."""
    return started(served, "beta", 0.01)


def started(served: Service, name: str, wait: float) -> Training:
    training = Training(served, name)
    training.train(100, wait)
    return training


def names(page: Page) -> Locator:
    return page.locator("main tbody a[href^='/runs/']")


# Without jobs, runs that come and go are seen by the tests below.
@pytest.mark.parametrize("grouped", [pytest.param("", marks=pytest.mark.soak), "&group=job"])
def test_by_their_verdict(served: Service, alpha: Training, beta: Training, page: Page, grouped: str) -> None:
    page.goto(f"{served.address}/?bound=data{grouped}")
    expect(names(page)).to_have_text(["alpha"])
    beta.train(300, 0.6)
    expect(names(page)).to_have_count(2)
    alpha.train(900, 0.0)
    expect(names(page)).to_have_text(["beta"])


def test_by_their_figures(served: Service, alpha: Training, beta: Training, timed: Page) -> None:
    """Which move with every window: the verdict stays what it was."""
    timed.clock.install()
    timed.goto(f"{served.address}/?q=stall>40%")
    expect(names(timed)).to_have_text(["alpha"])
    alpha.train(100, 0.2)
    beta.train(50, 0.9)
    expect(timed.locator("tbody")).to_contain_text("35%")
    beta.train(200, 0.9)
    # The page asks once more for all of them: by then both must have been judged, and what it asked before answered.
    wait_until(lambda: b'"beta"' in ask(served.address, "/api/v1/runs?q=stall%3E40%25").body, "beta waits for most")
    for _ in range(2):
        timed.clock.fast_forward(DOUBT_MS)
        alpha.train(20, 0.2)
    expect(names(timed)).to_have_text(["beta"])


def test_by_their_end_and_their_tags(served: Service, alpha: Training, beta: Training, page: Page) -> None:
    as_owner(page, served.address, served.owner_token)
    ended, tagged = page.context.new_page(), page.context.new_page()
    page.goto(f"{served.address}/?status=running")
    ended.goto(f"{served.address}/?status=finished")
    tagged.goto(f"{served.address}/?tag=night")
    expect(names(page)).to_have_count(2)
    for empty in (ended, tagged):
        expect(empty.get_by_text("No run matches")).to_be_visible()
    alpha.train(10, 0.5, end={"status": "finished"})
    expect(names(page)).to_have_text(["beta"])
    expect(names(ended)).to_have_text(["alpha"])
    for tags, count in (({"night": ""}, 1), ({}, 0)):
        changed = page.request.patch(f"{served.address}/api/v1/runs/beta", data={"tags": tags})
        assert changed.ok, changed.text()
        expect(names(tagged)).to_have_count(count)


def test_a_new_run_comes_in_and_one_beside_the_filter_does_not(served: Service, alpha: Training, page: Page) -> None:
    page.goto(f"{served.address}/?q=bound:data")
    expect(names(page)).to_have_text([alpha.name])
    started(served, "healthy", 0.01)
    started(served, "gamma", 0.7)
    expect(names(page)).to_have_count(2)
    expect(page.locator("tbody")).to_contain_text("gamma")
