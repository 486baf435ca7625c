"""Which job of a cluster a run is part of, as SLURM's and Kubernetes' environments say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from underfed.trainer.scheduled import Scheduled, read_scheduled

NOT_THERE = Path("/nowhere/namespace")
NOTHING = Scheduled(None, None, None, None, None)
SBATCH = {"SLURM_JOB_ID": "4711", "SLURM_JOB_PARTITION": "gpu", "SLURM_JOB_NAME": "train"}
POD_TEMPLATE = {"UNDERFED_NAMESPACE": "team-a", "UNDERFED_POD": "llama-node-0-1-x7", "UNDERFED_TRAIN_JOB": "llama",
                "UNDERFED_QUEUE": "research"}  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/root"}, NOTHING),
        (SBATCH, Scheduled("4711", None, None, None, "gpu")),
        ({"SLURM_JOBID": "4711"}, Scheduled("4711", None, None, None, None)),
        (POD_TEMPLATE, Scheduled(None, "team-a", "llama-node-0-1-x7", "llama", "research")),
        # What many charts set already.
        ({"POD_NAMESPACE": "team-a", "POD_NAME": "x"}, Scheduled(None, "team-a", "x", None, None)),
        # Kubernetes sets the variable of a label that a pod does not have, to nothing.
        ({"UNDERFED_QUEUE": "", "UNDERFED_TRAIN_JOB": " "}, NOTHING),
        ({"UNDERFED_QUEUE": "", **SBATCH}, Scheduled("4711", None, None, None, "gpu")),
        # SLURM's bridge to Kubernetes, and the other way round.
        (SBATCH | POD_TEMPLATE, Scheduled("4711", "team-a", "llama-node-0-1-x7", "llama", "research")),
        ({"UNDERFED_POD": "x" * 254, "UNDERFED_QUEUE": "a\nb"}, NOTHING),
    ],
)
def test_each_fact_is_the_first_that_is_set(environ: dict[str, str], expected: Scheduled) -> None:
    assert read_scheduled(environ, NOT_THERE) == expected


def test_a_pod_knows_its_namespace_without_its_template(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    file.write_text("team-b\n")
    inside = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert read_scheduled(inside, file).namespace == "team-b"
    assert read_scheduled(inside | POD_TEMPLATE, file).namespace == "team-a"
    assert read_scheduled({}, file) == NOTHING
    assert read_scheduled(inside, NOT_THERE) == NOTHING
