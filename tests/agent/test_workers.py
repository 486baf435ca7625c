"""Lives of workers: ending is distinguished from dying, and their usage is sampled while they run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.fakes.datasets import Failing, Numbers
from tests.fakes.forkserver import python
from tests.fakes.jobs import environment, run_job, run_text, start_job
from tests.fakes.service import Service, Window, wait_until
from underfed.collector.reading.rank_rings import Drained
from underfed.collector.reading.resume import WorkerResume
from underfed.collector.reading.workers import SETTLED_US, Workers
from underfed.exchange import ring_format
from underfed.exchange.facts import End
from underfed.exchange.ring_format import Record, head
from underfed.exchange.run_files import RingName

Key = tuple[int, int]
"""Iterator, and worker."""


def newest(service: Service) -> dict[Key, Window]:
    """The newest of each worker."""
    workers = [worker for window in list(service.windows) for worker in window["workers"]]
    return {(worker["iterator_index"], worker["worker"]): worker for worker in workers}


def ended(service: Service) -> dict[Key, str | None]:
    return {key: worker.get("ended") for key, worker in newest(service).items()}


def finish(service: Service) -> None:
    underfed.finish()
    wait_until(service.ends, "the end arrives")


class Leaving(Dataset[Tensor]):
    """Its second worker ends without an exception, the first one waits."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Tensor:
        worker = torch.utils.data.get_worker_info()
        if worker is not None and worker.id == 1 and index > 3:
            os._exit(1)
        time.sleep(0.05)
        return torch.zeros(1)


class Quitting(Dataset[Tensor]):
    """Ends the process that loads it, as a library does that calls ``sys.exit()``."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        raise SystemExit(3)


def test_workers_end_with_their_epoch(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(8), num_workers=2), name="train")
    for _ in range(2):
        assert len(list(loader)) == 8
    finish(service)
    assert ended(service) == {(iterator, worker): "returned" for iterator in (0, 1) for worker in (0, 1)}
    for (iterator, _), worker in newest(service).items():
        assert (worker["loader"], worker["epoch_index"]) == ("train", iterator)
        epoch = service.epochs()["train", iterator]
        assert epoch["start_us"] < worker["start_us"] < worker["end_us"]
    for iterator in (0, 1):
        epoch = service.epochs()["train", iterator]
        first = min(worker["start_us"] for (of, _), worker in newest(service).items() if of == iterator)
        assert first < epoch["start_us"] + epoch["startup_us"], "the other may start after the first one's batch"


def test_persistent_workers_live_through_epochs(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(4), num_workers=1, persistent_workers=True), name="train")
    for _ in range(3):
        assert len(list(loader)) == 4
    wait_until(lambda: ended(service) == {(0, 0): None}, "it is reported")
    pids = [worker.pid for worker in loader._iterator._workers]  # type: ignore[union-attr]
    wait_until(lambda: newest(service)[0, 0].get("epoch_index") == 0, "with its epoch")
    assert newest(service)[0, 0]["pid"] == pids[0]
    assert "end_us" not in newest(service)[0, 0]
    finish(service)
    # How it ended was not seen: it was there when the recording ended.
    worker = newest(service)[0, 0]
    assert worker["start_us"] < worker["end_us"]
    assert "ended" not in worker


def test_an_epoch_that_is_left_lets_its_workers_return(service: Service) -> None:
    iterator = iter(underfed.watch(DataLoader(Numbers(), num_workers=2), name="train"))
    next(iterator)
    del iterator
    finish(service)
    assert ended(service) == {(0, 0): "returned", (0, 1): "returned"}


def test_a_worker_whose_data_set_raises_lives_on(service: Service) -> None:
    iterator = iter(underfed.watch(DataLoader(Failing(6, bad=2), num_workers=1), name="train"))
    with pytest.raises(ValueError, match="broken"):
        list(iterator)
    assert len(list(iterator)) == 3
    del iterator
    finish(service)
    assert ended(service) == {(0, 0): "returned"}


KILLING = """
import os, signal, sys, underfed
from torch.utils.data import DataLoader
from tests.fakes.datasets import Numbers
if __name__ == "__main__":
    iterator = iter(underfed.watch(DataLoader(Numbers(64, sleep_s=0.05), num_workers=2), name="train"))
    next(iterator), next(iterator)  # of both
    killed = iterator._workers[1].pid
    print(killed, flush=True)
    os.kill(killed, signal.SIGKILL)
    while True:
        try:  # torch's handler of SIGCHLD raises anywhere, and again for every child that ends
            sys.stdin.read()
            break
        except RuntimeError:
            continue
