"""What is said of checkpoints: their share of the loop's time, where they are saved, and what is usual against that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.made_facts import made_run
from tests.app.made_loading import made_loading
from underfed_server.advice.outside_loader import save_less
from underfed_server.diagnosis.checkpoints import ADVISED, saves
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.rounded import percent
from underfed_server.facts.loading import LoaderHotspots
from underfed_server.facts.record import Checkpoints, RunFacts

STEPS, WORK_MS = 300, 50.0


def pausing(share: float, *, wrote: bool = True, between: LoaderHotspots | None = None, **changes: float) -> RunFacts:
    """A loop of which pauses take ``share``."""
    made = made_run(steps=STEPS, work_ms=WORK_MS, **changes)  # type: ignore[arg-type]  # the keywords are made_run's own
    spent_us = float(made.ranks[0].steps.step_us.sum()) * share / (1 - share)
    checkpoints = Checkpoints(12, spent_us, 240 * 1024**2) if wrote else None
    rank = replace(made.ranks[0], pausing_us=spent_us, paused_us=spent_us, checkpoints=checkpoints)
    return replace(made, ranks=(rank,), between=between)


SAVING = made_loading(
    {
        "main train.py:41 > save torch/serialization.py:966 > _save torch/serialization.py:1268": 240,
        "main train.py:36 > Tensor.backward torch/_tensor.py:630": 760,
    }
)


def test_what_checkpoints_take_is_stated_with_what_is_usual_against_it() -> None:
    why = judge(pausing(0.28)).why or ""
    assert why.startswith("Checkpoints take ")
    assert "Checkpoints take 28% of this loop's time: 12 pauses, in each of which about 240 MiB were written." in why
    assert "https://" not in why, "what to do about it comes first outside the loader"


def test_the_line_that_saves_is_named_where_the_training_thread_was_sampled() -> None:
    why = judge(pausing(0.28, between=SAVING)).why or ""
    assert "The training thread was seen saving in save at train.py:41, in main." in why


def test_by_looks_alone_it_is_said_what_share_of_them_found_it_saving() -> None:
    why = judge(pausing(0.28, wrote=False, between=SAVING)).why or ""
    share = "24% found it saving; how often it saves, and for how long, was not measured."
    assert f"Of the looks at the training thread between batches, {share}" in why
    assert "Checkpoints take" not in why


def test_saves_that_are_too_short_to_be_pauses_are_found_by_looks() -> None:
    """Most of the saves take less than two steps: by what was written, only the longer ones differ from steps."""
    sentences = judge(pausing(0.06, between=SAVING)).beside_training
    assert sentences == [
        "Checkpoints take 6.0% of this loop's time: 12 pauses, in each of which about 240 MiB were written.",
        "Of the looks at the training thread between batches, 24% found it saving, more than in these pauses: saves "
        "shorter than two steps are not among them.",
    ]
    assert len(judge(pausing(0.28, between=SAVING)).beside_training) == 1, "the looks do not find more"


def test_without_a_profile_it_is_said_that_short_saves_are_not_measured() -> None:
    sentences = judge(pausing(0.28)).beside_training
    assert "Saves shorter than two steps are not counted: they are measured with --profile alone." in sentences
    assert judge(pausing(0.28, wrote=False)).beside_training == [], "nothing was seen of saving"


def test_checkpoints_beside_a_longer_wait_are_named_after_it() -> None:
    why = judge(pausing(0.08, wait_ms=120.0, load_cpu_ms=120.0)).why or ""
    assert "more than to waiting" not in why
    assert why.endswith(ADVISED) and "Checkpoints take 8.0% of this loop's time" in why


def test_those_between_epochs_are_distinguished_from_the_loops_own_time() -> None:
    made = made_run(steps=STEPS, work_ms=WORK_MS)
    rank = replace(made.ranks[0], between_epochs=Checkpoints(4, 6e6, 240 * 1024**2))
    why = judge(replace(made, ranks=(rank,))).why or ""
    sentence = (
        "Checkpoints between epochs, which are no part of this loop's time, took 6 s, "
        f"{percent(6e6 / (6e6 + float(made.ranks[0].steps.step_us.sum())))} of that time and their own: "
        "in each of 4 about 240 MiB were"
    )
    assert sentence in why and why.endswith(ADVISED)
    short = replace(rank, between_epochs=Checkpoints(4, 0.6e6, 240 * 1024**2))
    assert ADVISED not in (judge(replace(made, ranks=(short,))).why or "")


def test_pauses_that_take_more_than_waiting_are_in_the_first_sentence() -> None:
    assert judge(pausing(0.28)).sentence.startswith("Pauses take 28% of the time; the training loop is kept busy")
    assert judge(pausing(0.08, wait_ms=120.0, load_cpu_ms=120.0)).sentence.startswith(
        "The training loop waits for data"
    )


@pytest.mark.parametrize(("facts", "is_advised"), [
    (pausing(0.28), True), (pausing(0.28, wrote=False, between=SAVING), True), (pausing(0.28, wrote=False), False),
    (pausing(0.08, wait_ms=120.0, load_cpu_ms=120.0), False),
], ids=["written", "seen", "another pause", "waiting takes more"])  # fmt: skip
def test_to_save_less_is_advised_where_checkpoints_take_more_than_waiting(facts: RunFacts, is_advised: bool) -> None:
    assert (save_less(facts, facts.ranks[0], judge(facts)) is not None) is is_advised


@pytest.mark.parametrize("facts", [pausing(0.28, wrote=False), pausing(0.03), pausing(0.03, between=None)])
def test_of_other_and_of_short_pauses_nothing_is_advised(facts: RunFacts) -> None:
    assert ADVISED not in (judge(facts).why or "")


@pytest.mark.parametrize(
    ("place", "is_meant"),
    [
        (("save", "torch/serialization.py", 966), True),
        (("_legacy_save", "torch/serialization.py", 1100), True),
        (("torch.save", "train.py", 41), True),
        (("PreTrainedModel.save_pretrained", "transformers/modeling_utils.py", 3100), True),
        (("serialize_file", "safetensors/torch.py", 300), True),
        (("Accelerator.save_state", "accelerate/accelerator.py", 3000), True),
        (("Trainer._save_checkpoint", "transformers/trainer.py", 3200), True),
        (("save", "torch/distributed/checkpoint/state_dict_saver.py", 90), True),
        (("Module.state_dict", "torch/nn/modules/module.py", 2000), False),
        (("save", "PIL/Image.py", 2500), False),
        (("load", "torch/serialization.py", 1300), False),
        (("Saver.saved", "train.py", 3), False),
    ],
)
def test_functions_that_save_are_known_by_name_and_file(place: tuple[str, str, int], is_meant: bool) -> None:
    assert saves("step", (("main", "train.py", 1), place)) is is_meant
