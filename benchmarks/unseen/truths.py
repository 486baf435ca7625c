"""Training jobs that the rules were not written for, and what an expert says of each who does not know the rules.

Each truth is about its job as it runs on two cores without a GPU, and says only what can be seen from the code or
measured by running the job again. Half of the jobs, chosen by lot before any of them was diagnosed, are held out:
nothing may be tuned on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["yes", "partly", "no"]
Role = Literal["train", "validation", "other", "none"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the job. ``arguments``, where there are some, carry it out, so that what it gains can be measured."""

    name: str
    """As the API calls such a change; ``code`` where it has no name there."""
    words: str
    arguments: tuple[str, ...] = ()
    direction: Literal["any", "more", "fewer"] = "any"
    """Of a number: which way. More workers can be wrong where fewer are not."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What an expert says of one job."""

    bound: Bound
    """Whether training waits for data: ``no`` below a tenth of the time, ``partly`` where judgements may differ."""
    role: Role
    """Which loader is the problem."""
    dataset: str | None
    """The class of that loader's data set, by which it is recognised."""
    cause: str
    helps: tuple[Change, ...] = ()
    """Each gains a tenth or more. The first with arguments is the one that is measured by default."""
    never: tuple[Change, ...] = ()
    """Would gain nothing, or would break the job."""
    leave_alone: bool = False
    """Whatever is advised, other than what ``helps``, is wrong."""

    @property
    def change(self) -> tuple[str, ...]:
        """Arguments of the change that is measured; none where nothing is to be changed."""
        return next((change.arguments for change in self.helps if change.arguments), ())


@dataclass(frozen=True, slots=True)
class Unseen:
    """One job: a program of this package with the arguments that make it this job."""

    name: str
    program: str
    what: str
    truth: Truth
    arguments: tuple[str, ...] = ()
    ranks: int = 1
    held_out: bool = False


def workers(count: int, words: str = "more workers: what takes time is waiting, or a core that is free") -> Change:
    return Change("num_workers", words, ("--num-workers", str(count)), "more")


def no_workers(why: str) -> Change:
    return Change("num_workers", why, direction="more")


NO_TMPFS = Change("tmpfs", "no file is read from a disk here")
VECTORIZED = Change("vectorize_getitem", "the data set takes whole batches already")

