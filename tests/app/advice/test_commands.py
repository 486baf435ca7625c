"""The lines that try a piece of advice, read by the ``underfed run`` that they are for."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests.app.advice.made_case import altered, made_case, made_verdict
from tests.app.made_facts import made_run
from underfed.launcher.options import make_parser
from underfed.launcher.run import split
from underfed.trainer.settings.tunable import NAMES, check_settings
from underfed.trainer.settings.wanted import parse_words
from underfed_server.advice.advise import recommend
from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.facts.record import LoaderFacts, RunFacts
from underfed_server.model import Advice, Role, Setting

WORDS = ("python", "-m", "train", "--data", "/data/it's here", "--lr=0.1", "--", "$HOME")


def sick(**overrides: Setting) -> RunFacts:
    facts = made_run(wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, queue_depth=0, uses_gpu=True)
    facts = altered(facts, settings={"pin_memory": False}, steps={"h2d_us": 9_000.0, "h2d_exposed_us": 9_000.0})
    return replace(facts, command=WORDS, overrides=overrides)


def advice_for(facts: RunFacts, speedup_without_workers: float = 1.0) -> list[Advice]:
    verdict = made_verdict(
        too_few_workers=0.1, slow_samples=0.1, worker_startup=0.1, thread_oversubscription=0.1, pageable_copy=0.1
    )

    def speedup(setting: SimulatedSetting) -> float:
        return speedup_without_workers if setting.num_workers == 0 else 1.2

    return list(recommend(made_case(facts, verdict, speedup)).advice)


def test_what_can_be_set_is_what_the_agent_sets() -> None:
    assert set(NAMES) == {name for name, setting in SETTINGS.items() if setting.is_settable}


@pytest.mark.parametrize("without_workers", [1.0, 1.5])
@pytest.mark.parametrize("overrides", [{}, {"persistent_workers": False, "in_order": True, "num_workers": 2}])
def test_every_line_is_understood_and_sets_what_was_advised(
    without_workers: float, overrides: dict[str, Setting]
) -> None:
    found = [advice for advice in advice_for(sick(**overrides), without_workers) if advice.settings]
    assert {"num_workers", "pin_memory", "persistent_workers"} <= {advice.change for advice in found}
    for place, advice in enumerate(found):
        assert advice.command is not None
        program, command, *words = shlex.split(advice.command)
        assert (program, command) == ("underfed", "run")
        own, started = split(words)
        assert tuple(started) == WORDS
        options = make_parser().parse_args(own)
        assert (options.apply == "made-1") == (place == 0)
        assert place == 0 or parse_words(options.set) == (advice.settings, {})
        check_settings(advice.settings)


def test_of_several_loaders_each_line_is_for_the_one_that_was_advised() -> None:
    facts = sick()
    assert facts.loader is not None
    lines = tuple(LoaderFacts(name, facts.loader, "train", 0, facts.ranks) for name in ("train", "other one"))
    found = [advice for advice in advice_for(replace(facts, loaders=lines)) if advice.settings]
    assert [shlex.split(str(advice.command))[2] for advice in found] == ["--apply", *["--set"] * (len(found) - 1)]
    for advice in found[1:]:
        own, _ = split(shlex.split(str(advice.command))[2:])
        assert parse_words(make_parser().parse_args(own).set) == ({}, {"train": advice.settings})


@pytest.mark.parametrize("role", ["validation", "other"])
def test_a_loader_that_nothing_is_trained_with_is_set_like_any_other(role: Role) -> None:
    facts = sick()
    assert facts.loader is not None
    lines = (LoaderFacts("train", facts.loader, role, 0, facts.ranks),)
    assert any(advice.command for advice in advice_for(replace(facts, loaders=lines)))
