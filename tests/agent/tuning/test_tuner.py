"""``--tune`` in a training process: what it tries of a real loader, what it reports, and when it leaves it alone."""

from __future__ import annotations

import signal
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.agent.test_sharding_check import Repeating
from tests.agent.test_signal_handlers import Handler
from tests.agent.tuning.switching_plans import Indices, facts_now, tuned, use_from_now_on
from tests.fakes.datasets import Numbers, Stream, Unsharded
from underfed.errors import ConfigError
from underfed.exchange import launch, tuning
from underfed.launcher.options import make_parser, read_variables
from underfed.trainer import control
from underfed.trainer.settings.overrides import Overrides
from underfed.trainer.settings.tunable import NAMES
from underfed.trainer.tuning import conductor
from underfed.trainer.tuning.feeders import Feeders
from underfed.trainer.tuning.loader_setting import TRIED, LoaderSetting
from underfed.trainer.tuning.switching import switched_of
from underfed.trainer.tuning.tuner import INTERRUPTED, MOST_STARTS, TuneOptions, Tuner, read_tuner

MS = 1_000_000


def exit_code(loader: DataLoader[Any]) -> Any:
    """Of a pass that ends the program. The exception, whose traceback holds the iterator, is gone afterwards: one that
    was switched keeps what is spliced into torch for as long as it lives."""
    try:
        for _ in loader:
            pass
    except SystemExit as ended:
        return ended.code
    return "the pass ended, and the program did not"


def first(batch: Any) -> float:
    return float(batch.flatten()[0])


@pytest.mark.usefixtures("quick")
def test_a_loader_that_is_waited_for_is_tried_under_other_settings(capsys: pytest.CaptureFixture[str]) -> None:
    loader = DataLoader(Numbers(400, sleep_s=0.002))
    control._state.tuner = Tuner(TuneOptions(most_steps=60), print)
    underfed.watch(loader, name="train", tune=True)
    facts = None
    while facts is None or facts.status == tuning.SEARCHING:
        assert [first(batch) for batch in loader] == list(range(400))
        facts = facts_now()
    assert facts.status in (tuning.KEPT, tuning.LEFT_ALONE)
    assert facts.began_with == LoaderSetting(0).settings()
    assert facts.kept_from_step is not None
    assert facts.trial_steps > 0
    assert facts.trial_us > 0
    underfed.finish()
    assert ("to write into the script" if facts.status == tuning.KEPT else "as it is") in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_trials_alone_end_the_program_with_them() -> None:
    loader = DataLoader(Numbers(4000, sleep_s=0.002))
    control._state.tuner = Tuner(TuneOptions(most_steps=60, ends_after=True), lambda _: None)
    underfed.watch(loader, tune=True)
    assert exit_code(loader) == 0


def test_a_healthy_loader_is_said_to_be_healthy_and_left_alone() -> None:
    """By a clock on which only loading and the work after it take time."""
    at_ns = 0

    class Slow(Indices):
        def __getitem__(self, index: int) -> Any:
            nonlocal at_ns
            at_ns += 4 * MS
            return super().__getitem__(index)

    control._state.tuner = Tuner(TuneOptions(), print, lambda: at_ns)
    loader = DataLoader(Slow(400))
    underfed.watch(loader, tune=True)
    for _ in loader:
        at_ns += 96 * MS
    facts = facts_now()
    assert (facts.status, facts.reason, facts.trials) == (tuning.WAITING, conductor.HEALTHY, [])


def test_a_request_goes_on_while_another_thread_ends_the_recording() -> None:
    tuned(DataLoader(Indices(4)))
    tuner = control._state.tuner
    assert tuner is not None
    underfed.finish()
    requested = iter(DataLoader(Indices(4)))
    assert tuner.instead(requested) is None
    batch = next(requested)
    tuner.hold(requested, batch)
    tuner.left(requested, batch)
    tuner.let_go(requested)


def test_after_an_error_of_ours_the_loader_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    loader = tuned(DataLoader(Indices(20)))
    tuner = control._state.tuner
    assert tuner is not None
    iterator = iter(loader)
    assert tuner.conductor is not None
    monkeypatch.setattr(conductor.Conductor, "request", lambda *_: 1 / 0)
    assert [int(batch) for batch in iterator] == list(range(20))
    facts = facts_now()
    assert facts.status == tuning.FAILED
    assert facts.reason == "ZeroDivisionError: division by zero"


