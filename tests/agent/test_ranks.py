"""Several ranks of a run on one host: one collector, one run, each rank its own stream."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.app.serving import start_service
from tests.fakes import launching
from tests.fakes.forkserver import Job, python, start
from tests.fakes.jobs import Done, end, environment, start_job
from tests.fakes.launching import finish
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import only_collector, wait_for_collectors
from underfed.collector import rank_stream, ranks
from underfed.collector.rank_stream import RankStream
from underfed.collector.reading.figures import RankFigures
from underfed.collector.sampling.gpu import open_gpus
from underfed.collector.sampling.host_and_gpus import HostAndGpus
from underfed.collector.spool.spool import Spool
from underfed.exchange import figures, run_files
from underfed.exchange.config import read_config
from underfed.exchange.facts import Origin, write_facts
from underfed.exchange.rank import Rank
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock
from underfed.trainer.process_facts import make_run_facts


def start_rank(rank: int, *arguments: str) -> Job:
    return start_job(*arguments, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")


def test_ranks_share_a_collector_and_a_run(service: Service, run_id: str, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    jobs = [start_rank(rank, "--work-ms", "60", "--epochs", "6", "--wait-for", str(seen)) for rank in (0, 1)]

    def both_arrive() -> bool:
        return {window["rank"] for window in service.windows if window["steps"]} == {0, 1}

    wait_until(both_arrive, "steps of both ranks arrive")
    # Each rank starts one, and all but the first find the run served and end.
    only_collector(run_id)
    assert all(job.poll() is None for job in jobs)
    seen.touch()
    errors = [job.communicate()[1] for job in jobs]
    wait_until(lambda: len(service.ends()) == 2, "both end")
    assert [error.count("underfed: run") for error in errors] == [1, 0]
    for rank in (0, 1):
        steps = service.steps(rank=rank)
        assert sum(len(each["data_wait_us"]) for each in steps) == 60
    facts = {window["rank"]: window["run"] for window in service.windows if "run" in window}
    assert [(facts[rank]["rank"], facts[rank]["world_size"]) for rank in (0, 1)] == [(0, 2), (1, 2)]
    # Samples of the host come from one of them at a time.
    assert any("host" in window for window in service.windows)
    instants = [window["host"]["at_us"] for window in service.windows if "host" in window]
    assert sum(len(at_us) for at_us in instants) <= max(window["end_us"] for window in service.windows) / 1e6 + 2


SPAWNING = """
import os, time, underfed, torch.multiprocessing
from pathlib import Path
from torch.utils.data import DataLoader

def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True

def train(rank, pids):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
    for _ in underfed.watch(DataLoader(range(4)), name="train"):
        pass
    if rank == 0:
        pids.put(os.getpid())
    else:
        # One that fails has torch end the others, even before they begin.
        first = pids.get()
        while not has_ended(first):
            time.sleep(0.01)
        raise ValueError("rank 1 fails")

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (torch.multiprocessing.get_context("spawn").SimpleQueue(),), nprocs=2)
"""


def test_ranks_that_torch_spawns_end_as_they_end(service: Service, tmp_path: Path) -> None:
    """Such a process runs no ``atexit``, and torch catches what it raises."""
    program = tmp_path / "train.py"
    program.write_text(SPAWNING)
    failed = finish(launching.start(python(), str(program)))
    assert b"rank 1 fails" in failed.stderr
    wait_until(lambda: len(service.ends()) == 2, "both end")
    ends = {window["rank"]: window["end"] for window in service.windows if "end" in window}
    assert ends[0]["status"] == "finished"
    assert ends[1]["status"] == "crashed"
    assert ends[1]["exit_reason"].startswith("ValueError: rank 1 fails")
    assert {rank: end.get("exit_code") for rank, end in ends.items()} in ({0: 0, 1: 1}, {0: None, 1: None})
    assert {rank: len(service.steps(rank=rank)) > 0 for rank in (0, 1)} == {0: True, 1: True}


def test_a_restarted_rank_is_a_new_incarnation_of_the_same_run(service: Service) -> None:
    for _ in range(2):
        start_rank(0).communicate()
    wait_until(lambda: len(service.ends()) == 2, "both end")
    assert len({window["incarnation"] for window in service.windows}) == 2
    assert len({window["run_id"] for window in service.windows}) == 1


def torchrun(*words: str) -> Done:
    """Two ranks on this host."""
    launch = ["--nproc-per-node", "2", "--monitor-interval", "0.1", *words]
    return end(start("torch.distributed.run", launch, environment()))


FAILING_ONCE = """
import os, underfed
from torch.utils.data import DataLoader
for _ in underfed.watch(DataLoader(range(4)), name="train"):
    if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise ValueError("once")
