"""What the training thread does between batches that is not training is named, with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.app.advice.made_case import made_verdict
from tests.app.diagnosis.altered import with_rank
from tests.app.made_facts import made_run
from tests.app.made_loading import made_loading
from underfed_server.advice.outside_loader import call_less
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts

BACKWARD = "main train.py:36 > Tensor.backward torch/_tensor.py:630"
LOG = "main train.py:40 > Logger.info logging/__init__.py:1489 > StreamHandler.flush logging/__init__.py:1086"
ITEM = "main train.py:41 > item train.py:41"
LOOKS = "Of the looks at the training thread between batches, "


def profiled(seen: Mapping[str, int], made: RunFacts | None = None) -> str:
    facts = made or made_run(wait_ms=1.0, work_ms=99.0)
    return judge(replace(facts, between=made_loading(seen))).why or ""


@pytest.mark.parametrize("place", [
    "Logger.info logging/__init__.py:1489", "print train.py:40",
    "SummaryWriter.add_scalar torch/utils/tensorboard/w.py:3",
    "Run.log wandb/sdk/wandb_run.py:400", "writer.add_scalar train.py:40", "tqdm.update tqdm/std.py:1242",
])  # fmt: skip
def test_logging_is_named_with_its_line_and_what_is_usual(place: str) -> None:
    why = profiled({f"main train.py:40 > {place}": 530, BACKWARD: 470})
    called = place.partition(" ")[0]
    assert f"{LOOKS}53% found it logging, most often in {called} at train.py:40, in main. The usual remedy: " in why
    assert "https://docs.python.org" in why


def test_reading_values_back_is_named_and_what_takes_more_is_first() -> None:
    why = profiled({LOG: 200, ITEM: 400, BACKWARD: 400})
    assert why.index("40% found it reading values back from tensors, most often in item") < why.index(
        "20% found it log"
    )


def test_lines_that_are_one_thing_have_one_sum() -> None:
    """A loop over the values of a gradient: making a tensor of each, reading that, and the loop itself."""
    stats = "main train.py:44 > stats train.py:11 > stats.<listcomp> train.py:11"
    parts = {f"{stats} > Tensor.__iter__ torch/_tensor.py:1000": 400, f"{stats} > float train.py:11": 90, stats: 70}
    why = profiled({**parts, BACKWARD: 440})
    assert f"{LOOKS}56% found it reading values back from tensors, most often in Tensor.__iter__ at train.py:11" in why
    dumped = {"main train.py:50 > dumps json/__init__.py:231": 300, "main train.py:51 > write train.py:51": 100}
    why = profiled({**dumped, BACKWARD: 600})
    assert f"{LOOKS}40% found it logging, most often in dumps at train.py:50, in main" in why
    saved = {"main train.py:60 > save torch/serialization.py:966 > write torch/serialization.py:1268": 400}
    assert "found it logging" not in profiled({**saved, BACKWARD: 600})


def test_of_a_loop_that_waits_for_data_it_is_named_too_where_it_takes_a_part_of_the_loop() -> None:
    seen = {LOG: 500, BACKWARD: 500}
    assert "50% found it logging" in profiled(seen, made_run(wait_ms=60.0, work_ms=40.0))
    assert LOOKS not in profiled(seen, made_run(wait_ms=95.0, work_ms=5.0)), "a fortieth of the loop's time"


def test_a_tenth_of_looks_is_worth_naming_and_training_is_not() -> None:
    assert LOOKS not in profiled({LOG: 90, BACKWARD: 910})
    assert LOOKS in profiled({LOG: 100, BACKWARD: 900})


def test_a_loop_that_its_program_limits_has_its_costliest_line_named() -> None:
    limited = with_rank(made_run(wait_ms=1.0, work_ms=99.0, uses_gpu=True, gpu_idle_ms=1.0), gpu_util=0.3)
    draw = "main train.py:50 > draw plots.py:7"
    assert f"{LOOKS}70% found it in draw at train.py:50, in main: " in profiled({draw: 700, BACKWARD: 300}, limited)
    sentence = profiled({LOG: 200, draw: 500, BACKWARD: 300}, limited)
    assert "found it logging" in sentence and "no other line" not in sentence


WRITE_LOG = "main train.py:31 > write_log train.py"
LOGGED = {
    f"{WRITE_LOG}:9 > torch.histc train.py:9": 300, f"{WRITE_LOG}:11 > dumps json/__init__.py:231": 40,
    "main train.py:36 > Module._call_impl torch/nn/modules/module.py:1784": 200, BACKWARD: 460,
}  # fmt: skip


def test_a_function_of_the_program_that_trains_nothing_is_named_with_its_share_of_the_loop() -> None:
    """None of what it calls is known for anything."""
    facts = replace(made_run(wait_ms=25.0, work_ms=75.0), between=made_loading(LOGGED))
    verdict = judge(facts)
    takes, outside = (
        "write_log, called at train.py:31, takes 26% of this loop's time",
        "outside the model, its gradients and the optimizer",
    )
    assert verdict.beside_training == [f"{takes}: {outside}."]
    assert verdict.sentence.startswith("write_log takes 26% of the time; the training loop waits for data 25%")
    why = verdict.why or ""
    assert why.startswith(f"{takes}, {outside}: 34% ± ")
    assert "found it there, most often in torch.histc at train.py:9, in write_log. It was seen logging there." in why
    found = call_less(facts, facts.ranks[0], verdict)
    assert found is not None
    assert found.sentence == (
        "Make write_log, called at train.py:31, cheaper, or call it in fewer steps: it takes 26% of the loop's time."
    )
    assert found.of_loop == pytest.approx(0.255)


def test_beside_a_longer_wait_such_a_function_is_named_after_it() -> None:
    facts = replace(made_run(wait_ms=60.0, work_ms=40.0), between=made_loading(LOGGED))
    verdict = judge(facts)
    assert verdict.sentence.startswith("The training loop waits for data")
    assert not (verdict.why or "").startswith("write_log") and "write_log, called at" in (verdict.why or "")
    assert call_less(facts, facts.ranks[0], verdict) is None


def test_of_a_run_that_computes_nothing_is_to_be_done_about_its_functions() -> None:
    facts = replace(made_run(wait_ms=1.0, work_ms=99.0), between=made_loading(LOGGED))
    assert call_less(facts, facts.ranks[0], judge(facts)) is None
    assert call_less(replace(facts, between=None), facts.ranks[0], made_verdict(cpu_limited=0.1)) is None


@pytest.mark.parametrize("seen", [
    # A step in a function of its own, and a module's own forward.
    {"main train.py:31 > train_step train.py:9 > Tensor.backward torch/_tensor.py:630": 990, BACKWARD: 10},
    {"main train.py:31 > Module._call_impl torch/nn/modules/module.py:1784 > Net.forward train.py:9": 500,
     BACKWARD: 500},
    # The loop itself, in a function of a script's; and what has a sentence of its own.
    {"<module> train.py:90 > main train.py:31": 500, "<module> train.py:90 > main train.py:33": 500},
    {"main train.py:31 > keep train.py:9 > save torch/serialization.py:966": 500, BACKWARD: 500},
    {f"{WRITE_LOG}:9 > torch.histc train.py:9": 90, BACKWARD: 910},
], ids=["a step", "a module", "the loop", "saving", "little"])  # fmt: skip
def test_what_trains_or_is_named_already_or_is_little_is_no_such_function(seen: Mapping[str, int]) -> None:
    verdict = judge(replace(made_run(wait_ms=25.0, work_ms=75.0), between=made_loading(seen)))
    assert [text for text in verdict.beside_training if "called at" in text] == []


def test_known_work_that_is_done_in_such_a_function_has_no_second_sentence() -> None:
    seen = {f"{WRITE_LOG}:9 > torch.histc train.py:9": 300, f"{WRITE_LOG}:11 > dumps json/__init__.py:231": 200,
            BACKWARD: 500}  # fmt: skip
    verdict = judge(replace(made_run(wait_ms=25.0, work_ms=75.0), between=made_loading(seen)))
    assert len(verdict.beside_training) == 1 and "write_log" in verdict.beside_training[0]
    assert (verdict.why or "").count("The usual remedy") == 1
