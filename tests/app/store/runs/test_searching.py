"""Which runs an expression finds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from tests.app.made_windows import LOADER, RUN, made_stream, made_window
from tests.app.search.test_parse import EXAMPLES
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.search.keys import KEYS
from underfed_server.store.store import Store

DEVICE = {"gpu_index": 0, "uuid": "GPU-0", "name": "NVIDIA H100 80GB"}


def workers(count: object, name: str = "train") -> dict[str, Any]:
    return {**LOADER, "loader": name, "settings": {"num_workers": count}}


@pytest.fixture(scope="module")
def three(shared_store: Store) -> Store:
    """``alpha`` is judged and ended eight days ago, ``beta`` was judged and crashed today, ``gamma`` runs unjudged."""
    store, clock = shared_store, WallClock()
    ended, crashed = {"status": "finished"}, {"status": "crashed", "exit_reason": "CUDA out of memory"}
    old = (clock.now - timedelta(days=8)).isoformat()
    sent = {"name": "alpha", "hostname": "node-1", "tags": {"team": "vision", "imagenet": ""}, "world_size": 8}
    sent |= {"slurm_job_id": "4711", "queue": "gpu"}
    sent["trackers"] = [{"tracker": "wandb", "run": "w1x"}]
    loader = workers(4) | {"dataset_type": "ImageFolder"}
    place = {"loader": "train", "mount": "/data", "device": "nas:/imagenet", "kind": "network"}
    post(store, list(made_stream(3, run_id="alpha", run=RUN | sent, started_at=old, loaders=[loader], storage=[place])))
    post(store, [made_window(3, run_id="alpha", started_at=old, end_us=3_600_000_000, end=ended)])
    sent = {"name": "beta", "hostname": "gpu-03", "tags": {"team": "my vision"}, "user": "Grace", "devices": [DEVICE]}
    sent |= {"namespace": "team-a", "pod": "llama-node-0-0-x7", "train_job": "llama"}
    post(store, [made_window(0, run_id="beta", run=RUN | sent, loaders=[workers(0), workers(16, "val")], end=crashed)])
    sent = {"name": "gamma", "project": "speech", "user": "", "hostname": None, "tags": {}}
    post(store, [made_window(0, run_id="gamma", run=RUN | sent, loaders=[workers("auto")])])
    figures = {"hours_lost": 1.5, "data_stall_fraction": 0.55, "causes": [made_cause("storage_wait")]}
    store.save_diagnosis(made_diagnosis("alpha", **figures, ledger=[made_entry("alpha", 1.25)]))
    nothing = {"causes": [], "advice": [made_advice(None)], "bound": "compute", "level": "healthy"}
    store.save_diagnosis(made_diagnosis("beta", **nothing, hours_lost=0.0, data_stall_fraction=0.01))
    store.edit_run("beta", {"notes": "look again"})
    return store


def found(store: Store, q: str) -> str:
    """The first letters of those found."""
    return "".join(sorted(run.run_id[0] for run in listed(store, q=q).runs))


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", "abg"),
        ("project:VIS", "ab"),
        ("project=vis", ""),
        ("project=vision", "ab"),
        ("project!=vision", "g"),
        ("user:grace", "b"),
        ("user=grace", ""),
        ('user=""', "g"),
        ("user!=Grace,ada", "g"),
        ("host:gpu-03", "b"),
        ("host:gpu-03,node-1", "ab"),
        ("-host:gpu-03", "ag"),
        ("host!=gpu-03", "ag"),
        ("name=alpha,gamma", "ag"),
        ("id:et", "b"),
        ("job=vision/resnet", "abg"),
        ("loader:val", "b"),
        ("dataset:folder", "a"),
        ("dataset=ImageFolder", "a"),
        ("-dataset:folder", "bg"),
        ("mount:imagenet", "a"),
        ("mount=nas:/imagenet", "a"),
        ("mount=/data", "a"),
        ("mount!=/data", "bg"),
        ("tracker:WandB", "a"),
        ("tracker:w1", "a"),
        ("tracker=w1", ""),
        ("tracker=w1x", "a"),
        ("tracker!=w1x", "bg"),
        ("slurm=4711", "a"),
        ("slurm=471", ""),
        ("slurm:471", "a"),
        ("-slurm:4711", "bg"),
        ("4711", "a"),
        ("queue:gpu", "a"),
        ("namespace=team-a", "b"),
        ("pod:node-0", "b"),
        ("pod!=llama-node-0-0-x7", "ag"),
        ("train_job=llama", "b"),
        ("llama", "b"),
        ("gpu:h100", "b"),
        ("-gpu:h100", "ag"),
        ("notes:again", "b"),
        ('notes:"%"', ""),
        ("notes:ag_in", ""),
        ('reason:"out of memory"', "b"),
        ("reason!=x", "abg"),
        ("tag:team", "ab"),
        ("tag:imagenet", "a"),
        ("tag:team=vision", "a"),
        ('tag:"team=my vision"', "b"),
        ("tag!=team", "g"),
        ("-tag:team", "g"),
        ("status:running", "g"),
        ("status:running,crashed", "bg"),
        ("status!=running", "ab"),
        ("bound:data", "a"),
        ("bound!=data", "bg"),
        ("level:healthy,unknown", "bg"),
        ("cause:storage_wait", "a"),
        ("cause:none", "bg"),
        ("cause!=none", "a"),
        ("cause!=storage_wait", "bg"),
        ("num_workers<8", "ab"),
        ("num_workers:0", "b"),
        ("num_workers:0,4", "ab"),
        ("num_workers!=0", "a"),
        ("num_workers>1000000000000", ""),
        ("-num_workers<8", "g"),
        ("step>=60", "a"),
        ("step=0", "bg"),
        ("ranks>1", "a"),
        ("ranks<1.5", "bg"),
        ("stall>20%", "a"),
        ("stall<20%", "b"),
        ("stall=55%", "a"),
        ("-stall>20%", "bg"),
        ("step_us>=100ms", "ab"),
        ("step_us>100ms", ""),
        ("steps_per_s>0 samples_per_s>0", "ab"),
        ("hours_lost>1h", "a"),
        ("hours_lost=0", "b"),
        ("gain>1", "a"),
        ("gained>1.2", "a"),
        ("-gained>1.2", "bg"),
        ("started>7d", "a"),
        ("started<7d", "bg"),
        ("started<=1d", "bg"),
        ("started:2026-11-20", "bg"),
        ("started!=2026-11-20", "a"),
        ("started<2026-11-20", "a"),
        ("started>2026-11-12", "bg"),
        ("started>=2026-11-12", "abg"),
        ("ended>7d", "a"),
        ("-ended>7d", "bg"),
        ("seen<1min", "abg"),
        ("seen>300000w", ""),
        ("is:archived", ""),
        ("alpha", "a"),
        ("-alpha", "bg"),
        ("my", "b"),
        ("slow storage", "a"),
        ("-slow", "bg"),
        ('"Slow storage"', "a"),
        ("torage", ""),
        ("team=my", "b"),
        ("num_workers<8 host:node-1 tag:imagenet bound:data", "a"),
        ("bound:data,compute -cause:storage_wait", "b"),
    ],
)
def test_an_expression_finds_the_runs_of_which_all_terms_hold(three: Store, q: str, expected: str) -> None:
    assert found(three, q) == expected


def test_the_documents_examples_are_answered(three: Store) -> None:
    for example in EXAMPLES:
        assert listed(three, q=example).counts.all <= 3


def test_every_key_is_understood_by_the_database(three: Store) -> None:
    values = {"instant": "2026-11-20", "choice": None, "flag": "archived"}
    for key in KEYS.values():
        value = values.get(key.kind, "1") or key.choices[0]
        assert (
            listed(three, q=f"{key.name}:{value}").counts.all + listed(three, q=f"-{key.name}:{value}").counts.all == 3
        )


def test_counts_are_of_what_was_found(three: Store) -> None:
    counts = listed(three, q="project:vision", status="crashed").counts
    assert (counts.all, counts.finished, counts.crashed, counts.running) == (2, 1, 1, 0)


def test_an_expression_does_not_open_another_project(three: Store) -> None:
    page = listed(three, q="project:vision,speech", within=frozenset(("speech",)))
    assert ([run.run_id for run in page.runs], page.counts.all, page.week.hours_used) == (["gamma"], 1, 0)
