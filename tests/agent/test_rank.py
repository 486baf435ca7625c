"""Ranks and run ids: as the launcher says, and the same for all ranks of one launch, and for no others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.forkserver import python, start
from tests.fakes.jobs import end, environment
from underfed.exchange.rank import Rank, make_run_id, read_rank, slug

TORCHRUN = {"RANK": "5", "LOCAL_RANK": "1", "GROUP_RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4",
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "2"}  # fmt: skip
STEP = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NODEID": "1",
        "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "16", "SLURM_STEP_NUM_NODES": "2"}  # fmt: skip
ONE_TASK = {**STEP, "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_NODE_RANK": "3"}  # fmt: skip
INTEL_MPI = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}
LIGHTNING = {"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}


def rank_5(launcher: str, node_rank: int | None = None, restart_count: int | None = None) -> Rank:
    return Rank(5, 1, node_rank, 8, launcher, restart_count)


LAUNCHED: dict[str, tuple[dict[str, str], Rank]] = {
    "nobody": ({}, Rank(rank=0, local_rank=0, node_rank=None, world_size=1)),
    "torchrun": (TORCHRUN, rank_5("torchrun", 1, 2)),
    "torchrun, the first of a later host": (
        {**TORCHRUN, "RANK": "4", "LOCAL_RANK": "0"},
        Rank(4, 0, 1, 8, "torchrun", 2),
    ),
    "an operator or DeepSpeed": ({"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, rank_5("torch.distributed")),
    "Lightning": (LIGHTNING, Rank(1, 1, 0, 2, "torch.distributed")),
    "a SLURM step": (STEP, rank_5("slurm", 1)),
    "a requeued SLURM step": ({**STEP, "SLURM_RESTART_COUNT": "1"}, rank_5("slurm", 1, 1)),
    "a SLURM step with PMI": ({**STEP, "PMI_RANK": "5", "PMI_SIZE": "8"}, rank_5("slurm", 1)),
    "a script that copies": ({**STEP, "RANK": "5", "WORLD_SIZE": "8"}, rank_5("slurm", 1)),
    "torchrun, one a node, in a SLURM step": (
        {**TORCHRUN, **STEP, "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
        rank_5("torchrun", 1, 2),
    ),
    "Open MPI": (OPEN_MPI, rank_5("mpi")),
    "Open MPI, whose daemons SLURM started": (
        {**OPEN_MPI, **STEP, "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
        rank_5("mpi"),
    ),
    "Intel MPI": (INTEL_MPI, rank_5("mpi")),
    "Intel MPI, whose proxies SLURM started": (
        {**INTEL_MPI, **STEP, "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
        rank_5("mpi"),
    ),
}


@pytest.mark.parametrize(("environ", "expected"), LAUNCHED.values(), ids=LAUNCHED)
def test_every_launcher_is_understood(environ: dict[str, str], expected: Rank) -> None:
    assert read_rank(environ) == expected


@pytest.mark.parametrize(
    "environ",
    [
        {"RANK": "first", "WORLD_SIZE": "2"},
        {"RANK": "2", "WORLD_SIZE": "2"},
        {"RANK": "0"},
        {"WORLD_SIZE": "4"},
        {**TORCHRUN, "LOCAL_RANK": "4"},
        {**TORCHRUN, "LOCAL_WORLD_SIZE": "9"},
        {**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "5"},
        {**LIGHTNING, "NODE_RANK": "1"},
    ],
)
def test_variables_that_do_not_fit_together_are_someone_elses(environ: dict[str, str]) -> None:
    assert read_rank(environ) == Rank()


def test_a_contradiction_leaves_what_others_say() -> None:
    assert read_rank({**STEP, "RANK": "9", "WORLD_SIZE": "8"}) == rank_5("slurm", 1)


@pytest.mark.parametrize(
    "environ",
    [
        {**STEP, "SLURM_STEP_ID": "4294967291"},  # the batch script
        {**STEP, "SLURM_STEP_ID": "4294967290"},  # the shell of salloc
        {**STEP, "SLURM_STEP_ID": str(0xFFFFFFF0)},  # the first of the numbers that are no step's
        {**STEP, "SLURM_PTY_PORT": "40123"},  # srun --pty bash
        {name: value for name, value in STEP.items() if name != "SLURM_STEP_ID"},
    ],
)
def test_a_batch_script_and_an_interactive_shell_are_no_ranks(environ: dict[str, str]) -> None:
    assert read_rank(environ) == Rank()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", "train"),
        ("ResNet 50 (try 2)", "ResNet-50-try-2"),
        ("日本", "run"),
        ("a" * 90, "a" * 40),
        ("../x", "x"),
    ],
)
def test_a_slug_keeps_what_an_identifier_may_hold(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_run_id_is_readable_and_new_each_time() -> None:
    first, second = (make_run_id("train", read_rank({})) for _ in range(2))
    assert re.fullmatch(r"train-[0-9a-f]{8}", first)
    assert first != second


ACROSS_HOSTS: dict[str, dict[str, str]] = {
    "torchrun": {**TORCHRUN, "TORCHELASTIC_RUN_ID": "resnet-try-3", "MASTER_ADDR": "node-1"},
    "a SLURM step": STEP,
    "Open MPI": {**OPEN_MPI, "OMPI_MCA_ess_base_jobid": "2374500353"},
    "Open MPI 5": {**OPEN_MPI, "PMIX_NAMESPACE": "prterun-node-1-4711@1"},
    "Intel MPI under PBS": {**INTEL_MPI, "PBS_JOBID": "77.head"},
    "Intel MPI under LSF": {**INTEL_MPI, "LSB_JOBID": "77"},
    "Kubernetes": {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "resnet-master-0", "MASTER_PORT": "23456",
                   "KUBERNETES_SERVICE_HOST": "10.0.0.1"},
}  # fmt: skip


def on_the_first_host(environ: dict[str, str]) -> dict[str, str]:
    """Of a rank there."""
    elsewhere = {"RANK", "LOCAL_RANK", "GROUP_RANK", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"}
    elsewhere |= {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "MPI_LOCALRANKID"}
    return {name: "0" if name in elsewhere else value for name, value in environ.items()}


def from_another_launcher(environ: dict[str, str]) -> str:
    """The run id, asked for by a process that has another parent than ours: as on another host."""
    program = "import os; from underfed.exchange.rank import *; print(make_run_id('train', read_rank(os.environ)))"
    launcher = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    ran = subprocess.run([sys.executable, "-c", launcher], env=environment(**environ), stdout=-1, text=True, check=True)
    return ran.stdout.strip()


@pytest.mark.parametrize("environ", ACROSS_HOSTS.values(), ids=ACROSS_HOSTS)
def test_ranks_on_several_hosts_agree_by_what_their_job_is_called(environ: dict[str, str]) -> None:
    rank = read_rank(environ)
    assert rank.why_apart is None
    assert make_run_id("train", rank) == from_another_launcher(on_the_first_host(environ))


@pytest.mark.parametrize(
    ("of", "name", "value"),
    [
        ("torchrun", "TORCHELASTIC_RUN_ID", "resnet-try-4"),
        ("torchrun", "MASTER_ADDR", "node-7"),
        ("torchrun", "SLURM_JOB_ID", "78"),
        ("a SLURM step", "SLURM_JOB_ID", "78"),
        ("a SLURM step", "SLURM_STEP_ID", "1"),
        ("a SLURM step", "SLURM_RESTART_COUNT", "1"),
        ("Open MPI", "OMPI_MCA_ess_base_jobid", "2374500354"),
        ("Open MPI 5", "PMIX_NAMESPACE", "prterun-node-1-4712@1"),
        ("Intel MPI under PBS", "PBS_JOBID", "78.head"),
        ("Kubernetes", "MASTER_ADDR", "resnet-2-master-0"),
    ],
)
def test_another_job_is_another_run(of: str, name: str, value: str) -> None:
    environ = ACROSS_HOSTS[of]
    assert read_rank(environ).identity != read_rank({**environ, name: value}).identity


def test_an_elastic_restart_is_the_same_run() -> None:
    environ = ACROSS_HOSTS["torchrun"]
    restarted = {**environ, "TORCHELASTIC_RESTART_COUNT": "3", "MASTER_PORT": "40001", "RANK": "4", "LOCAL_RANK": "0"}
    assert read_rank(environ).identity == read_rank(restarted).identity


@pytest.mark.parametrize(
    "environ", [TORCHRUN, OPEN_MPI, INTEL_MPI, {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "10.1.2.3"}]
)
def test_where_nothing_names_the_job_each_host_is_a_run_of_its_own_with_a_reason(environ: dict[str, str]) -> None:
    rank = read_rank(environ)
    assert "UNDERFED_RUN_ID" in (rank.why_apart or "")
    assert make_run_id("train", rank) != from_another_launcher(on_the_first_host(environ))


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", os.uname().nodename])
def test_ranks_on_one_host_need_no_reason(address: str) -> None:
    assert read_rank({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": address}).why_apart is None
    assert read_rank({**TORCHRUN, "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8", "GROUP_RANK": "0"}).why_apart is None


PRINTING = """
import json, os
from underfed.exchange.rank import make_run_id, read_rank
found = read_rank(os.environ)
line = json.dumps({"id": make_run_id("train", found), "rank": found.rank, "local_rank": found.local_rank,
                   "world_size": found.world_size, "launcher": found.launcher, "restarts": found.restart_count})