"""


def test_a_worker_whose_data_set_ends_the_process_has_raised(service: Service) -> None:
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(underfed.watch(DataLoader(Quitting(), num_workers=1), name="train"))
    finish(service)
    assert ended(service) == {(0, 0): "raised"}


def test_a_worker_that_is_killed_has_died(service: Service, tmp_path: Path) -> None:
    """And the training goes on: the program catches what torch raises."""
    script = tmp_path / "train.py"
    script.write_text(KILLING)
    job = subprocess.Popen(
        [python(), str(script)], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    killed = int(job.stdout.readline())
    wait_until(lambda: ended(service) == {(0, 0): None, (0, 1): "died"}, "what became of them is reported")
    assert newest(service)[0, 1]["pid"] == killed
    assert newest(service)[0, 1]["end_us"] > newest(service)[0, 1]["start_us"]
    job.communicate()
    wait_until(service.ends, "the end arrives")
    assert ended(service)[0, 1] == "died"
    assert ended(service)[0, 0] != "died"


LEAVING = """
import underfed
from torch.utils.data import DataLoader
from tests.agent.test_workers import Leaving
if __name__ == "__main__":
    list(underfed.watch(DataLoader(Leaving(), num_workers=2), name="train"))
"""


def test_a_worker_that_takes_the_training_with_it_has_died(service: Service) -> None:
    # Torch says that a worker exited unexpectedly, or the end of its connection is what is noticed first.
    assert run_text(LEAVING).returncode != 0
    wait_until(service.ends, "the end arrives")
    assert service.ends()[0]["status"] == "crashed"
    assert ended(service)[0, 1] == "died"
    assert ended(service)[0, 0] in ("returned", None)


TWO_KILLED = """
import os, signal, time, underfed
from torch.utils.data import DataLoader
from tests.fakes.datasets import Numbers
if __name__ == "__main__":
    iterator = iter(underfed.watch(DataLoader(Numbers(400, sleep_s=0.05), num_workers=4), name="train"))
    # How a worker ended is asked of the kernel by a collector that knew it while it lived: it has read of all of them
    # once it has read twice, as what it lists before the first batches may lack some.
    for read in (0, 1):
        known = underfed.stats()["steps"] or 0
        for _ in range(8):
            next(iterator)
        while (underfed.stats()["steps"] or 0) <= known:
            time.sleep(0.01)
    # Of the first one's death torch's handler raises, which may be before the second one is killed.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    for worker in iterator._workers[1:3]:
        os.kill(worker.pid, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    for _ in iterator:
        pass
"""


def test_workers_that_are_killed_at_one_instant_have_all_died(service: Service) -> None:
    """torch's message names the workers that it finds first, often only one."""
    assert run_text(TWO_KILLED).returncode != 0
    wait_until(service.ends, "the end arrives")
    assert [worker for (_, worker), how in ended(service).items() if how == "died"] == [1, 2]


@pytest.mark.skipif(
    multiprocessing.get_start_method() == "forkserver", reason="from there they outlive it, without us too: Python 3.14"
)
def test_workers_of_a_training_that_is_killed_have_not_died(service: Service) -> None:
    assert run_job("--workers", "2", "--end", "kill").returncode == -signal.SIGKILL
    wait_until(service.ends, "the end arrives")
    # They may have noticed in time that they are alone, and returned.
    assert set(ended(service).values()) <= {None, "returned"}
    assert len(ended(service)) == 2
    assert all(worker["end_us"] for worker in newest(service).values())


def test_living_workers_are_sampled(service: Service, eager_collector: None, tmp_path: Path) -> None:
    may_end = tmp_path / "may-end"
    job = start_job("--workers", "2", "--wait-for", str(may_end))

    def samples() -> list[Window]:
        return [each for window in list(service.windows) for each in window["worker_samples"]]

    wait_until(lambda: any("pss_bytes" in each for each in samples()), "one of them is looked at closely")
    wait_until(lambda: {each["worker"] for each in samples()} == {0, 1}, "both are sampled")
    may_end.touch()
    job.communicate()
    for each in samples():
        assert each["loader"] == "train"
        assert len({len(value) for value in each.values() if isinstance(value, list)}) == 1
        assert all(rss > 1 << 20 for rss in each["rss_bytes"])
        assert all(threads >= 1 for threads in each["threads"])
        assert each["cpu_us"] == sorted(each["cpu_us"])


ORIGIN_NS = 1_000_000_000_000


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """One that stays until its input is closed."""
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield started
    started.communicate()


def at(kind: int, us: int, *fields: int) -> Record:
    return head(kind, 0), ORIGIN_NS + us * 1000, *fields, *[0] * (5 - len(fields)), 1  # type: ignore[return-value]


def one_worker(resumed: dict[RingName, WorkerResume | None] | None = None) -> Workers:
    return Workers(ORIGIN_NS, lambda index: f"loader-{index}", resumed or {})


RING = RingName(0, 2, 1)


def outcome(workers: Workers) -> list[tuple[int | None, int | None, str | None]]:
    return [(each.start_us, each.end_us, each.ended) for each in workers.take()]


def test_a_last_record_that_is_read_late_still_counts(process: subprocess.Popen[bytes]) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid}, [Drained(RING, [at(ring_format.WORKER_START, 10)], 0)])
    workers.sample(20, lambda: True)
    process.communicate()
    workers.sample(30, lambda: True)
    assert outcome(workers) == [(10, None, None)]
    workers.feed({RING: process.pid}, [Drained(RING, [at(ring_format.WORKER_END, 25, 1)], 0)])
    workers.sample(40, lambda: True)
    assert outcome(workers) == [(10, 25, "raised")]


