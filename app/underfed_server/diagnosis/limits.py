"""Every threshold of the verdict, with its reason and source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Fractions are of step time unless the name says otherwise."""

    warmup_steps: int = 5
    """First steps of a run, kept but not judged: lazy imports in the workers, allocator and kernel warm-up.
    MLPerf Storage leaves out the first; with workers a handful start cold (first batch 35–200 ms late, own study)."""

    needed_steps: int = 20
    """CONTRACT: a verdict needs at least 20 judged steps."""

    judged_steps: int = 2_000
    """The newest steps that a verdict looks at: minutes to an hour of training, so that it follows a change."""

    watch_fraction: float = 0.05
    """XProf calls a run input-bound from 5 % of step time."""

    limited_fraction: float = 0.10
    """TraceML warns of an input-bound run from 10 %; from here on the run is called data-bound."""

    bound_fraction: float = 0.20
    """XProf calls a run highly input-bound, and TraceML critical, from 20 % of step time."""

    busy_workers_fraction: float = 0.85
    """Workers that load this share of the time have no slack: bursts already make the loop wait."""

    busy_pin_fraction: float = 0.85
    """The same of the thread that pins batches: those that it has not begun then wait as well."""

    saturated_cores_fraction: float = 0.90
    """Share of the usable cores in use at which another process no longer finds a free one. 100 % is never read:
    the scheduler migrates, and samples are averages over a second (SageMaker's rule uses 90 % too)."""

    shared_cores_fraction: float = 0.10
    """Share of the usable cores from which loading is told to take them from training: the training can gain no more
    than that by cheaper loading."""

    runqueue_fraction: float = 0.15
    """Share of load time that workers were ready and no CPU was free. Below it, queueing is ordinary jitter of
    two processes per core; own study: 0–5 % with free cores, 30–50 % with twice as many workers as cores."""

    blocked_fraction: float = 0.50
    """Share of load time spent blocked from which waiting, not computing, is the main part of a load."""

    storage_read_fraction: float = 0.10
    """Of the bytes asked for, the share that really reached storage. Below it the page cache serves the reads."""

    storage_fraction: float = 0.25
    """Share of load time blocked on reads that reach storage from which storage is a cause: with less, decoding is what
    even an instant disk would leave."""

    pressure_margin: float = 2.0
    """Being blocked for so many times as long as any task of the host waited for I/O (PSI) is waiting for something
    else. Not for less: samples come once a second, and a rank's share of a short span is known no better."""

    cached_batches: int = 8
    """So many batches that the page cache served, and at least a tenth of all, tell what loading takes without storage:
    the median of eight is a batch like any other, whatever two of them did."""

    cold_epoch_factor: float = 3.0
    """A first epoch whose loads are blocked so many times longer than later ones filled the page cache: shuffling moves
    an epoch's mean by far less, and memory is faster than any disk by far more."""

    collate_fraction: float = 0.40
    """Share of load time from which joining samples is the main part of a load, the rest being spread over reading,
    decoding and transforming: with less, making it instant does not even gain a factor of 1.7."""

    handover_us: float = 1_000.0
    """What a batch costs at least to come from a worker: loads that are shorter are not worth one. Own study: receiving
    a ready batch takes 1.5–6 ms on a busy machine, 0.45 ms of it for each tensor."""

    delivery_fraction: float = 0.05
    """Share of step time from which handing over finished batches is worth a line: the first of the bands above."""

    many_tensors: int = 8
    """From here on the handshakes of a batch are most of its hand-over (own study: 0.45 ms a tensor; receiving a batch
    of two takes 1.5 ms and more)."""

    large_batch_bytes: int = 10_000_000
    """A batch of which unmapping alone takes 2 ms in the training process, and copying it into shared memory 6–8 ms in
    the worker (own study: 0.19 ms and 0.6–0.8 ms for a megabyte)."""

    tail_factor: float = 2.0
    """The 95th percentile of loads against their median from which load times have a heavy tail (loadtune and pytscope
    call a ratio of 1.5 jitter, which two workers on a core already show)."""

    tail_share: float = 0.25
    """Share of all load time in the slowest 5 % from which a tail is heavy also where fewer than 5 % are slow; of equal
    loads it is 5 %."""

    own_worker_threads: int = 3
    """Threads that a worker of torch has by itself: its loop, its queue's feeder, the sharer of file descriptors."""

    helper_cpu_fraction: float = 0.30
    """CPU of a worker's other threads, of all its CPU, from which a thread pool computes: two threads share the work at
    0.5, and handing over a batch of two tensors takes a millisecond."""

    repeated_fraction: float = 0.50
    """Of the compared batches, the share that another worker gave too. Workers that share the data out repeat none, and
    such that do not repeat all; random augmentation hides some."""

    throttled_fraction: float = 0.10
    """Share of time that the control group was stopped at its CPU quota, from which the quota is full though its use,
    averaged over a second, is below it."""

    host_idle_fraction: float = 0.20
    """Share of time that the device idles with its input ready, from which the program around it is the limit. Gaps
    between kernels take some per cent, and NVML averages over 1/6 to 1 s."""

    lockstep_fraction: float = 0.03
    """Ranks whose mean steps differ by no more go in step: those that synchronise gradients cannot drift apart,
    independent ones agree only by chance."""

    straggler_fraction: float = 0.10
    """Share of step time that a rank waits longer than the median rank. TraceML warns of a straggler from 10 %."""

    hiccup_fraction: float = 0.001
    """Of the steps, so many (at least one) may have waited long without that being the loader's way: a network that
    hung, a page cache that was dropped."""

    keep_factor: float = 0.8
    """A running run keeps its verdict until the loss is below this share of the limit that it had to reach: the mean
    wait of 50 steps is known to ±10 %."""

    clearly_larger_factor: float = 1.25
    """Another cause takes the lead of a running run when it costs so many times as much."""

    near_full_fraction: float = 0.10
    """Of memory, its limit or /dev/shm left, below which a longer queue or larger samples fill it."""

    forecast_hours: float = 24.0
    """A shortage is told a day ahead: before the night in which it comes."""

    memory_stall_fraction: float = 0.05
    """Share of time in which some task waited for memory (PSI) from which memory is short now; where there is enough it
    is 0."""

    minor_cost_fraction: float = 0.02
    """A cause that costs less than this is not worth a line."""

    high_confidence_steps: int = 200
    medium_confidence_steps: int = 50
    """The mean wait of 200 steps is known to about ±5 % at a spread of 70 % between steps; of 50, to ±10 %."""

    cheapest_within_fraction: float = 0.02
    """Of all settings within 2 % of the best speed the cheapest is advised (loadtune's rule)."""

    worthwhile_speedup: float = 1.05
    """A change is advised from 5 %: repeating a measurement moves it by about that much (own study, 4.8 %)."""


LIMITS = Limits()