@pytest.mark.usefixtures("quick")
def test_a_loader_of_which_two_iterators_are_used_at_once_is_left_alone() -> None:
    loader = DataLoader(Numbers(200, sleep_s=0.002))
    control._state.tuner = Tuner(TuneOptions(most_steps=60), lambda _: None)
    underfed.watch(loader, tune=True)
    pairs = [(first(one), first(other)) for one, other in zip(loader, loader, strict=True)]
    assert pairs == [(index, index) for index in range(200)]
    facts = facts_now()
    assert facts.status == tuning.REFUSED
    assert facts.reason == "two of its iterators are used at once"
    assert loader.num_workers == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_data_set_is_switched_between_two_passes(workers: int) -> None:
    loader = tuned(DataLoader(Stream(24), num_workers=2 - workers))
    tuner = control._state.tuner
    assert tuner is not None
    assert len(list(loader)) == (24 if workers else 21)
    tuner._setting = LoaderSetting(workers, 2 if workers else None)
    assert len(list(loader)) == (21 if workers else 24)  # with workers the first one's share is smaller
    assert loader.num_workers == workers


def test_an_iterable_data_set_is_recorded_with_the_setting_that_its_pass_began_with() -> None:
    loader = tuned(DataLoader(Stream(24)))
    tuner = control._state.tuner
    assert tuner is not None
    list(loader)
    use_from_now_on(tuner, LoaderSetting(2, 2))
    list(loader)
    facts = tuner._watched.facts if tuner._watched is not None else None
    assert facts is not None
    assert facts.settings["num_workers"] == 2


def test_an_iterable_data_set_that_is_kept_with_workers_is_said_to_come_in_another_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for data, is_said in ((Stream(24), True), (Numbers(24), False)):
        control._state.tuner = Tuner(TuneOptions(), print)
        loader = underfed.watch(DataLoader(data), name="train", tune=True)
        list(loader)
        reporter = control._state.tuner.reporter
        assert reporter.conductor is not None
        reporter.conductor.status, reporter.conductor.interval = tuning.KEPT, (1.9, 2.1)
        reporter.conductor.setting = LoaderSetting(2, 2)
        reporter.kept()
        assert ("come in another order" in capsys.readouterr().out) == is_said
        underfed.finish()


def test_a_data_set_that_workers_would_repeat_gets_no_more_of_them() -> None:
    loader = tuned(DataLoader(Unsharded(24), batch_size=2))
    list(loader)
    tuner = control._state.tuner
    assert tuner is not None
    assert "each worker would load all of it" in str(tuner._why_no_room(LoaderSetting(2, 2)))


def reported_sharding(tuner: Tuner) -> Any:
    facts = tuner._watched.facts if tuner._watched is not None else None
    return (facts.shards, facts.why_unsharded) if facts is not None else None


def test_what_was_found_of_the_data_set_before_a_trial_is_reported_to_who_advises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = False, "another worker loads the same records"
    monkeypatch.setattr("underfed.trainer.settings.verified_sharding.check_sharding", lambda *_: found)
    loader = tuned(DataLoader(Repeating()))
    list(loader)
    tuner = control._state.tuner
    assert tuner is not None
    assert reported_sharding(tuner)[0] is None
    assert tuner._why_no_room(LoaderSetting(2, 2)) == found[1]
    for _ in range(2):
        assert reported_sharding(tuner) == found
        list(loader)


@pytest.mark.filterwarnings("ignore:'set_vital':UserWarning")
def test_a_stateful_loader_is_left_alone() -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    loader = tuned(stateful.StatefulDataLoader(Indices(6)))
    assert [int(batch) for batch in loader] == list(range(6))
    facts = facts_now()
    assert facts.status == tuning.REFUSED
    assert "no iterator of torch's own" in str(facts.reason)


def test_only_settings_that_can_be_set_are_tried() -> None:
    assert set(TRIED) <= set(NAMES)


class Growing(Indices):
    """Samples that the program makes larger between two passes."""

    size = 1

    def __getitem__(self, index: int) -> int:
        return self.size * super().__getitem__(index)


