"""Keep the libraries in each worker from starting a thread for every core."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence

ONE = 1
"""As torch itself sets in each worker: to compute more at once there are more workers."""

DIFF = """\
+def limit_threads(worker_id: int) -> None:
+    torch.set_num_threads(1)
+    # Where OpenCV is used: cv2.setNumThreads(0), no threads of its own.
+    # Where Arrow is used: pyarrow.set_cpu_count(1), no other setting reaches its pool.
+    # OpenMP, MKL and OpenBLAS of the other libraries: threadpoolctl.threadpool_limits(1).
+"""


def consider(case: Case) -> Offer | None:
    if not case.num_workers or case.loader.settings.get("threads_per_worker") == ONE:
        return None
    return Offer(
        to=ONE,
        title="Let each worker compute with one thread",
        why="The workers' libraries compute with more threads than there are cores, which wait for each other.",
        risk="None for the data. A library that the diff does not name keeps its threads.",
        diff=DIFF,
        call={"worker_init_fn": "limit_threads"},
        evidence=_evidence(case),
        # The CPU time of a pool is work and waiting at barriers together, and cannot be split.
        gain="how long the threads wait for each other was not seen",
    )


def _evidence(case: Case) -> list[Evidence]:
    workers = case.rank.workers
    threads = [one.threads for one in workers if one.threads is not None]
    cores = [one.cores for one in workers if one.cores is not None]
    return [
        Evidence(what="Threads of all workers", value=sum(threads) if threads else None, unit="count"),
        Evidence(what="Cores that these threads use", value=sum(cores) if cores else None, unit="cores"),
        evidence.usable_cores(case.facts.host),
    ]


CHANGE = Change(
    label="one thread a worker",
    consider=consider,
)