UNSEEN: tuple[Unseen, ...] = (
    Unseen(
        "paired_loaders",
        "paired_loaders",
        "two loaders zipped: the labelled one has workers and keeps up, the unlabelled one has none",
        Truth(
            "yes",
            "train",
            "UnlabelledFiles",
            "the unlabelled loader has no workers and waits for each file; the labelled one is healthy",
            helps=(
                Change("num_workers", "workers for the unlabelled loader", ("--unlabelled-workers", "2"), "more"),
                Change("num_workers", "four of them", ("--unlabelled-workers", "4"), "more"),
            ),
            never=(Change("code", "more workers for the labelled loader", ("--num-workers", "4")),),
        ),
        held_out=True,
    ),
    Unseen(
        "slow_validation",
        "slow_validation",
        "training keeps up; validation without workers takes about two fifths of the time; a check goes first",
        Truth(
            "partly",
            "validation",
            "FullPictures",
            "the validation loader decodes pictures in the main process",
            helps=(
                Change("num_workers", "workers for validation", ("--validation-workers", "2"), "more"),
                Change("num_workers", "one of them", ("--validation-workers", "1"), "more"),
            ),
            never=(
                Change("prefetch_factor", "the training loader keeps up"),
                Change("code", "more workers for training", ("--num-workers", "4")),
            ),
        ),
    ),
    Unseen(
        "heavy_tail",
        "heavy_tail",
        "eight workers, and one sample of a hundred takes fifty times as long",
        Truth(
            "yes",
            "train",
            "ObjectStore",
            "slow samples hold up the batches behind them; on average the workers are fast enough",
            helps=(
                Change("in_order", "hand out batches as they are ready", ("--any-order",)),
                Change("prefetch_factor", "more batches ahead", ("--prefetch-factor", "8"), "more"),
                workers(16),
            ),
            never=(
                VECTORIZED,
                Change("cpu_allocation", "no core is busy"),
                Change("num_workers", "fewer workers", ("--num-workers", "2"), "fewer"),
            ),
        ),
    ),
    Unseen(
        "shared_storage",
        "shared_storage",
        "eight workers on storage that gives 40 MB/s to all its readers together",
        Truth(
            "yes",
            "train",
            "Spectra",
            "the storage is at its limit: workers wait for it in turn",
            helps=(
                Change("tmpfs", "a copy on this host, where it fits", ("--local-copy",)),
                Change("code", "store half the bytes", ("--stored", "float16")),
            ),
            never=(
                Change("num_workers", "the limit is the storage's", ("--num-workers", "16"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                Change("in_order", "every batch is equally slow", ()),
                Change("cpu_allocation", "no core is busy"),
            ),
        ),
    ),
    Unseen(
        "token_stream",
        "token_stream",
        "an iterable data set that asks for its worker, but only for a seed; one worker",
        Truth(
            "yes",
            "train",
            "DocumentStream",
            "one worker waits for a store, and further workers would each read all documents",
            helps=(
                Change(
                    "shard_iterable",
                    "divide the documents among workers, then use more of them",
                    ("--divide", "--num-workers", "4"),
                ),
            ),
            never=(
                no_workers("without a division each record is trained on as often as there are workers"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
            ),
        ),
    ),
    Unseen(
        "token_stream_repeats",
        "token_stream",
        "the same with four workers: fast enough, but each document is trained on four times",
        Truth(
            "no",
            "none",
            "DocumentStream",
            "training does not wait; the records are repeated by each worker, which is wrong but not slow",
            helps=(Change("shard_iterable", "divide the documents: right, and no gain in speed"),),
            leave_alone=True,
        ),
        arguments=("--num-workers", "4"),
    ),
    Unseen(
        "photos_without_workers",
        "photo_folder",
        "JPEG decoded in the main process, while the device waits and one core has nothing to do",
        Truth(
            "yes",
            "train",
            "Photographs",
            "no workers: loading and training take turns",
            helps=(
                workers(2, "both cores decode while the device works"),
                workers(1, "decodes while the device works"),
                Change("code", "decode at reduced size", ("--draft",)),
            ),
            never=(NO_TMPFS,),
        ),
        arguments=("--num-workers", "0"),
        held_out=True,
    ),
    Unseen(
        "photos_on_all_cores",
        "photo_folder",
        "JPEG decoded by two workers on two cores",
        Truth(
            "yes",
            "train",
            "Photographs",
            "both cores decode all the time",
            helps=(
                Change("code", "decode at reduced size", ("--draft",)),
                Change("cpu_allocation", "more cores"),
                Change("gpu_decode", "decode elsewhere"),
            ),
            never=(
                Change("num_workers", "there is no core for them", ("--num-workers", "4"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                NO_TMPFS,
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "satellite_tiles",
        "satellite_tiles",
        "large arrays augmented whole by two workers before a small crop is taken",
        Truth(
            "yes",
            "train",
            "Tiles",
            "two cores and the memory behind them are busy with pixels that are thrown away",
            helps=(Change("code", "crop before augmenting", ("--crop-first",)), Change("cpu_allocation", "more cores")),
            never=(
                Change("num_workers", "there is no core for them", ("--num-workers", "4"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                NO_TMPFS,
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "tiny_tensors",
        "tiny_tensors",
        "rows in memory, steps of a millisecond, no workers",
        Truth(
            "yes",
            "train",
            "TensorDataset",
            "each row is fetched and joined by itself, in Python",
            helps=(
                Change("vectorize_getitem", "index the tensors once for each batch", ("--whole-batches",)),
                Change("num_workers", "a worker on the other core, if sending costs less than fetching"),
                Change("vectorize_collate", "the same remedy by another name"),
            ),
            never=(NO_TMPFS, Change("pin_memory", "there is no GPU")),
        ),
        held_out=True,
    ),
    Unseen(
        "volumes",
        "volumes",
        "batches of 200 MB of floats through shared memory, from two workers",
        Truth(
            "yes",
            "train",
            "Tomographies",
            "bytes: volumes are made four times as large as they are stored before they are copied and sent",
            helps=(Change("code", "send bytes, the device turns them into floats", ("--as-stored",)),),
            never=(
                NO_TMPFS,
                Change("num_workers", "memory and cores are busy", ("--num-workers", "4"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "6")),
            ),
        ),
    ),
    Unseen(
        "lightning_sanity",
        "lightning_sanity",
        "Lightning with two batches of validation before training; training loads in the main process",
        Truth(
            "yes",
            "train",
            "RemoteCrops",
            "the training loader has no workers and waits for each sample",
            helps=(workers(2), workers(4)),
            never=(NO_TMPFS, Change("cpu_allocation", "no core is busy")),
        ),
    ),
    Unseen(
        "trainer_eval_first",
        "trainer_eval_first",
        "the Trainer with an evaluation before the first step; text becomes tokens in the main process",
        Truth(
            "yes",
            "train",
            "Reviews",
            "no workers: Python makes tokens while the device waits",
            helps=(workers(1), workers(2)),
            never=(NO_TMPFS,),
        ),
        held_out=True,
    ),
    Unseen(
        "batched_lookup",
        "batched_lookup",
        "a data set with __getitems__ that asks a slow store for one key after the other",
        Truth(
            "yes",
            "train",
            "Store",
            "one worker waits for one answer at a time",
            helps=(workers(4), Change("code", "ask for the keys of a batch side by side", ("--at-once", "16"))),
            never=(
                VECTORIZED,
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                Change("cpu_allocation", "no core is busy"),
                NO_TMPFS,
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "few_shards",
        "few_shards",
        "WebDataset with two shards for four workers",
        Truth(
            "yes",
            "train",
            "WebDataset",
            "two workers do all the work, since there are two shards; they wait for a service",
            helps=(Change("code", "at least as many shards as workers", ("--shards", "8")),),
            never=(
                Change("num_workers", "a third worker has no shard", ("--num-workers", "8"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                Change("cpu_allocation", "no core is busy"),
            ),
        ),
    ),
    Unseen(
        "stateful_snapshots",
        "stateful_snapshots",
        "torchdata's loader sends the state of a large shuffle buffer with each batch",
        Truth(
            "yes",
            "train",
            "Shuffled",
            "the state is copied, pickled, sent and unpickled for each step, which takes longer than the sample",
            helps=(Change("code", "take a snapshot less often", ("--snapshot-every", "50")),),
            never=(
                NO_TMPFS,
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                Change("shard_iterable", "each worker reads its own share already"),
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "dispatcher",
        "dispatcher",
        "Accelerate's dispatcher: rank 0 loads for both ranks, without workers",
        Truth(
            "yes",
            "train",
            "Requests",
            "rank 0 waits for the samples of both ranks, the other waits for rank 0",
            helps=(
                workers(4),
                Change("code", "each rank loads its own batches", ("--each-loads",)),
            ),
            never=(
                Change("fix_rank", "the other rank waits by design, none is slow"),
                Change("cpu_allocation", "no core is busy"),
                NO_TMPFS,
            ),
        ),
        ranks=2,
        held_out=True,
    ),
    Unseen(
        "float_images",
        "float_images",
        "a collate that turns bytes into doubles and then into floats, in one worker",
        Truth(
            "yes",
            "train",
            "Pictures",
            "the user's collate takes nearly all the time of loading",
            helps=(
                Change("vectorize_collate", "join the bytes, scale on the device", ("--as-bytes",)),
                workers(2, "the second core has little to do"),
            ),
            never=(
                VECTORIZED,
                NO_TMPFS,
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
            ),
        ),
    ),
    Unseen(
        "late_reader_rank",
        "two_ranks",
        "two ranks; on the second about one step of a hundred waits half a second for a read",
        Truth(
            "partly",
            "train",
            "Frames",
            "late reads of the second rank's loader, for which both ranks wait",
            helps=(
                Change("prefetch_factor", "batches for a second ahead", ("--prefetch-factor", "64"), "more"),
                Change("num_workers", "further workers go on while one is held up", (), "more"),
                Change("in_order", "hand out batches as they are ready"),
                Change("fix_rank", "see why this rank's reads are late", ("--slow", "none")),
            ),
            never=(NO_TMPFS, Change("cpu_allocation", "no core is busy")),
        ),
        arguments=("--slow", "reader"),
        ranks=2,
    ),
    Unseen(
        "slow_compute_rank",
        "two_ranks",
        "two ranks with healthy loaders; the step of the second takes twice as long",
        Truth(
            "no",
            "none",
            None,
            "the second rank computes slowly, and the other waits for it at each step",
            helps=(Change("fix_rank", "see why this rank's step is slow", ("--slow", "none")),),
            leave_alone=True,
        ),
        arguments=("--slow", "compute"),
        ranks=2,
    ),
    Unseen(
        "cpu_model",
        "cpu_model",
        "a network on all cores, samples are slices of memory, no workers",
        Truth(
            "no",
            "none",
            None,
            "computation: loading is a few percent",
            never=(Change("num_workers", "takes cores from the step", ("--num-workers", "2"), "more"),),
            leave_alone=True,
        ),
        held_out=True,
    ),
    Unseen(
        "stolen_cores",
        "cpu_model",
        "the same with samples that cost about a tenth of a step: a worker would take its core from the step",
        Truth(
            "no",
            "none",
            None,
            "computation, on all cores: what a worker would take over it takes from the step",
            never=(Change("num_workers", "takes cores from the step", ("--num-workers", "2"), "more"),),
            leave_alone=True,
        ),
        arguments=("--rounds", "4"),
    ),
    Unseen(
        "parquet_tmpfs",
        "parquet_tmpfs",
        "all columns of a wide Parquet table decoded by two workers, from a file in memory",
        Truth(
            "yes",
            "train",
            "RowGroups",
            "both cores decompress and decode columns of which few are used",
            helps=(
                Change("code", "decode only the columns that are used", ("--used-columns",)),
                Change("cpu_allocation", "more cores"),
            ),
            never=(
                Change("tmpfs", "the file lies there already"),
                Change("num_workers", "there is no core for them", ("--num-workers", "4"), "more"),
                Change("shard_iterable", "each worker reads its own row groups already"),
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "short_epochs",
        "short_epochs",
        "epochs of twenty steps, workers start anew in each and read an index first",
        Truth(
            "yes",
            "train",
            "Indexed",
            "workers start, and read their index, as often as an epoch begins; within an epoch nothing waits",
            helps=(Change("persistent_workers", "workers live on", ("--persistent",)),),
            never=(
                Change("num_workers", "more of them start more slowly", ("--num-workers", "4"), "more"),
                Change("prefetch_factor", "nothing waits once they run", ("--prefetch-factor", "8")),
                NO_TMPFS,
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "checkpoint_pauses",
        "checkpoint_pauses",
        "a loader that keeps up, and a checkpoint of 240 MB every fifty steps",
        Truth(
            "no",
            "none",
            None,
            "the loop writes checkpoints: a pause, but none for data",
            helps=(
                Change("code", "write checkpoints less often", ("--save-every", "400")),
                Change("code", "write them in a thread, as far as that runs beside the loop", ("--save-beside",)),
            ),
            leave_alone=True,
        ),
        held_out=True,
    ),
    Unseen(
        "own_prefetcher_ahead",
        "own_prefetcher",
        "the user's thread and queue around a loader without workers: the queue is never empty",
        Truth(
            "no",
            "none",
            None,
            "a thread waits for data, the training loop does not",
            never=(workers(2, "training does not wait"),),
            leave_alone=True,
        ),
    ),
    Unseen(
        "own_prefetcher_behind",
        "own_prefetcher",
        "the same with a loader slower than the step: the queue is always empty",
        Truth(
            "yes",
            "train",
            "Recordings",
            "the thread's loader has no workers and gives 31 batches a second where training takes 50",
            helps=(workers(2), workers(4)),
            never=(
                Change("prefetcher", "there is one already"),
                Change("cpu_allocation", "no core is busy"),
                NO_TMPFS,
            ),
        ),
        arguments=("--latency-ms", "2.0"),
    ),
    Unseen(
        "shuffle_buffer",
        "shuffle_buffer",
        "four seconds until a shuffle buffer is full, and no wait after it",
        Truth(
            "no",
            "none",
            None,
            "the first batch is late, once; a long run does not notice",
            never=(
                workers(4, "training does not wait"),
                Change("prefetch_factor", "training does not wait"),
                Change("persistent_workers", "there is one pass"),
            ),
            leave_alone=True,
        ),
        held_out=True,
    ),
    Unseen(
        "balanced_sampler",
        "balanced_sampler",
        "a batch sampler that goes through two million weights for each batch, in the main process",
        Truth(
            "yes",
            "train",
            "Embeddings",
            "the sampler; workers wait for indices",
            helps=(
                Change("faster_sampler", "choose the indices of many batches at once", ("--batches-at-once", "200")),
            ),
            never=(
                Change("num_workers", "the sampler runs in the main process", ("--num-workers", "4"), "more"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                NO_TMPFS,
            ),
        ),
    ),
    Unseen(
        "http_images",
        "http_images",
        "a request by HTTP for each sample, two workers",
        Truth(
            "yes",
            "train",
            "RemotePictures",
            "workers wait for answers; server and network could give more at once",
            helps=(workers(8), workers(6)),
            never=(
                Change("cpu_allocation", "cores are idle"),
                Change("prefetch_factor", "the mean speed is the limit", ("--prefetch-factor", "8")),
                NO_TMPFS,
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "detection_lists",
        "detection_lists",
        "batches that are lists of hundreds of little tensors, sent by two workers",
        Truth(
            "yes",
            "train",
            "Annotated",
            "each tensor is sent by itself, with a piece of shared memory of its own",
            helps=(
                Change("fewer_tensors", "one tensor for the boxes of a picture", ("--joined",)),
                Change("sharing_strategy", "another way of sharing may cost less for each tensor"),
            ),
            never=(
                NO_TMPFS,
                Change("num_workers", "the main process takes the tensors in", ("--num-workers", "4"), "more"),
            ),
        ),
        held_out=True,
    ),
    Unseen(
        "gradient_accumulation",
        "gradient_accumulation",
        "seven short steps and a long one; one worker that is fast enough on average only",
        Truth(
            "partly",
            "train",
            "Clips",
            "two batches ahead are too few for the burst of short steps; the worker has nothing to do in the long one",
            helps=(
                Change("prefetch_factor", "a burst's batches ahead", ("--prefetch-factor", "8"), "more"),
                workers(3),
            ),
            never=(NO_TMPFS, Change("cpu_allocation", "no core is busy")),
        ),
    ),
)