def grown(*, persistent: bool) -> tuple[list[float], float]:
    """The batches of two passes, and a random number of the training's after them."""
    torch.manual_seed(0)
    data, found = Growing(3), []
    loader = DataLoader(data, num_workers=1, persistent_workers=persistent)
    for data.size in (1, 10):
        found += [first(batch) for batch in loader]
    return found, float(torch.rand(()))


def test_workers_that_persist_are_not_tried_since_they_load_other_samples_and_take_other_random_numbers() -> None:
    assert "persistent_workers" not in TRIED
    (batches, number), (old, another) = grown(persistent=False), grown(persistent=True)
    assert batches == [0, 1, 2, 0, 10, 20]
    assert old == [0, 1, 2, 0, 1, 2]
    assert number != another


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tune"], {launch.TUNE: "1"}),
        (["--tune", "--tune-steps", "300"], {launch.TUNE: "1", launch.TUNE_STEPS: "300"}),
        (["--tune", "--trial-only"], {launch.TUNE: "1", launch.TRIAL_ONLY: "1"}),
        ([], {}),
    ],
)
def test_the_options_reach_the_training_process(words: list[str], expected: dict[str, str]) -> None:
    variables = read_variables(make_parser().parse_args(words))
    assert variables == expected
    assert (read_tuner(variables, print) is not None) == ("--tune" in words)


@pytest.mark.parametrize(
    "words",
    [["--tune-steps", "5"], ["--trial-only"], ["--tune", "--tune-steps", "0"], ["--tune", "--replay", "5"]],
)
def test_options_that_do_not_go_together_are_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError):
        read_variables(make_parser().parse_args(words))


def test_what_is_set_of_a_loader_is_not_tried() -> None:
    control._state.overrides = Overrides({"num_workers": 1}, lambda _: None)
    loader = tuned(DataLoader(Indices(6)))
    assert [int(batch) for batch in loader] == list(range(6))
    tuner = control._state.tuner
    assert tuner is not None and tuner.conductor is not None
    assert tuner.conductor.fixed == {"num_workers": 1}


def test_nothing_is_tried_unless_it_is_asked_for(tmp_path: Path) -> None:
    loader = DataLoader(Indices(8))
    underfed.watch(loader)
    list(loader)
    assert control._state.tuner is None
    assert not list(tmp_path.rglob(tuning.FILE))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("at", [1, 2])
