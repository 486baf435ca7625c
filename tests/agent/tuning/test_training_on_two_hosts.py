"""A job that trains on two hosts tunes itself: four processes, two collectors and a service, as in use.

The hosts are two directories each for rings and for data, which is all that processes of one host share.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.serving import application_in, serving, settings_for
from tests.fakes.forkserver import start
from tests.fakes.jobs import end, environment
from tests.fakes.traces import wait_for_collectors
from underfed_server.diagnose import Diagnoser
from underfed_server.terminal.client import Client

PROGRAM = """
import json
import os
import time
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler
import underfed
from underfed.exchange import tuning
from underfed.exchange.launch import first_rank_only
from underfed.trainer import control
from underfed.trainer.tuning import conductor, hosts, ranks
from underfed.trainer.tuning.tuner import TuneOptions, Tuner

for name in ("PATIENCE_NS", "LOOK_NS", "BLOCK_NS"):
    setattr(conductor, name, 0)
ranks.HERE_NS, hosts.FIRST_WAY_NS = 0, 500_000_000

class Numbers(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, index):
        time.sleep(0.005)
        return index

def has_ended(tuner):
    led = tuner.conductor
    if led is None:
        return False
    has_searched = len(led.searches) > 0 and led.kept_from_step is not None
    return has_searched or led.status in (tuning.REFUSED, tuning.FAILED)

dist.init_process_group("gloo")
said = []
tuner = control._state.tuner = Tuner(TuneOptions(most_steps=150), first_rank_only(os.environ, said.append))
sampler = DistributedSampler(Numbers())
loader = underfed.watch(DataLoader(Numbers(), 4, sampler=sampler), name="train", tune=True)
over, same, used = False, True, set()
while not over:
    epoch = sampler.epoch + 1
    sampler.set_epoch(epoch)
    expected, got = list(sampler), []
    for batch in loader:
        used.add(tuner._setting.num_workers)
        got += batch.tolist()
        states = [None] * 4
        dist.all_gather_object(states, (has_ended(tuner), tuner._setting.num_workers))
        # What one has decided the others do some steps later.
        if any(ended for ended, _ in states) and len({workers for _, workers in states}) == 1:
            over = True
            break
    same = same and got == expected[: len(got)]
ends = tuner._setting.num_workers
underfed.finish()
print(json.dumps({"same": same, "used": sorted(used), "ends": ends, "said": said}))
dist.barrier()
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def rings(guest: None) -> Iterator[list[Path]]:
    """Of each host."""
    places = [Path(os.environ["UNDERFED_RINGS"], f"host-{host}") for host in range(2)]
    for place in places:
        place.mkdir(mode=0o700)
    yield places
    for place in places:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.soak(passes=2, of=3)
def test_all_ranks_of_two_hosts_end_with_the_setting_that_one_of_them_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rings: list[Path]
) -> None:
    """The job names itself, by its rendezvous. Every rank gets its samples in the order of its sampler, each once."""
    monkeypatch.delenv("UNDERFED_RUN_ID")
    monkeypatch.setenv("UNDERFED_NAME", f"two-{uuid.uuid4().hex[:6]}")
    rendezvous = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "4"}
    application = application_in(tmp_path)
    with serving(application, settings_for(tmp_path)) as address:
        jobs = []
        for rank in range(4):
            host, local = divmod(rank, 2)
            place = {"RANK": rank, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": host}
            variables = rendezvous | {name: str(number) for name, number in place.items()}
            own = {"UNDERFED_DIR": str(tmp_path / f"host-{host}"), "UNDERFED_RINGS": str(rings[host])}
            named = {"TORCHELASTIC_RUN_ID": "job-7", "UNDERFED_URL": address, "OMP_NUM_THREADS": "1"}
            jobs.append(start("tests.fakes.text", [PROGRAM], environment(**variables, **own, **named)))
        done = [end(job) for job in jobs]
        assert [each.returncode for each in done] == [0] * 4, "".join(each.stderr for each in done)
        client = Client(address, None)
        (run,) = client.runs().runs
        wait_for_collectors(run.run_id)
        Diagnoser()(application.parts.store, run.run_id)
        diagnosis = client.diagnosis(run.run_id)
    ranks = [json.loads(each.stdout.splitlines()[-1]) for each in done]
    assert all(rank["same"] for rank in ranks)
    assert len({rank["ends"] for rank in ranks}) == 1
    assert all(rank["used"][0] == 0 and len(rank["used"]) > 1 for rank in ranks), "all tried another setting"
    tuning = diagnosis.tuning
    assert tuning is not None
    # Which one is faster is the host's, and others use it; all ranks receive the same.
    assert (tuning.rank, tuning.status) in ((0, "kept"), (0, "left_alone")), tuning.reason
    assert tuning.kept is not None
    assert tuning.kept["num_workers"] == ranks[0]["ends"]
    assert [bool(rank["said"]) for rank in ranks] == [True, False, False, False]