def test_a_ring_is_kept_until_the_end_of_its_worker_was_reported(process: subprocess.Popen[bytes]) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid}, [])
    process.communicate()
    for at_us in (30, 40, 30 + SETTLED_US):
        assert not workers.is_over(RING)
        workers.sample(at_us, lambda: True)
    assert not workers.is_over(RING)
    assert outcome(workers) == [(None, 30, None)]
    assert workers.is_over(RING)
    workers.forget(RING)
    assert workers.resume() == []


def test_a_worker_that_goes_while_the_training_ends_has_not_died(process: subprocess.Popen[bytes]) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid}, [])
    process.communicate()
    for at_us in (30, 40):
        workers.sample(at_us, lambda: False)
    workers.finish(50, End("finished"), is_end_marked=True)
    assert outcome(workers) == [(None, 50, None)]


@pytest.mark.parametrize(
    ("end", "is_end_marked", "expected"),
    [
        (End("crashed", "RuntimeError: DataLoader worker (pid PID) is killed by signal: Killed."), True, "died"),
        (End("crashed", "RuntimeError: DataLoader worker (pid(s) 1, PID) exited unexpectedly"), True, "died"),
        (End("crashed", "RuntimeError: DataLoader worker (pid(s) 1) exited unexpectedly"), True, None),
        (End("crashed", "killed by SIGKILL", -9), False, None),
    ],
)
def test_the_exit_reason_of_the_training_names_the_worker_that_died(
    end: End, is_end_marked: bool, expected: str | None, process: subprocess.Popen[bytes]
) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid}, [])
    process.communicate()
    workers.finish(50, End(end.status, (end.exit_reason or "").replace("PID", str(process.pid))), is_end_marked)
    assert outcome(workers) == [(None, 50, expected)]


@pytest.mark.parametrize(("is_end_marked", "status", "expected"), [
    (True, "crashed", "died"), (False, "crashed", None), (True, "finished", None),
])  # fmt: skip
def test_a_worker_seen_gone_before_the_training_failed_has_died(
    is_end_marked: bool, status: str, expected: str | None, process: subprocess.Popen[bytes]
) -> None:
    """Where both were killed, nobody knows which was first; a training that ends well has stopped its workers."""
    workers = one_worker()
    workers.feed({RING: process.pid}, [])
    process.communicate()
    workers.sample(30, lambda: True)
    workers.finish(50, End(status), is_end_marked)
    assert outcome(workers) == [(None, 30, expected)]


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGKILL, "died"), (signal.SIGTERM, None)])
def test_a_worker_that_was_killed_has_died_though_nothing_else_shows_it(
    sent: signal.Signals, expected: str | None, process: subprocess.Popen[bytes]
) -> None:
    """Alone in its iterator, of a program that catches what torch raises. torch itself sends SIGTERM."""
    workers = one_worker()
    workers.feed({RING: process.pid}, [])
    process.send_signal(sent)
    # Its parent collects it later: until then the kernel says how it ended, on every version.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    workers.sample(30, lambda: True)
    assert [each.ended for each in workers.take()] == [expected]
    workers.forget(RING)