os.write(1, (line + "\\n").encode())
"""
"""One write, so that lines of several ranks do not mix."""


def printed_by(*command: str, **variables: str) -> list[dict[str, Any]]:
    """What the ranks printed, in their order."""
    ran = subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=300, check=False
    )
    return printed_in(ran.stdout, ran.stderr)


def printed_by_torchrun(*words: str) -> list[dict[str, Any]]:
    ran = end(start("torch.distributed.run", ["--nproc-per-node", "2", *words], environment()))
    return printed_in(ran.stdout, ran.stderr)


def printed_in(output: str, errors: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert lines, errors
    return sorted(lines, key=lambda line: (line["restarts"] or 0, line["world_size"], line["rank"]))


def script(directory: Path, text: str) -> str:
    path = directory / "train.py"
    path.write_text(text)
    return str(path)


def test_ranks_of_torchrun_agree_also_after_a_restart(tmp_path: Path) -> None:
    failing = f"{PRINTING}\nif found.rank == 1 and not found.restart_count: raise SystemExit(3)"
    printed = printed_by_torchrun("--max-restarts", "1", "--monitor-interval", "0.1", script(tmp_path, failing))
    of_restarted = [line for line in printed if line["restarts"] == 1]
    assert [(line["rank"], line["local_rank"], line["world_size"]) for line in of_restarted] == [(0, 0, 2), (1, 1, 2)]
    assert {line["launcher"] for line in printed} == {"torchrun"}
    assert len({line["id"] for line in printed}) == 1
    (again, *_) = printed_by_torchrun(script(tmp_path, PRINTING))
    assert again["id"] != printed[0]["id"]


def test_a_shell_between_a_launcher_and_its_rank_launches_nothing(tmp_path: Path) -> None:
    path = script(tmp_path, PRINTING)
    ranks = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 sh -c '$PYTHON $SCRIPT; true' & done; wait"
    printed = printed_by("sh", "-c", ranks, PYTHON=sys.executable, SCRIPT=path)
    assert [line["rank"] for line in printed] == [0, 1]
    assert printed[0]["id"] == printed[1]["id"]


def test_a_rank_0_that_starts_the_others_is_in_the_run_it_began_alone(tmp_path: Path) -> None:
    """As Lightning does it, and a program may record before that."""
    starting = f"""{PRINTING}