def test_trials_go_on_after_what_a_signal_handler_raised_within_them(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]
    go_on = conductor.Conductor._go_on

    def interrupted(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1 + at and at % 2:
            signal.raise_signal(signal.SIGUSR1)
        order = go_on(*given)
        if calls[0] == 1 + at:
            signal.raise_signal(signal.SIGUSR1)
        return order

    before = signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    monkeypatch.setattr(conductor.Conductor, "_go_on", interrupted)
    control._state.tuner = Tuner(TuneOptions(most_steps=60), print)
    loader = DataLoader(Numbers(300, sleep_s=0.002))
    underfed.watch(loader, name="train", tune=True)
    facts = None
    while facts is None or facts.status == tuning.SEARCHING:
        iterator, found = iter(loader), []
        while True:
            try:
                found.append(first(next(iterator)))
            except TimeoutError as error:
                traceback.clear_frames(error.__traceback__)
            except StopIteration:
                break
        assert found == list(range(300))
        facts = facts_now()
    signal.signal(signal.SIGUSR1, before)
    assert facts.status in (tuning.KEPT, tuning.LEFT_ALONE)


@pytest.mark.parametrize("passes", [1, 2])
def test_as_many_steps_more_as_are_said_suffice_where_a_pass_is_shorter_than_its_queue(passes: int) -> None:
    def said_of(batches: int) -> str:
        said: list[str] = []
        control._state.tuner = Tuner(TuneOptions(), said.append)
        loader = DataLoader(Indices(batches), num_workers=2, prefetch_factor=16)
        underfed.watch(loader, name="train", tune=True)
        for _ in range(passes):
            assert len(list(loader)) == batches
        underfed.finish()
        return said[-1]

    short = said_of(20)
    assert "its queue of 2 × 16 batches" in short
    missing = int(short.split(": ")[-1].split()[0])
    assert "its queue of" not in said_of(20 + missing)
    if passes == 1:
        assert "1 step more" in said_of(20 + missing - 1)


@pytest.mark.usefixtures("quick")
@pytest.mark.timeout(30)
def test_workers_whose_start_a_signal_handler_always_ends_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without us the program would have had its next batch before the next alarm."""
    raised = [0]
    construct = Feeders.construct

    def slow(*given: Any) -> Any:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            time.sleep(1)
            return construct(*given)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, Handler(TimeoutError).plain)
    monkeypatch.setattr(Feeders, "construct", slow)
    control._state.tuner = Tuner(TuneOptions(most_steps=60), print)
    loader = DataLoader(Numbers(200, sleep_s=0.002))
    underfed.watch(loader, name="train", tune=True)
    iterator, found = iter(loader), []
    try:
        while raised[0] < 20:
            try:
                found.append(first(next(iterator)))
            except TimeoutError as error:
                raised[0] += 1
                traceback.clear_frames(error.__traceback__)
            except StopIteration:
                break
    finally:
        signal.signal(signal.SIGALRM, before)
    assert found == list(range(200))
    assert raised == [MOST_STARTS]
    facts = facts_now()
    assert (facts.status, facts.reason) == (tuning.REFUSED, INTERRUPTED)
    assert control._state.tuner is not None
    assert control._state.tuner.conductor is not None
    assert control._state.tuner.conductor.setting == LoaderSetting(0)


def test_batches_that_are_loaded_and_not_handed_out_are_counted() -> None:
    loader = tuned(DataLoader(Indices(20), num_workers=1))
    tuner = control._state.tuner
    assert tuner is not None
    iterator = iter(loader)
    next(iterator)
    deadline = time.monotonic() + 60
    while tuner._ahead() != 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert tuner._ahead() == 2
    use_from_now_on(tuner, LoaderSetting(0))
    for _ in range(4):
        next(iterator)
    assert tuner._ahead() == 0


def test_the_end_of_a_pass_reports_what_workers_of_other_settings_took(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    ended: list[int] = []
    monkeypatch.setattr(
        conductor.Conductor, "pass_ended", lambda _, *args, **named: calls.append((*args, *named.values()))
    )
    monkeypatch.setattr(conductor.Conductor, "workers_ended", lambda _, took_ns: ended.append(took_ns))
    loader = tuned(DataLoader(Indices(12)))
    iterator = iter(loader)
    tuner = control._state.tuner
    assert tuner is not None
    none, two = LoaderSetting(0), LoaderSetting(2, 1)
    for place in range(12):
        next(iterator)
        if place in (2, 6):
            switched = switched_of(iterator)
            assert switched is not None
            switched.begin(iterator, two if place == 2 else none)
            tuner._keep = two
    assert next(iterator, None) is None
    ((took_ns, of_others_ns, is_switching),) = calls
    assert 0 < of_others_ns <= took_ns
    assert of_others_ns == ended[-1]
    assert not is_switching


def test_a_pass_that_ends_before_a_switch_is_over_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bool] = []
    monkeypatch.setattr(conductor.Conductor, "pass_ended", lambda *_, is_switching: received.append(is_switching))
    iterator = iter(tuned(DataLoader(Indices(4))))
    list(iterator)
    iterator = iter(tuned(DataLoader(Indices(4))))
    next(iterator)
    tuner = control._state.tuner
    assert tuner is not None
    assert tuner.conductor is not None
    tuner.conductor.setting = LoaderSetting(2, 2)
    monkeypatch.setattr(tuner, "_carry_out", lambda *_: None)
    list(iterator)
    assert received == [False, True]


@pytest.mark.parametrize(
    ("given", "passes"),
    [({"num_workers": 1}, 2), ({"num_workers": 1, "persistent_workers": True}, 0), ({}, 0)],
)
def test_each_pass_that_starts_workers_reports_what_that_took(
    given: dict[str, Any], passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[LoaderSetting, int, int]] = []
    monkeypatch.setattr(conductor.Conductor, "pass_began_with", lambda _, *args: calls.append(args))
    loader = tuned(DataLoader(Indices(4), **given))
    for _ in range(2):
        list(loader)
    assert [setting.num_workers for setting, _, _ in calls] == [1] * passes
    assert all(construct_ns > 0 and waited_ns > 0 for _, construct_ns, waited_ns in calls)
