"""How far a running run will still go, and how much time it will lose, if it goes on as it was judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from underfed_server.model import Diagnosis, LoaderInfo, Outlook, Run, Setting

EPOCHS = {"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs", "train_epochs", "num_train_epochs"}
"""Names of options and config keys for the number of epochs."""
RESUMED = {"resume", "resume_from", "resume_from_checkpoint", "start_epoch", "initial_epoch", "ckpt_path"}
"""Names of options for resuming another run: then it is not known how many epochs are left."""
S_PER_HOUR = 3_600.0


def outlook(run: Run, diagnosis: Diagnosis | None) -> Outlook | None:
    """``None``: it is over, was not judged, or its pace is not known: where the verdict is about a validation."""
    if run.status != "running" or diagnosis is None or diagnosis.bound == "unknown" or not _is_of_training(diagnosis):
        return None
    lost, steps_per_s = _lost_fraction(diagnosis), diagnosis.steps_per_s
    if lost is None or not steps_per_s:
        return None
    ranks = max(1, len(run.ranks))
    last_step, basis = _last_step(run, diagnosis.loader)
    left_s = None if last_step is None else (last_step - run.steps) / steps_per_s
    best = diagnosis.best_advice
    gains = (best.predicted_speedup, best.low, best.high) if best and best.is_promised else (None, None, None)
    saved, least, most = (None if gain is None else min(lost, 1 - 1 / gain) for gain in gains)
    return Outlook(
        last_step=last_step,
        basis=basis,
        hours_to_lose=None if left_s is None else left_s * lost * ranks / S_PER_HOUR,
        hours_lost_per_hour=lost * ranks,
        left_s=left_s,
        saved_fraction=saved,
        saved_low_fraction=least,
        saved_high_fraction=most,
        saved_s=None if left_s is None or saved is None else left_s * saved,
    )


def _lost_fraction(diagnosis: Diagnosis) -> float | None:
    """Of the loop's time, as the hours lost count it: waits, and copies that are not hidden."""
    step, stall = diagnosis.anatomy, diagnosis.data_stall_fraction
    if step is None or stall is None or not step.step_us:
        return stall
    return min(1.0, stall + (step.h2d_exposed_us or 0) / step.step_us)


def _is_of_training(diagnosis: Diagnosis) -> bool:
    return all(line.role == "train" for line in diagnosis.loaders if line.loader == diagnosis.loader)


def _last_step(run: Run, judged: str | None) -> tuple[int | None, str | None]:
    """Steps of all epochs, and where that is said. Epochs that ended show how many steps one has, else the loader."""
    loader = next((one for one in run.loaders if one.loader == judged), None)
    configured = _configured_epochs(run)
    steps = None if loader is None else _steps_per_epoch(run, loader)
    if configured is None or not steps or (run.restart_count or 0) > 0:
        return None, None
    epochs, where = configured
    if epochs * steps <= run.steps:
        return None, None
    return epochs * steps, f"{epochs} epochs, as {where} says, of {steps:,} steps each"


def _steps_per_epoch(run: Run, loader: LoaderInfo) -> int | None:
    ended = [each.steps for each in run.epochs if each.loader == loader.loader and each.ended and each.steps]
    return round(median(ended)) if ended else loader.batches_per_epoch


def _configured_epochs(run: Run) -> tuple[int, str] | None:
    """By the config that was given to ``underfed.init``, else by the command."""
    given = [
        *((key, value, f"{key}={value} in the run's config") for key, value in run.config.items()),
        *_options(run.command),
    ]
    if any(key in RESUMED and value not in (None, False, "", "0", 0, "false", "False") for key, value, _ in given):
        return None
    for key, value, where in given:
        if key in EPOCHS and not isinstance(value, bool) and str(value).isdecimal() and int(str(value)) > 0:
            return int(str(value)), where
    return None


def _options(command: list[str]) -> Iterator[tuple[str, Setting, str]]:
    """``--epochs 90``, ``--max-epochs=90`` and ``trainer.max_epochs=90``, as name, value and words."""
    for word, following in pairwise([*command, ""]):
        name, is_set, value = word.partition("=")
        if not is_set and not name.startswith("--"):
            continue
        key = name.lstrip("-").rpartition(".")[2].replace("-", "_")
        # A bare option with no value after it is a switch.
        found = value if is_set else ("true" if following.startswith("-") or not following else following)
        yield key, found, word if is_set else f"{word} {following}".strip()