"""


@pytest.mark.soak
def test_torchruns_ranks_are_one_run_also_after_a_restart(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNDERFED_RUN_ID")
    script = tmp_path / "train.py"
    script.write_text(FAILING_ONCE)
    assert torchrun("--max-restarts", "1", str(script)).returncode == 0
    wait_until(lambda: [end["status"] for end in service.ends()].count("finished") >= 2, "both end well")
    assert len({window["run_id"] for window in service.windows}) == 1
    runs = [window["run"] for window in service.windows if "run" in window]
    starts = {(run["rank"], run["restart_count"], run["launcher"], run["world_size"]) for run in runs}
    assert {each for each in starts if each[1] == 1} == {(0, 1, "torchrun", 2), (1, 1, "torchrun", 2)}
    assert (1, 0, "torchrun", 2) in starts
    assert len({window["incarnation"] for window in service.windows if window["rank"] == 1}) == 2


EXITING = """
import sys, time, underfed
from torch.utils.data import DataLoader
import os
for _ in underfed.watch(DataLoader(range(4)), name="train"):
    pass
if os.environ["RANK"] == "1":
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    sys.exit(4)
time.sleep(100)
"""


@pytest.mark.soak
def test_torchruns_ranks_have_the_status_that_it_saw(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One exits with a code of its own, and torchrun then ends the other. Both are collected by then: of a process that
    is gone before its collector saw it nobody knows how it ended."""
    script, seen = tmp_path / "train.py", tmp_path / "seen"
    script.write_text(EXITING)

    def let_it_end() -> None:
        wait_until(lambda: {window["rank"] for window in service.windows} == {0, 1}, "windows of both ranks arrive")
        seen.touch()

    with ThreadPoolExecutor(1) as waiting:
        letting = waiting.submit(let_it_end)
        failed = torchrun(str(script), str(seen))
        letting.result()
    assert failed.returncode == 1
    assert "exitcode  : 4" in failed.stderr
    wait_until(lambda: len(service.ends()) == 2, "both end")
    ends = {window["rank"]: window["end"] for window in service.windows if "end" in window}
    assert {rank: end["exit_code"] for rank, end in ends.items() if "exit_code" in end} in ({0: -15, 1: 4}, {})
    assert ends[0]["status"] == "crashed"


def origin(rank: int, directory: Path) -> Origin:
    own = os.getpid()
    return Origin("run", rank, 1, own, procfs.start_ticks(own), procfs.boot_id(), procfs.pid_namespace(), "host",
                  wall_clock(), now_ns(), "http://127.0.0.1:9", str(directory), None, None)  # fmt: skip


@pytest.mark.parametrize(("count", "turn"), [(1, 1), (2, 1), (5, 3), (12, 4)])
def test_many_ranks_take_turns_with_their_windows(
    count: int, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(ranks, "TICK_S", 0.0)
    monkeypatch.setattr(RankStream, "close_window", lambda self, *_: closed.append(self.name))
    for rank in range(count):
        directory = run_files.rank_directory(tmp_path / "run", rank, 1)
        directory.mkdir(parents=True)
        write_facts(directory / run_files.RUN, origin(rank, tmp_path))
    (tmp_path / "spool").mkdir()
    spool = Spool(tmp_path / "spool", fallback=tmp_path / "fallback")
    together = ranks.RankStreams(tmp_path / "run", spool, HostAndGpus(open_gpus))
    for _ in range(turn):
        before = len(closed)
        together.tick()
        assert len(closed) - before <= -(-count // turn)
    assert turn == ranks.ticks_between_windows(count)
    assert sorted(closed) == sorted(f"{rank}-1" for rank in range(count))
    spool.close()


@pytest.fixture
def of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ranks.RankStreams, Path]]:
    """Ranks of a run with one, which has made 40 steps, and its directory."""
    monkeypatch.setattr(ranks, "TICK_S", 3_600.0)
    monkeypatch.setattr(RankFigures, "take", lambda _: {**figures.nothing(), "steps": 40})
    directory = run_files.rank_directory(tmp_path / "run", 0, 1)
    directory.mkdir(parents=True)
    facts = make_run_facts(read_config({}), Rank(0, 0, None, 1), "watch")
    write_facts(directory / run_files.RUN, origin(0, tmp_path), facts)
    (tmp_path / "spool").mkdir()
    spool = Spool(tmp_path / "spool", fallback=tmp_path / "fallback")
    yield ranks.RankStreams(tmp_path / "run", spool, HostAndGpus(open_gpus)), directory
    spool.close()


