"""What a service received of one loader, merged from all windows: each step and each batch once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakes.service import Service, Window

Place = tuple[int, int]
"""Epoch and batch index."""


@dataclass(frozen=True, slots=True)
class Step:
    epoch: int
    batch: int
    wait_us: int
    step_us: int | None
    sampler_us: int | None
    depth: int | None

    @property
    def place(self) -> Place:
        return self.epoch, self.batch


@dataclass(frozen=True, slots=True)
class Received:
    """``steps`` by their number, ``batches`` by their place: a mapping of those columns that were measured."""

    loader: str
    steps: dict[int, Step]
    batches: dict[Place, dict[str, int]]
    epochs: dict[int, Window]
    facts: Window
    workers: list[Window]

    @property
    def places(self) -> list[Place]:
        return [step.place for _, step in sorted(self.steps.items())]

    @property
    def waits_us(self) -> list[int]:
        return [step.wait_us for _, step in sorted(self.steps.items())]

    def wait_s(self, epoch: int, batch: int) -> float:
        return next(step.wait_us for step in self.steps.values() if step.place == (epoch, batch)) / 1e6

    @property
    def not_measured(self) -> dict[str, str]:
        reasons: dict[str, str] = self.facts["not_measured"]
        return reasons


def received(service: Service, loader: str, run_id: str | None = None) -> Received:
    """Fails where a step, a batch or a number comes twice. ``run_id``: of that run only."""
    windows = [window for window in service.windows if run_id in (None, window["run_id"])]
    of_loader = [part for window in windows for part in window.get("loaders", []) if part["loader"] == loader]
    assert of_loader, f"{loader} is not among {names(service, run_id)}"
    return Received(
        loader=loader,
        steps=_steps(_parts(windows, "steps", loader)),
        batches=_batches(_parts(windows, "batches", loader)),
        epochs={epoch["epoch_index"]: epoch for epoch in _parts(windows, "epochs", loader)},
        facts=of_loader[-1],
        workers=_parts(windows, "workers", loader),
    )


def names(service: Service, run_id: str | None = None) -> list[str]:
    """Names of loaders, in the order in which they arrived."""
    windows = [window for window in service.windows if run_id in (None, window["run_id"])]
    return list(dict.fromkeys(part["loader"] for window in windows for part in window.get("loaders", [])))


def agent_errors(service: Service) -> int:
    """All losses of all incarnations, dropped records included."""
    newest = {(window["run_id"], window["rank"], window["incarnation"]): window["losses"] for window in service.windows}
    return sum(sum(losses.values()) for losses in newest.values())


def _parts(windows: list[Window], kind: str, loader: str) -> list[Window]:
    return [part for window in windows for part in window.get(kind, []) if part["loader"] == loader]


def _steps(parts: list[Window]) -> dict[int, Step]:
    found: dict[int, Step] = {}
    for part in parts:
        for offset, wait_us in enumerate(part["data_wait_us"]):
            number = part["first_step_index"] + offset
            assert number not in found, f"step {number} came twice"
            found[number] = Step(
                epoch=part["epoch_index"],
                batch=part["batch_index"][offset] if "batch_index" in part else part["first_batch_index"] + offset,
                wait_us=wait_us,
                step_us=part["step_us"][offset],
                sampler_us=_row(part, "sampler_us", offset),
                depth=_row(part, "queue_depth", offset),
            )
    return found


def _batches(parts: list[Window]) -> dict[Place, dict[str, int]]:
    found: dict[Place, dict[str, int]] = {}
    for part in parts:
        columns = {name: values for name, values in part.items() if isinstance(values, list)}
        for offset, index in enumerate(part["batch_index"]):
            place = (part["epoch_index"], index)
            assert place not in found, f"batch {place} came twice"
            found[place] = {name: values[offset] for name, values in columns.items()}
    return found


def _row(part: Window, name: str, offset: int) -> Any:
    return part[name][offset] if name in part else None