import subprocess, sys
if "LOCAL_RANK" not in os.environ:
    os.environ.update(MASTER_ADDR="127.0.0.1", NODE_RANK="0", LOCAL_RANK="0", WORLD_SIZE="2")
    subprocess.run([sys.executable, __file__], env={{**os.environ, "LOCAL_RANK": "1"}})
    print(json.dumps({{**json.loads(line), "id": make_run_id("train", read_rank(os.environ)), "rank": 0.5}}))
"""
    printed = printed_by(sys.executable, script(tmp_path, starting))
    assert [line["rank"] for line in printed] == [0, 0.5, 1]
    assert len({line["id"] for line in printed}) == 1


WORKER = f"""
import os, sys
rank, port, size = sys.argv[1:]
os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=size, LOCAL_WORLD_SIZE=size, NODE_RANK="0",
                  MASTER_ADDR="10.0.0.1", MASTER_PORT=port)
{PRINTING}"""

STARTING_WORKERS = """
import subprocess, sys
ports = sys.argv[2].split(",")
for port in ports:
    workers = [subprocess.Popen([sys.executable, sys.argv[1], str(rank), port, "3"]) for rank in range(3)]
    for worker in workers:
        worker.wait()
"""


@pytest.mark.parametrize("variables", [{"RAY_JOB_ID": "01000000"}, {}])
def test_ranks_that_were_set_within_a_process_started_for_any_task_are_one_run(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    """As Ray Train does it: its processes start without a rank, and are given one, and where to meet, when a training
    begins. Another training of the same job meets elsewhere."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    printed = printed_by(sys.executable, script(tmp_path, STARTING_WORKERS), str(worker), "4001,4002", **variables)
    assert [line["rank"] for line in printed] == [0, 0, 1, 1, 2, 2]
    assert {line["launcher"] for line in printed} == {"ray" if variables else "torch.distributed"}
    ids = {line["id"] for line in printed}
    assert len(ids) == 2
    assert all(sum(line["id"] == each for line in printed) == 3 for each in ids)