def test_what_an_answer_says_of_the_run_is_published_by_the_next_tick(of_one: tuple[ranks.RankStreams, Path]) -> None:
    """No window has to come first: so much and no more is added to how old the answer's verdict is."""
    together, directory = of_one
    together.tick()
    path = str(directory / figures.FILE)
    assert figures.read(path)["not_judged"] == figures.NOT_YET
    together.is_answered = False
    together.tick()
    assert figures.read(path)["not_judged"] == figures.NO_ANSWER
    for fraction in (0.25, 0.75, None):
        known = {"bound": "data", "cause": "no_workers", "max_data_stall_fraction": fraction}
        together.verdict = known if fraction else {}
        together.tick()
        found = figures.read(path)
        assert found["max_data_stall_fraction"] == fraction
        assert found["bound"] == ("data" if fraction else None)


def test_a_run_of_a_tracker_that_ends_waits_for_the_verdict_on_its_last_window(
    of_one: tuple[ranks.RankStreams, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_stream, "AWAITED_S", 3_600.0)
    together, directory = of_one
    wanted, path = directory / run_files.VERDICT_WANTED, str(directory / figures.FILE)
    together.verdict = {"bound": "transfer"}
    together.tick()
    wanted.touch()
    for judged in ({}, {"0-1": -1}, {"1-1": 0}):
        together.judged = judged
        together.tick()
        assert wanted.exists(), "the verdict is an earlier one"
    together.judged, together.verdict = {"0-1": 0}, {"bound": "data"}
    together.tick()
    assert figures.read(path)["bound"] == "data"
    assert not wanted.exists()


def test_a_run_of_a_tracker_that_ends_does_not_wait_for_a_service_that_does_not_answer(
    of_one: tuple[ranks.RankStreams, Path],
) -> None:
    together, directory = of_one
    wanted = directory / run_files.VERDICT_WANTED
    together.verdict, together.is_answered = {"bound": "transfer"}, False
    together.tick()
    wanted.touch()
    together.tick()
    assert not wanted.exists()


IN_STEP = """
import json
import time
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
import underfed

class Numbers(Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        time.sleep(0.03 * dist.get_rank())
        return index

torch.set_num_threads(1)
dist.init_process_group("gloo")
for batch in underfed.watch(DataLoader(Numbers()), name="train"):
    figures = underfed.stats()
    waits = [figures[name] or 0 for name in ("max_data_wait_us", "max_data_wait_p95_us")]
    # A first verdict may be of the steps of one rank alone.
    known = torch.tensor(float(figures["bound"] is not None and min(waits) >= 30_000))
    dist.all_reduce(known, dist.ReduceOp.MIN)
    if known:
        break
print(json.dumps(underfed.stats()))
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.soak
def test_each_rank_knows_the_largest_wait_of_all(run_id: str, tmp_path: Path) -> None:
    """Two that wait for each other in each step, of which rank 1 loads for 30 ms; the service judges them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    served = start_service(tmp_path / "underfed.db")
    jobs = []
    for rank in ("0", "1"):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        named = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "UNDERFED_URL": served.address}
        jobs.append(start("tests.fakes.text", [IN_STEP], environment(**place, **named)))
    done = [end(job) for job in jobs]
    wait_for_collectors(run_id)
    served.kill()
    assert [each.returncode for each in done] == [0, 0], [each.stderr for each in done]
    printed = [json.loads(each.stdout.splitlines()[-1]) for each in done]
    for found in printed:
        assert found["max_data_wait_us"] >= 30_000
        assert found["max_data_wait_p95_us"] >= 30_000
        assert found["max_data_stall_fraction"] > 0
        assert found["max_queue_empty_fraction"] is None, "without workers there is no queue"
