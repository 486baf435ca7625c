"""Ray Train: all ranks of a training are one run. Ray is large, so this is tried where it is installed."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fakes.jobs import run_python

pytest.importorskip("ray.train", exc_type=ImportError)

PROGRAM = """
import json, sys
import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

def train(config):
    import torch, underfed
    from torch.utils.data import DataLoader
    from underfed.trainer import control

    for _ in underfed.watch(DataLoader(torch.arange(64.0), batch_size=4), name="train"):
        pass
    recording = control._state.recording
    facts = {"id": recording.run_id, "rank": recording.facts.rank, "launcher": recording.facts.launcher}
    with open(f"{config['place']}/{recording.facts.pid}.json", "w") as file:
        json.dump(facts, file)

place = sys.argv[1]
ray.init(num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[2])
for number in range(2):
    TorchTrainer(
        train,
        train_loop_config={"place": place},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
        run_config=RunConfig(storage_path=f"{place}/store", name=f"run-{number}"),
    ).fit()
"""


def test_two_trainings_of_two_ranks_are_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERFED_RUN_ID", raising=False)
    path = ":".join(["", *sys.path])
    # Its sockets lie below, and their names may not be long.
    ray = Path(tempfile.mkdtemp(prefix="ray-"))
    done = run_python(
        "-c", f"import sys; sys.path += {path!r}.split(':')\n{PROGRAM}", str(tmp_path), str(ray), PYTHONPATH=path
    )
    shutil.rmtree(ray, ignore_errors=True)
    written = [json.loads(each.read_text()) for each in tmp_path.glob("*.json")]
    assert sorted(each["rank"] for each in written) == [0, 0, 1, 1], done.stderr
    assert {each["launcher"] for each in written} == {"ray"}
    ids = {each["id"] for each in written}
    assert len(ids) == 2
    assert all({each["rank"] for each in written if each["id"] == one} == {0, 1} for one in ids)