def test_ranks_of_ray_on_several_hosts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"RAY_JOB_ID": "02000000", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1",
                 "MASTER_PORT": "4001", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"}  # fmt: skip
    ranks = [
        read_rank({**variables, "RANK": str(rank), "LOCAL_RANK": str(rank % 2), "NODE_RANK": str(rank // 2),
                   "SLURM_STEP_ID": str(rank // 2)}) for rank in range(4)
    ]  # fmt: skip
    assert {rank.launcher for rank in ranks} == {"ray"}
    assert len({make_run_id("train", rank) for rank in ranks}) == 1
    other = read_rank({**variables, "MASTER_PORT": "4002", "RANK": "0", "LOCAL_RANK": "0", "NODE_RANK": "0"})
    assert make_run_id("train", other) != make_run_id("train", ranks[0])
    assert all(rank.why_apart is None for rank in ranks)


def test_a_child_of_a_rank_is_not_that_rank(tmp_path: Path) -> None:
    parting = f"{PRINTING}\nimport multiprocessing\n"
    parting += f"child = multiprocessing.get_context('fork').Process(target=exec, args=({PRINTING!r}, {{}}))\n"
    printed = printed_by(
        sys.executable, script(tmp_path, f"{parting}child.start()\nchild.join()"), RANK="1", WORLD_SIZE="2"
    )
    assert [(line["rank"], line["world_size"], line["launcher"]) for line in printed] == [
        (0, 1, None),
        (1, 2, "torch.distributed"),
    ]
    assert printed[0]["id"] != printed[1]["id"]


JOINING = f"""
import os, sys, torch.distributed, torch.multiprocessing

def train(rank, directory):
    exec({PRINTING!r})
    torch.distributed.init_process_group("gloo", f"file://{{directory}}/store", rank=int(rank), world_size=2)
    exec({PRINTING!r})
    torch.distributed.barrier()

if __name__ == "__main__":
    if sys.argv[2] in ("spawn", "fork"):
        exec({PRINTING!r})
        torch.multiprocessing.start_processes(train, (sys.argv[1],), nprocs=2, start_method=sys.argv[2])
    else:
        train(sys.argv[2], sys.argv[1])
"""


@pytest.mark.parametrize(
    ("start_method", "inherited"), [pytest.param("spawn", {}, marks=pytest.mark.soak), ("fork", ONE_TASK)]
)
def test_ranks_that_torch_spawns_are_known_from_torch_once_they_joined(
    tmp_path: Path, start_method: str, inherited: dict[str, str]
) -> None:
    printed = printed_by(python(), script(tmp_path, JOINING), str(tmp_path), start_method, **inherited)
    joined = [line for line in printed if line["world_size"] == 2]
    assert [line["rank"] for line in joined] == [0, 1]
    assert {line["launcher"] for line in joined} == {"torch.distributed"}
    assert len({line["id"] for line in joined}) == 1
    # Before, each was a run of its own, like their parent, whose variables are not theirs.
    assert len(printed) == 5
    assert len({line["id"] for line in printed}) == 4


def test_ranks_that_a_task_starts_by_hand_are_known_from_torch(tmp_path: Path) -> None:
    ranks = "for rank in 0 1; do $PYTHON $SCRIPT $STORE $rank & done; wait"
    path = script(tmp_path, JOINING)
    printed = printed_by("sh", "-c", ranks, PYTHON=python(), SCRIPT=path, STORE=str(tmp_path), **ONE_TASK)
    assert [(line["rank"], line["launcher"]) for line in printed] == [
        (0, "slurm"),
        (0, "slurm"),
        (0, "torch.distributed"),
        (1, "torch.distributed"),
    ]
    assert len({line["id"] for line in printed[2:]}) == 1
    assert len({line["id"] for line in printed}) == 3
