"""Causes name the line that most loading is in, and the slowest samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.app.diagnosis.altered import with_batches, with_loader, with_workers
from tests.app.diagnosis.found import finding
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from tests.app.made_loading import made_loading, slow_sample
from underfed_server.diagnosis.costly_evidence import LOOKS, SAMPLER_NOT_SEEN
from underfed_server.facts.record import RunFacts

MB = 1_000_000

DECODE = "Photos.__getitem__ data.py:40 > Image.convert PIL/Image.py:1067"
RESIZE = "Photos.__getitem__ data.py:41 > Image.resize PIL/Image.py:2440"
READ = "Photos.__getitem__ data.py:39 > read data.py:39"
PAD = "collate: pad train.py:9"
SAMPLER = "WeightedRandomSampler.__iter__ torch/utils/data/sampler.py:280"
CHOOSE = f"{SAMPLER} > torch.multinomial torch/utils/data/sampler.py:280"

SEEN = {RESIZE: 300, DECODE: 200, READ: 100, PAD: 250, CHOOSE: 150}


def cpu_limited() -> RunFacts:
    return made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=8, load_cpu_ms=240.0, load_runqueue_ms=80.0, usable_cores=2.0,
        busy_cores=2.0, queue_depth=0,
    )  # fmt: skip


def oversubscribed() -> RunFacts:
    facts = Played(load_ms=100, work_ms=20).facts(
        load_cpu_ms=40.0, load_runqueue_ms=60.0, usable_cores=2.0, busy_cores=2.0
    )
    return with_workers(with_batches(facts, process_cpu_us=facts.ranks[0].batches.cpu_us / 0.3), threads=10)


def slow_sampler() -> RunFacts:
    return with_loader(Played(load_ms=20, work_ms=20, sampler_ms=15.0).facts(), sampler_type="WeightedRandomSampler")


CAUSES: list[tuple[str, Callable[[], RunFacts], str, float]] = [
    ("cpu_limited", cpu_limited, "Image.resize at data.py:41, in Photos.__getitem__", 0.30),
    ("too_few_workers", lambda: Played(load_ms=120, work_ms=20).facts(busy_cores=2.5, load_cpu_ms=120.0),
     "Image.resize at data.py:41, in Photos.__getitem__", 0.30),
    ("thread_oversubscription", oversubscribed, "Image.resize at data.py:41, in Photos.__getitem__", 0.30),
    ("slow_collate", lambda: with_batches(starved(num_workers=1), collate_us=110e3), "pad at train.py:9", 0.25),
    ("storage_wait", lambda: starved(wait_ms=120.0, load_cpu_ms=40.0, load_blocked_ms=80.0, read_bytes=9e5),
     "read at data.py:39, in Photos.__getitem__", 0.10),
    ("slow_sampler", slow_sampler,
     "WeightedRandomSampler.__iter__ at torch/utils/data/sampler.py:280", 0.15),
    ("no_workers", starved, "Image.resize at data.py:41, in Photos.__getitem__", 0.30),
]  # fmt: skip


def evidence_of(facts: RunFacts, cause: str) -> Mapping[str, float | str | None]:
    return {each.what: each.value for each in finding(facts, cause).evidence}


@pytest.mark.parametrize(("cause", "made", "line", "share"), CAUSES)
def test_a_cause_names_the_line_that_is_to_blame(
    cause: str, made: Callable[[], RunFacts], line: str, share: float
) -> None:
    evidence = evidence_of(replace(made(), loading=made_loading(SEEN)), cause)
    only = ", joining samples" if cause == "slow_collate" else ""
    assert evidence[f"Of loading, in {line}{only}"] == pytest.approx(share)
    assert evidence[LOOKS] == 1_000


@pytest.mark.parametrize(("cause", "made", "line", "share"), CAUSES)
def test_of_a_few_looks_it_is_said_that_nothing_is_known(
    cause: str, made: Callable[[], RunFacts], line: str, share: float
) -> None:
    few = "30 looks at its loading, 100 are needed"
    evidence = evidence_of(replace(made(), loading=made_loading({RESIZE: 30}, missing=few)), cause)
    why = SAMPLER_NOT_SEEN if cause == "slow_sampler" else few
    assert evidence[f"Of loading, in its costliest call: not measured, {why}"] is None


def test_what_was_not_looked_up_is_no_evidence() -> None:
    assert not any("oading, in" in what for what in evidence_of(cpu_limited(), "cpu_limited"))


def test_a_sampler_that_was_not_seen_is_not_blamed_for_the_work_of_others() -> None:
    evidence = evidence_of(replace(slow_sampler(), loading=made_loading({RESIZE: 300})), "slow_sampler")
    assert [value for what, value in evidence.items() if "oading, in" in what] == [None]


def test_a_sampler_says_that_profile_names_its_line_where_it_was_not_profiled() -> None:
    def sentence(*, has_step: bool) -> str:
        loading = replace(made_loading({CHOOSE: 300}), has_step=has_step)
        return finding(replace(slow_sampler(), loading=loading), "slow_sampler").sentence

    assert sentence(has_step=False).endswith(" A run with --profile shows which line of it takes the time.")
    assert "--profile" not in sentence(has_step=True)


def test_of_a_line_that_several_places_call_the_callers_are_evidence() -> None:
    shrunk = "shrunk data.py:9 > Image.resize PIL/Image.py:2440"
    by_caller = {f"Photos.__getitem__ data.py:41 > {shrunk}": 300, f"Photos.__getitem__ data.py:45 > {shrunk}": 100}
    found = finding(replace(cpu_limited(), loading=made_loading({**by_caller, PAD: 100})), "cpu_limited")
    assert [(each.what, each.value) for each in found.evidence if each.what.startswith("Of loading")] == [
        ("Of loading, in Image.resize at data.py:9, in shrunk", 0.8),
        ("Of loading, there through Photos.__getitem__ at data.py:41", 0.6),
        ("Of loading, there through Photos.__getitem__ at data.py:45", 0.2),
    ]


def test_storage_names_the_costliest_line_that_reads() -> None:
    facts = starved(wait_ms=120.0, load_cpu_ms=40.0, load_blocked_ms=80.0, read_bytes=9e5)
    load = "Photos.__getitem__ data.py:38 > np.load data.py:38"
    evidence = evidence_of(replace(facts, loading=made_loading({RESIZE: 500, READ: 100, load: 400})), "storage_wait")
    assert evidence["Of loading, in np.load at data.py:38, in Photos.__getitem__"] == pytest.approx(0.4)


SLOW = [
    slow_sample(18_233, 2.1, "scans/0481.dcm", 104 * MB), slow_sample(7, 1.8, "scans/0007.dcm", 220 * MB),
    slow_sample(None, 1.5), slow_sample(9, 1.1), slow_sample(12, 0.9, "scans/0012.dcm", 30 * MB),
]  # fmt: skip


def uneven(slow: list[object] | None = None) -> RunFacts:
    facts = Played(load_ms=[8.0] * 15 + [300.0] + [8.0] * 14, work_ms=20).facts()
    return replace(facts, loading=made_loading({}, slow_samples=SLOW if slow is None else []))


def test_slow_samples_are_named_with_index_file_and_size() -> None:
    evidence = evidence_of(uneven(), "slow_samples")
    assert evidence["Loading index 18,233, scans/0481.dcm"] == 2_100_000
    assert evidence["Size of that file"] == 104 * MB
    assert evidence["Loading index 9"] == 1_100_000
    assert "Loading index 12, scans/0012.dcm" not in evidence, "three are named"
    assert evidence["Of the 5 slowest samples, with a file of 50 MiB or more"] == 2
    assert finding(uneven(), "slow_samples").sentence.endswith("The slowest sample is index 18,233, scans/0481.dcm.")


def test_what_the_slowest_sample_waited_for_is_said() -> None:
    parts = {"cpu_us": 420_000, "runqueue_us": 105_000}
    measured = [SLOW[0].model_copy(update=parts), *SLOW[1:]]
    facts = replace(uneven(), loading=made_loading({}, slow_samples=measured))
    evidence = evidence_of(facts, "slow_samples")
    assert evidence["On the CPU, of that load"] == pytest.approx(0.2)
    assert evidence["Ready to run, no core free, of that load"] == pytest.approx(0.05)
    assert "On the CPU, of that load" not in evidence_of(uneven(), "slow_samples"), "not measured"


def test_where_no_sample_was_reported_the_batches_speak() -> None:
    assert "slowest sample is" not in finding(uneven([]), "slow_samples").sentence
    assert not any(what.startswith("Loading index") for what in evidence_of(uneven([]), "slow_samples"))
