"""``threads_per_worker``: libraries that start a thread for each core do so in each worker; one is enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.diff import call
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if not case.num_workers or case.found("thread_oversubscription") is None:
        return []
    threads = threads_for(case)
    if case.loader.settings.get("threads_per_worker") == threads:
        return []
    return offer_simulated(case, replace(case.recorded, threads_per_worker=threads), _offer(case, threads))


def threads_for(case: Case) -> int:
    """As many as there are cores for."""
    usable = (case.facts.host.usable_cores or 1.0) / case.ranks_on_host
    return max(1, math.floor(usable / case.num_workers))


def _offer(case: Case, threads: int) -> Offer:
    return Offer(
        change="threads_per_worker",
        to=threads,
        title=f"Let each worker use {threads} {'thread' if threads == 1 else 'threads'}",
        why="The workers' libraries compute with more threads than there are cores: they wait for each other.",
        risk="None for what is loaded. A library that is not named in the diff keeps its threads.",
        diff=_diff(case, threads),
        evidence=_evidence(case),
        settings={"threads_per_worker": threads},
    )


def _diff(case: Case, threads: int) -> str:
    in_opencv = 0 if threads == 1 else threads
    function = [
        "+def limit_threads(worker_id: int) -> None:",
        f"+    torch.set_num_threads({threads})",
        f"+    cv2.setNumThreads({in_opencv})  # where OpenCV is used; 0: no threads of its own",
        f"+    threadpoolctl.threadpool_limits({threads})  # OpenMP, MKL and OpenBLAS of the other libraries",
        " ",
    ]
    return "\n".join([*function, call(case.loader, ["+worker_init_fn=limit_threads,"])])


def _evidence(case: Case) -> list[Evidence]:
    workers = case.rank.workers
    threads = [one.threads for one in workers if one.threads is not None]
    cores = [one.cores for one in workers if one.cores is not None]
    return [
        Evidence(what="Threads of all workers", value=sum(threads) if threads else None, unit="count"),
        Evidence(what="Cores that they use", value=sum(cores) if cores else None, unit="cores"),
        Evidence(what="Cores this run may use", value=case.facts.host.usable_cores, unit="cores"),
    ]