OTHER = RingName(0, 2, 2)
SECOND_US = 1_000_000
NOBODY = 2**22
"""No process has this number."""
EPOCH_OF_IT: Record = (head(ring_format.EPOCH, 7), 2, 0, ORIGIN_NS, ORIGIN_NS, 0, 0, 1)


def failing(us: int) -> Record:
    return (head(ring_format.FAILED, 7), ORIGIN_NS, ORIGIN_NS + us * 1000, 0, 0, 0, 0, 2)


@pytest.mark.parametrize(("before", "expected"), [
    # Of a break in the middle of slow loads: torch waits for 5 s, and then terminates them.
    ([], None),
    ([Drained(OTHER, [at(ring_format.WORKER_END, 24 * SECOND_US, 0)], 0)], None),
    ([Drained(RingName(0), [failing(20 * SECOND_US)], 0)], None),
    # torch raises where a worker dies, and the training stops the others.
    ([Drained(OTHER, [at(ring_format.WORKER_END, 29 * SECOND_US, 0)], 0)], "died"),
    ([Drained(RingName(0), [failing(29 * SECOND_US)], 0)], "died"),
], ids=["all", "an idle one before", "an earlier failure", "others with it", "a request raised"])  # fmt: skip
def test_a_worker_that_the_training_stopped_has_not_died(
    before: list[Drained], expected: str | None, process: subprocess.Popen[bytes]
) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid, OTHER: NOBODY}, [Drained(RingName(0), [EPOCH_OF_IT], 0), *before])
    process.communicate()
    for second in (30, 31, 41):
        workers.sample(second * SECOND_US, lambda: True)
    (found,) = [each for each in workers.take() if each.worker == RING.worker]
    assert (found.end_us, found.ended) == (30 * SECOND_US, expected)


def test_a_worker_that_is_gone_while_others_of_its_iterator_load_has_died(process: subprocess.Popen[bytes]) -> None:
    workers = one_worker()
    workers.feed({RING: process.pid, OTHER: os.getpid()}, [Drained(RingName(0), [EPOCH_OF_IT], 0)])
    process.communicate()
    for second in (30, 31):
        workers.sample(second * SECOND_US, lambda: True)
    assert [(each.worker, each.ended) for each in workers.take()] == [(RING.worker, "died"), (OTHER.worker, None)]


def test_the_next_collector_goes_on_with_those_who_are_there(process: subprocess.Popen[bytes]) -> None:
    first = one_worker()
    epoch: Record = (head(ring_format.EPOCH, 7), 2, 0, ORIGIN_NS, ORIGIN_NS, 0, 0, 1)
    first.feed(
        {RING: process.pid}, [Drained(RING, [at(ring_format.WORKER_START, 10)], 0), Drained(RingName(0), [epoch], 0)]
    )
    (known,) = first.take()
    reported_before = RingName(0, 1, 1)
    second = one_worker(
        {**{RingName(0, each.iterator, each.worker): each for each in first.resume()}, reported_before: None}
    )
    second.feed({RING: process.pid, reported_before: 2**22}, [])
    for at_us in (20, 30):
        second.sample(at_us, lambda: True)
    assert second.take() == []
    assert second.is_over(reported_before)
    second.send_again()
    assert second.take() == [known]
    assert (known.epoch_index, known.iterator_index, known.worker, known.start_us) == (7, 2, 1, 10)


def test_only_the_newest_iterators_workers_are_sampled(process: subprocess.Popen[bytes]) -> None:
    workers = one_worker()
    older, newer = RingName(0, 2, 0), RingName(0, 3, 0)
    workers.feed({older: os.getpid(), newer: process.pid}, [])
    workers.sample(10, lambda: True)
    (samples,) = workers.take_samples()
    assert samples.columns["at_us"] == [10]
    assert workers.pids() == {0: [process.pid]}
    assert set(workers.living) == {older, newer}


def test_a_later_process_with_the_same_pid_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = one_worker()
    workers.feed({RING: os.getpid()}, [])
    workers.sample(10, lambda: True)
    assert set(workers.living) == {RING}
    later: dict[str, Any] = {"start_ticks": 1}
    life = workers._lives[RING]
    monkeypatch.setattr(life, "start_ticks", later["start_ticks"])
    workers.sample(20, lambda: True)
    assert workers.living == {}
