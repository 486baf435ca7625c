"""What the HTTP API says: the shapes of CONTRACT and the page, with units in the names.

Durations are integer microseconds, instants on the run clock likewise (``_us``; the run clock reads 0 at
``started_at``), wall-clock times RFC 3339 UTC (``_at``), fractions 0–1. ``None``: not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from underfed_server.names import CauseName, ChangeName, Label, OptionalLabel, all_labels, label_of

Status = Literal["running", "finished", "crashed", "lost"]
Bound = Literal["data", "transfer", "compute", "host", "unknown"]
Level = Literal["healthy", "watch", "limited", "bound", "unknown"]
ClockName = Literal["gpu", "host"]
Confidence = Literal["high", "medium", "low"]
Scope = Literal["ingest", "view", "edit", "admin"]
WorkerEnd = Literal["returned", "raised", "died"]
StorageKind = Literal["nvme", "ssd", "hdd", "network", "memory", "overlay", "unknown"]
Stage = Literal["getitem", "collate", "other", "step"]
"""Of loading; ``step``: what the training thread does between its batches."""

Sampled = Literal["loading", "step"]
Role = Literal["train", "validation", "other"]
SentTuningStatus = Literal["waiting", "searching", "kept", "left_alone", "refused", "failed"]
TuningStatus = Literal[SentTuningStatus, "ended"]
"""What an agent says; ``ended``: within its trials, with its run."""
Condition = Literal["data_bound", "hours_lost", "verdict_changed", "memory", "straggler", "host_offline"]
ChannelKind = Literal["webhook", "slack", "email"]
AlertKind = Literal["raised", "recovered", "test"]
CautionOf = Literal["batch_size", "model", "gpu", "world_size", "compute"]
Unit = Literal["us", "fraction", "bytes", "bytes_per_s", "per_s", "count", "cores", "factor", "setting", "w"]
Setting = bool | int | float | str | None


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# --- errors ---------------------------------------------------------------------------------------


class ErrorDetail(Model):
    code: str
    message: str
    field: str | None = None
    request_id: str | None = None


class ErrorBody(Model):
    """The one shape of every failure."""

    error: ErrorDetail


# --- diagnosis ------------------------------------------------------------------------------------


class Evidence(Model):
    """One measured number. ``series`` names the metric of ``/series`` that shows it over time."""

    what: str
    value: Annotated[float | str | None, Field(union_mode="left_to_right")]
    unit: Unit
    series: str | None = None
    margin_fraction: float | None = None
    """Of a share that was sampled: half of the interval that holds the true one in 95 of 100 cases."""


class CauseFinding(Model):
    cause: CauseName
    cause_label: Label = ""
    cost_fraction: float
    """Share of step time that goes away with this cause."""
    sentence: str
    evidence: list[Evidence]


class Anatomy(Model):
    """Mean judged step, in parts that add up to ``step_us``; below them, what a part is known to consist of."""

    step_us: int
    data_wait_us: int
    h2d_exposed_us: int | None
    compute_us: int
    others_wait_us: int | None = None
    """Waits for other loaders of the same loop, another part of the step; ``None``: the run has no other loader."""
    gpu_idle_us: int | None = None
    """Of the data wait: while the device had nothing to do, by its own clock."""
    sampler_us: int | None = None
    """Of the data wait: the sampler, in the training process."""

    @property
    def copy_fraction(self) -> float | None:
        """Of the step, in copies to the device that are not hidden; ``None``: not measured."""
        return None if self.h2d_exposed_us is None else self.h2d_exposed_us / self.step_us


def _is_promised(_: object, info: ValidationInfo) -> bool:
    """To the two digits that it is written with, its interval does not hold 1."""
    gain, low = info.data.get("predicted_speedup"), info.data.get("low")
    least = gain if low is None else low
    return gain is not None and least is not None and round(least, 2) > 1


Promised = Annotated[bool, BeforeValidator(_is_promised), Field(validate_default=True)]
"""Filled in by the model itself, from the figures before it."""


class BestAdvice(Model):
    """A change and its gain, without its texts and evidence."""

    change: ChangeName
    change_label: Label = ""
    from_: Annotated[Setting, Field(alias="from")]
    to: Setting
    loader: str | None = None
    """Whose setting it is, and whose loop is faster with it."""
    predicted_speedup: float | None
    """Of that loop."""
    low: float | None
    high: float | None
    is_promised: Promised = False
    """A gain is predicted, and it is one at the lower end of its interval, too; false: a change to try."""
    run_speedup: float | None = None
    """Of the whole run, by the loop's share of its time; ``None``: the run has no other loop, or none is predicted."""
    run_low: float | None = None
    run_high: float | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @property
    def gain_of_run(self) -> tuple[float | None, float | None, float | None]:
        """What the run gains: as predicted, at least, at most. Nothing where nothing is promised."""
        if not self.is_promised:
            return None, None, None
        if self.run_speedup is None:
            return self.predicted_speedup, self.low, self.high
        return self.run_speedup, self.run_low, self.run_high


class Advice(BestAdvice):
    ceiling: float | None
    """What the change can gain at best, an estimate: no more than instant data, as the verdict has it, and of a change
    that is about a part of the input, no more than that part. ``None``: not known, or its interval reaches as far."""
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    """Between which it lies in 95 of 100 cases, where it is of a share of looks; ``None``: not known."""
    ceiling_of: str | None = None
    """What would cost nothing then: `80% of loading, in this line and another one with such work`. ``None``: all of the
    input, or a part that ``assumption`` names."""
    run_ceiling: float | None = None
    """The same of the whole run, as of ``run_speedup``."""
    settings: dict[str, Setting]
    """The complete loader settings to use, also for ``underfed run --set``."""
    title: str
    why: str
    evidence: list[Evidence]
    anatomy: Anatomy | None
    """The predicted mean step."""
    changes_batch_order: bool
    risk: str
    diff: str
    """Unified-diff body (lines begin with a space, ``-`` or ``+``)."""
    diff_file: str | None
    """``data/loaders.py:41``: where the call stands that the diff changes."""
    sketch: str | None = None
    """Why the lines are a sketch, a clause; ``None``: those of the program, or a command, as they are."""
    command: str | None
    """The command that tries it without touching the code."""
    assumption: str | None
    """The assumption that dominates the interval."""


class Refusal(Model):
    change: ChangeName
    change_label: Label = ""
    title: str
    why: str
    evidence: list[Evidence]


class Signal(Model):
    """One row of the evidence for the verdict."""

    signal: str
    measured: Evidence
    healthy: str
    reading: Literal["cause", "symptom", "ruled_out", "not_measured"]
    says: str
    """The reading in two or three words."""


class RankDiagnosis(Model):
    rank: int
    data_stall_fraction: float | None
    straggler: bool
    works_longer: bool = False
    """Its own work, not its loader, keeps the others waiting."""
    data_wait_us: int | None = None
    """Mean of its judged steps, on the host's clock, ..."""
    data_wait_p95_us: int | None = None
    """... and their 95th percentile."""
    queue_empty_fraction: float | None = None
    """Of its requests; null: there is no queue, or its depth is not known."""


WIDEST_FACTOR = 2.0
"""Between the ends of an interval, beyond which nearly any gain is inside."""


def _is_narrow(_: object, info: ValidationInfo) -> bool:
    low, high = info.data.get("low"), info.data.get("high")
    return low is None or high is None or high <= WIDEST_FACTOR * low


Narrow = Annotated[bool, BeforeValidator(_is_narrow), Field(validate_default=True)]
"""Filled in by the model itself, from the figures before it."""


class LedgerEntry(Model):
    """``run_id`` carried a change that was advised for ``advice_of``."""

    advice_of: str
    loader: str | None = None
    """That the advice was for."""
    run_id: str
    change: ChangeName
    change_label: Label = ""
    cause: CauseName | None = None
    """The leading cause of ``advice_of``."""
    cause_label: OptionalLabel = None
    settings: dict[str, Setting]
    predicted_speedup: float | None
    low: float | None
    high: float | None
    is_narrow: Narrow = True
    """The interval could have been missed; false: a gain inside it is no hit."""
    observed_speedup: float | None
    observed_low: float | None
    observed_high: float | None
    inside_interval: bool | None
    """The gain observed lies within the predicted interval; false is a miss."""
    why_not: str | None = None
    """Why nothing was observed."""


class TrialBlock(Model):
    """Consecutive steps with one setting, those in which it started included. Instants are on the run's clock."""

    first_step_index: int
    steps: int
    start_us: int
    end_us: int


class Trial(Model):
    """One setting that ``--tune`` measured, in blocks that alternate with those of the search's other trials."""

    rank: int
    search: int
    """Which of the run's searches, from 0."""
    number: int
    """Within the search; 0 is the setting that it began with."""
    settings: dict[str, Setting]
    predicted_speedup: float | None
    predicted_low: float | None
    predicted_high: float | None
    steps: int
    """Those measured, without the ones in which it started."""
    steps_per_s: float | None
    low: float | None
    high: float | None
    """With 95 % confidence, as ``low``."""
    speedup: float | None
    """Against the setting that its search began with; ``None``: one of the two was not measured."""
    kept: bool
    reason: str | None
    """Why it was not measured further, or not kept."""
    blocks: list[TrialBlock]


def _tuning_label(_: object, info: ValidationInfo) -> str:
    return label_of("tuning", info.data["status"])


TuningLabel = Annotated[str, BeforeValidator(_tuning_label), Field(validate_default=True)]
"""Filled in by the model itself, from the status before it."""


class Tuning(Model):
    """How far ``underfed run --tune`` has come with a loader, and what it gained."""

    loader: str
    rank: int
    status: TuningStatus
    status_label: TuningLabel = ""
    reason: str | None
    began_with: dict[str, Setting]
    kept: dict[str, Setting] | None
    """In use since the last search that ended; ``None``: none has ended."""
    kept_from_step: int | None
    """The first step that is judged with it."""
    speedup: float | None
    """Measured, of what is kept against what the run began with."""
    low: float | None
    high: float | None
    trial_steps: int
    trial_us: int
    """Of all searches, starts included."""
    gained_us: int | None
    """In the steps since a kept setting is in use, against the pace of all blocks of what the run began with; ``None``:
    not measured, or its 95 % interval includes 0."""
    gained_low_us: int | None
    gained_high_us: int | None
    lost_us: int
    """By trials: slower settings, and starts; and by what was kept and turned out to be slower, at least."""
    searches: int
    lines: list[str]
    """To write into the program."""


class Candidate(Model):
    """A setting worth a trial."""

    settings: dict[str, Setting]
    """What changes."""
    predicted_speedup: float | None
    low: float | None
    high: float | None
    why: str


class Candidates(Model):
    """What ``--tune`` is to try with a loader."""

    loader: str
    settings: dict[str, Setting]
    """Those of the loader, that the candidates were found for."""
    candidates: list[Candidate]
    """At most five, in the order in which to try them."""
    why_none: str | None


class SharedRun(Model):
    run_id: str
    name: str
    hours_lost: float


class SharedCause(Model):
    """Runs that lost time to one cause, in one place, at one time."""

    cause: CauseName
    cause_label: Label = ""
    kind: Literal["mount", "host"]
    place: str
    """``nas:/imagenet``, ``/data on node-3``, ``node-3``."""
    sentence: str
    runs: list[SharedRun]
    """Most hours lost first."""
    hours_lost: float
    started_at: datetime
    ended_at: datetime


class Replay(Model):
    """What ``underfed run --replay`` measured: the training loop with real batches, and with the same again at once."""

    batches: int
    real_steps_per_s: float
    instant_steps_per_s: float


class MeasuredReplay(Replay):
    run_id: str
    """The run that measured it: this one, or another of the job with the same settings."""


class LoaderLine(Model):
    """One of a run's loaders. Loaders that one loop asks in turn share its time: shares of them add up to more."""

    loader: str
    role: Role
    """``train``: gradients are computed from it; ``validation``: passed over while training waits, or afterwards."""
    bound: Bound
    """``unknown``: it has too few steps."""
    bound_label: Label = ""
    level: Level
    level_label: Label = ""
    data_stall_fraction: float | None
    hours_lost: float
    """Σ over ranks of time that was stalled waiting for it, over the whole run."""
    share_of_run_fraction: float
    """Time in the steps of its loop, stalled or not, of the time in all loops of the run."""
    steps: int
    """Of the rank that is furthest, as of ``epochs``."""
    epochs: int = 0
    """Begun in the whole run."""
    loop: int = 0
    """Loaders that one loop asks in turn have the same number."""
    rank: int | None = None
    """That keeps the others waiting, by its input or by its own work; ``None``: none does."""


class Verdict(Model):
    """The verdict on one run, without advice. ``bound == "unknown"`` carries its ``reason`` and no figures."""

    bound: Bound
    bound_label: Label = ""
    clock: ClockName
    level: Level
    level_label: Label = ""
    confidence: Confidence | None
    reason: str | None
    """Why there is no verdict, or what limits it."""
    sentence: str
    """The verdict in one sentence."""
    why: str | None
    """The reason in one or two sentences."""
    beside_training: list[str] = []
    """What takes a notable part of the loop's time and is neither training nor waiting, such as checkpoints, or a
    function of the program's: a sentence each, which ``why`` has with what is usual against it; most time first."""
    waited_fraction: float | None = None
    """Without a verdict: what the steps so far waited, the start included. ``None``: there is a verdict, or no step."""
    judged_steps: int
    judged_from_step: int | None = None
    """Of a run whose program was started again with other settings of the loader: its first step with the present ones,
    which the verdict is about. ``None``: they were the same in all steps."""
    data_stall_fraction: float | None
    headline_stall_fraction: float | None = None
    """What the sentence says of all loaders: of all the time, ``hours_lost`` of ``hours_used``, as far as one is in
    waits for data and the other in no pause. Where the judged steps wait for clearly another share, theirs, and the
    sentence has both. Lists of runs show this one and are sorted by it."""
    judged_stall_fraction: float | None = None
    """What the judged steps wait of their time, for all loaders of their loop: what causes and signals are of.
    ``None``: the sentence has it, or has another share, such as that of copies."""
    steps_per_s: float | None
    samples_per_s: float | None
    instant_data_steps_per_s: float | None
    """Computed: from what the device or the host was busy with. Where copies bind the run, without these, too."""
    instant_data_high_steps_per_s: float | None = None
    """What it may turn out to be: more than that where it was not seen by how much loading slows the step itself, or
    the step varies. Nothing that is predicted is above it."""
    hours_lost: float | None
    """Σ over ranks of stalled time, whatever the rank computes on: waits for data, and copies that are not hidden. In a
    run's own diagnosis of all its loaders, in that of a requested loader of this one alone; so are the hours below."""
    copy_hours_lost: float | None = None
    """The part of it that is copies; ``None``: they were not measured, and are not included."""
    gpu_hours_lost: float | None
    """The same for ranks that compute on a GPU; ``None`` where there is none."""
    hours_used: float | None
    hours_restarting: float | None = None
    """Σ over ranks, from the last step before the program was started again until its next one, where that is more than
    what pauses and waits took. In no other hours, and in no share. ``None``: it is less, or there is no verdict."""
    paused_fraction: float | None = None
    """Of its newest steps' time, in what the program did beside training: checkpoints, logs. Hours include it, and the
    shares of a step or of a loop's time do not. ``None``: no verdict."""
    is_mostly_paused: bool | None = None
    """More of the loop's time goes to pauses than to waiting. ``None``: no verdict."""
    anatomy: Anatomy | None
    causes: list[CauseFinding]
    signals: list[Signal]
    ranks: list[RankDiagnosis]


class ReadRate(Model):
    """What the loads of one loader read from a place together, of all ranks that share it."""

    place: str
    """A network share, by what it is mounted from; a disk, by its host, device and mount."""
    readers: float
    """Loads at once."""
    bytes_per_s: float
    sample_bytes: float
    """Of one sample: small reads reach no high rate."""
    is_limited: bool
    """More loads at once read no more together."""


class Caller(Model):
    """A place that a line is called from, where several call it: the innermost at which the ways to it part."""

    function: str
    file: str
    line: int | None
    fraction: float
    """A part of the line's, and of the same: loading, or the time between batches."""
    margin_fraction: float | None = None
    sentence: str
    """`Photos.crop at data.py:60`"""


class Hotspot(Model):
    """A function and line that loading, or the training thread between its batches, spends time in."""

    function: str
    """With its class; of one that is not written in Python, as it is called there."""
    file: str
    line: int | None
    self_fraction: float
    """Of loading, or of the time between batches, in this function itself."""
    self_margin_fraction: float | None = None
    """Half of the interval that holds the true share in 95 of 100 cases, by how much bursts differ in it; `None`: not
    known."""
    total_fraction: float
    """And in all that it calls."""
    total_margin_fraction: float | None = None
    stage: Stage
    is_own: bool = False
    """In a file of the project, not of an installed package."""
    callers: list[Caller] = []
    """What `self_fraction` is made of, most first; none where one place calls it."""
    lines: tuple[int, int] | None = None
    """The first and the last of those that its time may have been spent in, and that cannot be distinguished; `None`:
    it was spent in `line`."""


class HotLine(Model):
    """A line of the program that loading, or the training thread between its batches, spends time in: each look counts
    for one line. Where none of the program's is in the stack, that of a library's innermost function."""

    function: str
    """That the line is in."""
    file: str
    line: int | None
    called: str | None
    """What is called there, and takes the time; `None`: the function itself does."""
    fraction: float
    margin_fraction: float | None = None
    """Half of the interval that holds the true share in 95 of 100 cases; `None`: not known."""
    sentence: str
    """`Image.resize at data.py:41, in Photos.__getitem__`"""
    callers: list[Caller] = []
    """What `fraction` is made of, most first; none where one place calls the function that the line is in."""
    lines: tuple[int, int] | None = None
    """The first and the last of those that the time may have been spent in, and that cannot be distinguished; `None`:
    it was spent in `line`."""


class SlowSample(Model):
    """Known to about a tenth of a second."""

    index: int | None
    """In the data set; `None`: it has no such number."""
    file: str | None
    """Opened while the sample was loaded; `None`: none was seen open."""
    file_bytes: int | None = None
    """The size of that file."""
    load_us: int
    rank: int
    worker: int | None = None
    """`None`: the training process loaded it."""
    cpu_us: int | None = None
    runqueue_us: int | None = None
    """Of `load_us`, on a CPU, and ready to run while no core was free; `None`: not measured."""

    @property
    def own_us(self) -> int:
        """Without the wait for a core, which is no sample's own: it loads fast the next time."""
        return self.load_us - (self.runqueue_us or 0)


class PictureSize(Model):
    """Of pictures that are resized, in pixels; of kinds that were merged their mean."""

    decoded_width: int
    decoded_height: int
    """Of what is resized: the whole picture, or the part that was cut out of it."""
    used_width: int
    used_height: int
    count: int
    """Looks that found one being resized, not pictures."""


class HoursSaved(Model):
    """By the ends of its fix's interval; both the same where it has none. In the unit of what was lost."""

    low: float
    high: float


class ToWrite(Model):
    """What a run that tuned itself is to keep for the next one, which begins as slowly without it."""

    title: str
    gain: str
    detail: str
    lines: list[str]
    """For the call of the loader."""


class BesideAction(Model):
    """What to do about a run beside its loader's settings."""

    title: str
    detail: str
    speedup: float | None
    """Of the run at most: if all of it went away that this is about. ``None``: not known."""
    hours_saved: float | None
    """By that, over the same steps. In the unit of what was lost."""


class Diagnosis(Verdict):
    run_id: str
    status: Status
    status_label: Label = ""
    steps: int
    """With that loader."""
    loader: str | None
    """What the verdict is about: the loader that loses most time, or the requested one."""
    loaders: list[LoaderLine] = []
    """All loaders of the run, those that most time is spent with first."""
    needed_steps: int
    """Steps (warm-up included) that a first verdict needs."""
    warmup_steps: int
    replay: MeasuredReplay | None = None
    """Measured: the same as ``instant_data_steps_per_s``, with batches replayed from memory."""
    advice: list[Advice]
    refusals: list[Refusal]
    beside_loader: str | None = None
    """Where the leading cause lies outside the run, or checkpoints take more of its time than waiting: what to do about
    it, a sentence each. ``None``: neither, or it is not known."""
    to_write: ToWrite | None = None
    """The first thing to do, where ``tuning`` kept another setting than the run began with. ``None``: it did not."""
    beside: list[BesideAction] = []
    """The same, each with its own gain. Diagnoses of earlier versions have none."""
    beside_speedup: float | None = None
    """Of the run, about, if all went away that ``beside_loader`` begins with. ``None``: not known."""
    is_lost_at_start: bool = False
    """Most of ``hours_lost`` went by in the warm-up steps, which ``data_stall_fraction`` and the sentence leave out."""
    hours_saved: HoursSaved | None = None
    """What the first fix saves over the same steps, never more than was lost to its loader. ``None``: it promises no
    gain."""
    is_beside_first: bool = False
    """What to do first lies outside the run: the cause does, no change of the loader promises a gain, and the first one
    is no line of loading that may give more."""
    ledger: list[LedgerEntry]
    trials: list[Trial] = []
    """What ``--tune`` measured of that loader, oldest first."""
    tuning: Tuning | None = None
    """``None``: the run does not tune that loader."""
    candidates: Candidates | None = None
    """What it is to try; ``None``: the run does not tune that loader, or was not judged yet."""
    shared: list[SharedCause] = []
    """Other runs that share the leading cause of this one."""
    read_rate: ReadRate | None = None
    """``None``: its data come from no storage that can be distinguished, or what it reads was not measured."""
    hotspots: list[Hotspot] = []
    """Of that loader, those with most of its loading first."""
    slow_samples: list[SlowSample] = []
    """Of that loader, the slowest first."""
    hot_lines: list[HotLine] = []
    """The program's lines that most of its loading is in."""
    step_hotspots: list[Hotspot] = []
    """What the training thread does between batches of that loader, where ``--profile`` asked for it."""
    step_lines: list[HotLine] = []
    """The program's lines of these."""
    hot_order: str | None = None
    """A sentence, where any of the first lines may be the largest; `None`: the first is, or one line is known."""
    step_order: str | None = None
    hot_change: str | None = None
    """A sentence on lines that take another share of its loading than in about the first half of the time. `None`: none
    does by more than the margins of both shares, or too little was seen."""
    step_change: str | None = None
    """Likewise, of the time between batches."""
    looks: int = 0
    """At what its loading executes. Below ``needed_looks`` no hotspots are shown."""
    step_looks: int = 0
    """At the training thread between its batches, likewise."""
    needed_looks: int = 0
    agent_fraction: float | None = None
    """Of all these looks, at the agent itself; they are in no share."""
    judged_at: datetime | None
    is_final: bool = False
    """The run has ended, and everything that it sent was judged; false of an ended run: its last windows are not in
    the figures yet."""

    @property
    def stated_stall_fraction(self) -> float | None:
        """As its sentence has it; an earlier version that stated no other one has the share of its judged steps."""
        return self.data_stall_fraction if self.headline_stall_fraction is None else self.headline_stall_fraction

    @property
    def best_advice(self) -> Advice | None:
        """The first fix, wherever one is named: the first of the list, whether it promises a gain or is to be tried."""
        return next(iter(self.advice), None)


# --- runs -----------------------------------------------------------------------------------------


class JudgedRun(Model):
    """A run's identity and its verdict."""

    run_id: str
    name: str
    user: str
    status: Status
    status_label: Label = ""
    bound: Bound
    bound_label: Label = ""
    level: Level
    level_label: Label = ""
    is_mostly_paused: bool | None = None
    """As of its diagnosis. ``None``: no verdict, or it was not noted when the run was judged."""
    cause: CauseName | None
    cause_label: OptionalLabel = None
    data_stall_fraction: float | None
    started_at: datetime


class RunSummary(JudgedRun):
    """One line of the runs table."""

    project: str
    job: str
    tags: dict[str, str]
    steps: int
    steps_per_s: float | None
    samples_per_s: float | None
    step_us: int | None
    copy_fraction: float | None = None
    """Of the mean step, in copies to the device that are not hidden; null: not measured, or not noted when it was
    judged."""
    hours_lost: float | None
    gpu_hours_lost: float | None
    best_advice: BestAdvice | None
    observed_speedup: float | None
    """Compared with the run whose advice this one carries."""
    observed_low: float | None = None
    """At least, by the interval of what was observed: the run gained where this is above 1."""
    is_final: bool = False
    """It has ended, and everything that it sent was judged: its figures change no more."""
    spark: list[float | None]
    """Data-stall fraction over the run's last hour, oldest first, at most 40 points."""
    num_workers: int | None
    world_size: int
    gpus: int | None
    gpu_name: str | None
    hostnames: list[str]
    last_seen_at: datetime
    ended_at: datetime | None
    exit_reason: str | None
    archived_at: datetime | None
    """When a person archived it: out of the list and its counts unless requested."""
    deleted_at: datetime | None = None
    """When a person deleted it: only in the list of deleted runs, until it can no longer be restored."""
    no_loader: str | None
    """Why nothing was recorded of a run in which no loader was seen."""


class StatusCounts(Model):
    all: int
    running: int
    finished: int
    crashed: int
    lost: int


class RunsOf(Model):
    """Runs that have something in common; hours are of all time and of runs that were judged."""

    runs: int
    archived_runs: int
    """Of the runs."""
    last_seen_at: datetime
    hours_lost: float
    hours_used: float


class ProjectInfo(RunsOf):
    project: str


class ProjectRetention(Model):
    """How long and how exactly the single steps of a project's runs are kept, and how long whole runs.

    Null: the service's default. 0: no limit.
    """

    project: str
    retain_us: int | None
    """Single steps that are older are deleted."""
    max_bytes: int | None
    """The oldest single steps are deleted until the project takes no more."""
    precision_bits: int | None
    """Significant bits that durations keep when they are stored; null: all."""
    archive_after_us: int | None
    """Whole runs that nobody changed for so long are archived."""
    delete_after_us: int | None
    """Whole runs that nobody changed for so long are deleted; for a while they can be restored."""
    default_archive_after_us: int | None
    """Null: never; the next one too."""
    default_delete_after_us: int | None
    default_retain_us: int | None
    """Null: no limit; the next one too."""
    default_max_bytes: int | None
    row_bytes: int
    """Bytes of single rows, which alone are deleted."""
    ladder_bytes: int
    """Bytes of overviews. The limit applies to both together, without the database's overhead."""
    given_up_at: datetime | None
    """When rows were last deleted; null: never."""


class AgedRun(Model):
    run_id: str
    name: str
    fate: Literal["archived", "deleted"]
    unchanged_since: datetime
    """When its last window arrived, or when a person last edited, archived or restored it."""


class AgedRuns(Model):
    """What retention would do with whole runs of a project, if it had these ages."""

    archive_after_us: int | None
    """Null: never; the next one too."""
    delete_after_us: int | None
    archived: int
    deleted: int
    runs: list[AgedRun]
    """Of each kind those unchanged for longest."""


class UserInfo(RunsOf):
    user: str
    """The user that the runs name; empty: they name none."""


class CauseHours(Model):
    cause: CauseName | None
    cause_label: OptionalLabel = None
    hours_lost: float


class DayHours(Model):
    day: str
    """UTC date, ``2026-11-21``."""
    hours_lost: float
    hours_used: float


class Week(Model):
    """Rank-hours of the last seven days, compared with the seven before; of all runs, archived and deleted ones too."""

    hours_lost: float
    hours_used: float
    previous_hours_lost: float
    previous_hours_used: float
    on_gpu: bool
    """Every rank counted computes on a GPU, so hours are GPU-hours."""
    gpu_hours_lost: float = 0.0
    """Of those lost: by runs that compute on GPUs alone."""
    by_cause: list[CauseHours]
    days: list[DayHours]
    """Fourteen, oldest first."""


class RunsPage(Model):
    runs: list[RunSummary]
    next_cursor: str | None
    counts: StatusCounts
    week: Week
    config: dict[str, dict[str, Setting]] = Field(default_factory=dict)
    """By run, what was asked for of its configuration."""


class ConfigKey(Model):
    """A key of `config` that runs were given."""

    key: str
    runs: int


class JobLine(Model):
    """Runs that are tries at the same thing. A run that names no job stands alone."""

    job: str
    project: str
    runs: int
    hours_lost: float | None
    """Of all of them; null: none was judged."""
    gpu_hours_lost: float | None
    trend: list[float | None]
    """Data-stall fraction of the newest 20, oldest first; null: not judged."""
    newest: RunSummary


class JobsPage(Model):
    jobs: list[JobLine]
    next_cursor: str | None


class ChangedSetting(Model):
    """What was set otherwise than in the run before."""

    group: Literal["loader", "data", "machine", "software", "config", "tags", "command"]
    name: str
    unit: Unit
    before: Setting
    after: Setting
    matters: bool
    """Rules of diagnosis or advice look at it."""


class HistoryRun(JudgedRun):
    """One try of a job."""

    archived_at: datetime | None
    ended_at: datetime | None
    steps: int
    steps_per_s: float | None
    samples_per_s: float | None
    hours_lost: float | None
    gpu_hours_lost: float | None
    changed: list[ChangedSetting]
    """Compared with the run before; what matters first."""


class RunHistory(Model):
    """The runs of one job around one of them, oldest first."""

    job: str
    project: str
    runs: list[HistoryRun]


class View(Model):
    """A list of runs that was given a name: its filter, sorting, columns and grouping."""

    view_id: str
    project: str | None
    """The only project whose tokens see it; null: those that see all."""
    name: str
    query: str
    """Of the page's address, without the question mark."""
    made_by: str
    changed_at: datetime


class HandoverCosts(Model):
    """Microseconds of handing a batch to another process of the host, as measured there before training."""

    receive_us: float
    receive_wait_us: float
    tensor_us: float
    tensor_wait_us: float
    write_tensor_us: float
    write_mb_us: float
    free_mb_us: float


class HostFacts(Model):
    hostname: str
    cpu_model: str | None
    cpu_count: int | None
    """Of the whole machine."""
    allowed_cpus: int | None
    quota_cores: float | None
    usable_cores: float | None
    """The smaller of affinity and cgroup quota."""
    memory_total_bytes: int | None
    memory_limit_bytes: int | None
    swap_total_bytes: int | None
    shm_total_bytes: int | None
    shm_free_bytes: int | None
    memory_available_bytes: int | None
    open_files_limit: int | None
    numa_nodes: int | None
    gpu_driver: str | None
    """Version of NVIDIA's."""
    cpu_slowdown: list[tuple[float, float]] | None
    """``(busy cores, CPU time of a fixed piece of work relative to one busy core)``, measured on the host."""
    memory_slowdown: list[tuple[float, float]] | None = None
    """The same of work that leaves the caches: copying."""
    memory_bytes_per_s: float | None = None
    """What one core copies."""
    handover: HandoverCosts | None = None


class Device(Model):
    gpu_index: int
    uuid: str | None
    name: str
    memory_total_bytes: int | None


class LoaderInfo(Model):
    loader: str
    settings: dict[str, Setting]
    overrides: dict[str, Setting] | None = None
    """Of the settings: what ``--set`` or ``--apply`` set of this loader. ``None``: nothing."""
    dataset_type: str | None
    dataset_kind: Literal["map", "iterable"] | None
    dataset_length: int | None
    batches_per_epoch: int | None
    sampler_type: str | None
    collate_type: str | None
    transforms: list[str] | None
    watched_at: str | None
    constructed_at: str | None = None
    """``data/loaders.py:41``: the program's call of the loader's class."""
    constructed_by: str | None = None
    """The installed package that called it, where the program did not."""
    constructor_call: str | None = None
    """The source of the program's call, without what is in quotes and comments."""
    batch_tensors: int | None
    batch_bytes: int | None
    batch_dtypes: dict[str, int] | None = None
    """Bytes of the tensors in a first batch, by their type (``float32``, ``int64`` …)."""
    batch_fits_uint8: bool | None = None
    """A sample of its largest floating-point tensor holds whole numbers from 0 to 255, such divided by 255, or as few
    at equal steps, as pictures that were normalised do."""
    dataset_shards: int | None = None
    """Shards of an iterable data set that the workers of a rank share, as its own attributes say."""
    takes_whole_shards: bool | None = None
    """Each worker reads shards of its own, so that more workers than shards idle; false: they share out samples."""
    fetches_batches: bool | None = None
    """One call of a map-style data set gives a whole batch."""
    dispatched: bool | None = None
    """One rank loads for all, and sends each its batches."""
    snapshot_interval_steps: int | None = None
    """Of a stateful loader with workers: batches of which one brings its worker's state with it."""
    keeps_state: bool | None = None
    """Of a stateful loader: its data set has a state of its own."""
    shards: bool | None
    """Whether an iterable data set shards itself among workers, as its code shows."""
    why_unsharded: str | None
    compared_batches: int | None
    """Of an iterable data set: first batches of several workers that can be compared by their content."""
    repeated_batches: int | None
    """Of those, the ones that another worker gave too."""
    not_measured: dict[str, str]

    @property
    def num_workers(self) -> int | None:
        return self._whole("num_workers")

    @property
    def prefetch_factor(self) -> int | None:
        return self._whole("prefetch_factor")

    @property
    def batch_size(self) -> int | None:
        return self._whole("batch_size")

    @property
    def is_iterable(self) -> bool | None:
        return None if self.dataset_kind is None else self.dataset_kind == "iterable"

    def _whole(self, name: str) -> int | None:
        setting = self.settings.get(name)
        return setting if isinstance(setting, int) and not isinstance(setting, bool) else None


class EpochInfo(Model):
    rank: int
    loader: str
    epoch_index: int
    program_epoch: int | None = None
    """Which of the program's own epochs it is, where settings were switched within one before: each switch counts in
    ``epoch_index``. ``None``: the same."""
    start_us: int
    iterator_us: int | None
    startup_us: int | None
    sampler_us: int | None
    """The sampler, while the iterator was constructed or reset, outside any step."""
    grad_enabled: bool | None = None
    """Gradients were enabled when it began."""
    graph_built: bool | None = None
    """Between its batches an autograd graph was built, as by a step with a backward pass."""
    in_background: bool | None = None
    """Its batches were requested by a thread other than the main one, which built no graph: one that reads ahead."""
    first_step_index: int
    steps: int | None
    end_us: int | None
    ending_us: int | None = None
    """Of an exhausted one: the request that found no more batches, in which workers are stopped."""
    ended: Literal["exhausted", "broken_off", "error"] | None


class WorkerLife(Model):
    """One process that had a worker's number. Instants are on the run's clock."""

    iterator_index: int
    epoch_index: int | None
    """In which its iterator began."""
    pid: int | None
    start_us: int | None
    end_us: int | None
    ended: WorkerEnd | None
    """``died``: ended without an exception while training went on. ``None``: it runs, or training ended it."""


class DiedWorker(WorkerLife):
    rank: int
    loader: str
    worker: int


class StoragePlace(Model):
    """Where files of a loader's data set lie."""

    hostname: str | None
    loader: str
    mount: str
    file_system: str | None
    device: str | None
    kind: StorageKind
    files_seen: int
    example: str | None


class Losses(Model):
    dropped_steps: int
    dropped_batches: int
    dropped_windows: int
    rejected_windows: int
    agent_errors: int


class Outlook(Model):
    """What is expected of a running run, if it goes on as it was judged."""

    last_step: int | None
    """Steps that it will have taken; ``None``: not known."""
    basis: str | None
    """Why ``last_step`` is expected: ``90 epochs, as --epochs=90 says, of 5,004 steps each``."""
    hours_to_lose: float | None
    """Σ over ranks of time that will be stalled until then."""
    hours_lost_per_hour: float
    """The same in each further hour of training."""
    left_s: float | None = None
    """Time in its loop until then."""
    saved_fraction: float | None
    """Of the time ahead in its loop, with the best advice from now on; never more than is stalled. ``None``: no advice
    promises a gain."""
    saved_low_fraction: float | None = None
    """By the lower end of the gain's interval."""
    saved_high_fraction: float | None = None
    saved_s: float | None
    """How much earlier it would end with it; a restart and steps since the last checkpoint are not counted."""


def _web_address(address: object) -> object:
    return address if isinstance(address, str) and address.startswith(("http://", "https://")) else None


class TrackerRun(Model):
    """The same run in W&B, MLflow or TensorBoard."""

    tracker: str
    """``wandb``, ``mlflow``, ``tensorboard``; a newer agent may know others."""
    run: str
    """Its id there; of TensorBoard the directory of its events."""
    url: Annotated[str | None, BeforeValidator(_web_address)] = None
    """Of its page. ``None``: it has none, or none of the web's, as agents send what they like."""


class Run(RunSummary):
    """One run with everything that does not change from step to step."""

    command: list[str]
    script: str | None
    config: dict[str, Setting]
    overrides: dict[str, Setting]
    advice_of: str | None
    replay: Replay | None
    trackers: list[TrackerRun] = []
    started_by: str | None
    launcher: str | None
    restart_count: int | None
    slurm_job_id: str | None = None
    namespace: str | None = None
    """Of Kubernetes, like ``pods`` and ``train_job``."""
    pods: list[str] = []
    """Of its ranks, in their order."""
    train_job: str | None = None
    queue: str | None = None
    """Of Kueue; in SLURM the partition."""
    agent_version: str | None
    python_version: str | None
    torch_version: str | None
    cuda_version: str | None
    hip_version: str | None
    """PyTorch is built with one of the two, or none."""
    cudnn_version: str | None
    ranks: list[int]
    loaders: list[LoaderInfo]
    hosts: list[HostFacts]
    devices: list[Device]
    epochs: list[EpochInfo]
    """The newest 200."""
    storage: list[StoragePlace]
    died_workers: list[DiedWorker]
    """The newest 20."""
    losses: Losses
    overhead_us: float | None
    not_measured: dict[str, str]
    notes: str
    outlook: Outlook | None = None


# --- series, workers, timeline --------------------------------------------------------------------


class Series(Model):
    """One metric in buckets; all arrays have one length. ``missing`` says why there is nothing."""

    metric: str
    unit: Unit
    precision_bits: int | None = None
    """Single durations were rounded to so many significant bits when they were stored; null: all are exact."""
    given_up_before: int | None = None
    """Index before which retention deleted the single rows: buckets there are of 256 rows at least; null: none."""
    at_us: list[int]
    """Start of each bucket on the run clock."""
    first_index: list[int]
    """Of the first step (or sample) in each bucket."""
    count: list[int]
    mean: list[float | None]
    min: list[float | None]
    max: list[float | None]
    p50: list[float | None] | None = None
    """Of durations, where percentiles were asked for: of single rows, or within 1.1 % where buckets are large."""
    p95: list[float | None] | None = None
    p99: list[float | None] | None = None
    missing: str | None


class RankPage(Model):
    """What one loader of one rank of a run recorded."""

    run_id: str
    rank: int
    loader: str | None


PauseKind = Literal["validation", "loader", "checkpoint", "program", "restart"]


class Pause(Model):
    """The program did something else than training with this loader. Instants are on the run's clock."""

    kind: PauseKind
    """``loader``: a pass over another one that trains, too; ``program``: what it did is not known."""
    label: str
    loader: str | None = None
    """The other one."""
    start_us: int
    end_us: int
    written_bytes: int | None = None
    """By the training process meanwhile; null: little, or not known."""


class SeriesPage(RankPage):
    started_at: datetime
    end_us: int | None = None
    """When the last step that is shown had ended; null: none was recorded."""
    pauses: list[Pause] = []
    series: list[Series]


class WorkerInfo(Model):
    worker: int | None
    """``None``: batches loaded in the training process (``num_workers=0``)."""
    batches: int
    """Batches that the times are of; 0: the times are not known."""
    load_us_p5: int | None
    load_us_p50: int | None
    load_us_p95: int | None
    load_us_mean: int | None
    cpu_fraction: float | None
    runqueue_fraction: float | None
    blocked_fraction: float | None
    collate_fraction: float | None
    read_bytes_per_s: float | None
    lives: list[WorkerLife]
    """The newest 20, oldest first."""
    died: int
    """Of all lives in the run."""
    raised: int
    rss_bytes: int | None
    """Of the process that lives or lived last, as last seen."""
    pss_bytes: int | None
    """Proportional share: pages that it shares with others are divided among them."""
    rss_bytes_per_hour: float | None
    """Growth, robust against jumps; ``None`` below a minute of samples."""
    pss_bytes_per_hour: float | None
    is_growing: bool | None
    """Memory grows by more than jitter does."""
    threads: int | None


class LoadHeatmap(Model):
    """How many batches took how long, over the run."""

    at_us: list[int]
    """Start of each column; the last one ends at ``end_us``."""
    end_us: int
    edges_us: list[int]
    """Logarithmic bin edges, one more than a column has counts."""
    counts: list[list[int]]
    """``counts[column][bin]``."""


class WorkersPage(RankPage):
    workers: list[WorkerInfo]
    pin_us_p50: int | None
    """Copying a batch into page-locked memory, in a thread of the training process; part of no worker's time."""
    limit_us: int | None
    """Above this load time per batch the training loop waits: workers × mean work of a step."""
    heatmap: LoadHeatmap | None
    missing: str | None


class TimelineBatch(Model):
    epoch_index: int
    batch_index: int
    worker: int | None
    start_us: int
    load_us: int
    cpu_us: int | None
    runqueue_us: int | None
    blocked_us: int | None
    collate_us: int | None
    pin_us: int | None
    received_us: int | None


class TimelineStep(Model):
    step_index: int
    epoch_index: int
    batch_index: int | None
    start_us: int
    data_wait_us: int
    sampler_us: int | None
    gpu_idle_us: int | None
    step_us: int | None
    queue_depth: int | None


class StackFrame(Model):
    function: str
    file: str
    line: int | None
    is_own: bool
    """In a file of the project, not of an installed package."""


class CountedStack(Model):
    stage: Stage
    frames: list[int]
    """Places in the page's ``frames``, the outermost first. None: all stacks that were not kept."""
    samples: int


class HotspotsPage(Model):
    """What threads were seen to execute: each sample stands for the same time."""

    run_id: str
    rank: int | None
    """`None`: all ranks together."""
    loader: str | None
    of: Sampled
    """Those that load its batches, or the training thread between them: all below is of these."""
    samples: int
    has_step: bool
    """The training thread was sampled, too: ``--profile``."""
    hotspots: list[Hotspot]
    hot_lines: list[HotLine]
    """The program's lines that most of it is in."""
    order: str | None = None
    """A sentence, where any of the first lines may be the largest. `None`: the first is, or one line is known."""
    change: str | None = None
    """A sentence on lines that take another share of it by now than in about the first half of the time. `None`: none
    does by more than the margins of both shares, or too little was seen."""
    picture_sizes: list[PictureSize] = []
    """Of loading, whatever is asked for."""
    agent_fraction: float | None = None
    """Of all looks, at the agent itself; they are in no share."""
    frames: list[StackFrame]
    stacks: list[CountedStack]
    slow_samples: list[SlowSample]
    missing: str | None
    """Why there are no hotspots."""


class Timeline(RankPage):
    from_us: int
    to_us: int
    batches: list[TimelineBatch]
    steps: list[TimelineStep]
    missing: str | None


# --- team -----------------------------------------------------------------------------------------


class HitRate(Model):
    """What later runs gained that carried the advice."""

    cause: CauseName | None = None
    """The leading cause of the advised runs; ``None`` here and in ``change``: of all."""
    cause_label: OptionalLabel = None
    change: ChangeName | None = None
    change_label: OptionalLabel = None
    proven: int
    """Later runs whose gain was observed."""
    predicted: int
    """Of those: the gain had been predicted, with an interval that could be missed, or was."""
    inside: int
    """Of those: the gain was within the interval."""
    median_error: float | None
    """Of ``abs(observed / predicted - 1)``."""


class GroupHours(Model):
    """Rank-hours of the runs that have something in common."""

    name: str
    """Empty: not known."""
    runs: int
    hours_lost: float
    hours_used: float
    hours_recoverable: float | None
    """Of those lost: what the best advice of each run would have saved; null where no gain was predicted."""
    hours_recoverable_low: float | None
    hours_recoverable_high: float | None
    """By the ends of the advices' intervals; null where one has none."""
    search: str | None
    """Finds its runs in the list (docs/search.md); null: its name cannot be written there."""


class Team(Model):
    """What only several runs together show."""

    since: datetime
    """Of the hours and the shared causes; hit rates are of all time."""
    on_gpu: bool
    """Every rank counted computes on a GPU, so hours are GPU-hours."""
    gpu_hours_lost: float = 0.0
    """Of those lost: by runs that compute on GPUs alone."""
    hours: GroupHours
    """Of all runs."""
    hit_rates: list[HitRate]
    shared_causes: list[SharedCause]
    projects: list[GroupHours]
    users: list[GroupHours]
    datasets: list[GroupHours]
    """By the data set's type and where most of its files lie."""
    mounts: list[GroupHours]
    hosts: list[GroupHours]


# --- hosts ----------------------------------------------------------------------------------------


class HostRun(JudgedRun):
    """A run on a host, as far as it is there."""

    ranks: int
    own_cores: float | None
    """Cores that its processes there use now."""
    ended_at: datetime
    """Or last seen."""


class HostGpu(Model):
    gpu_index: int
    name: str
    util_fraction: float | None
    """NVML's duty cycle."""
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    run_id: str | None
    """The run that computes on it; null: none of those listed, or not known."""
    data_stall_fraction: float | None
    """Of that run's steps: the share lost to input."""


class HostCores(Model):
    """Cores of a host that runs may use, and who keeps them busy now."""

    usable: float | None
    busy: float | None
    own: float | None
    """By the processes of the runs listed."""
    others: float | None
    """By all other processes."""
    idle: float | None
    """What these runs could still have, within their control group's quota."""
    missing: str | None
    """Why a part is not known."""


class HostFlow(Model):
    """Bytes a second, of all processes."""

    now: float | None
    most: float | None
    """In any second that a run saw there; null: nothing is known yet."""


class Host(Model):
    """One machine or container, as its runs report it."""

    hostname: str
    is_live: bool
    """Whether a run on it reports."""
    last_seen_at: datetime
    facts: HostFacts
    gpus: list[HostGpu]
    runs: list[HostRun]
    """That run there now; the one seen last, where none does."""
    earlier_runs: int
    """Others that were there in these days."""
    cores: HostCores
    memory_used_bytes: int | None
    memory_limit_bytes: int | None
    """The control group's, else all there is."""
    shm_used_bytes: int | None
    shm_total_bytes: int | None
    disk_read: HostFlow
    disk_written: HostFlow
    network_received: HostFlow
    network_sent: HostFlow
    competing: list[str]
    """Sentences: which runs want the same at the same time."""
    not_measured: dict[str, str]


class HostSeries(Model):
    """One metric of a host, a value for each interval; null: not measured then."""

    metric: str
    unit: Unit
    values: list[float | None]
    missing: str | None


class HostHistory(Model):
    """What a host did over a stretch of time, and the runs on it."""

    hostname: str
    from_at: datetime
    to_at: datetime
    bucket_us: int
    """Length of each interval."""
    usable_cores: float | None
    memory_limit_bytes: int | None
    shm_total_bytes: int | None
    runs: list[HostRun]
    """Oldest first."""
    series: list[HostSeries]


class HostsPage(Model):
    since: datetime
    """Hosts are listed on which a run was seen since then."""
    hosts: list[Host]
    """Those with running runs first."""
    history: HostHistory | None
    """Of the one requested host."""


# --- comparison -----------------------------------------------------------------------------------


MOST_COMPARED = 8
"""As many as can be distinguished by colours and columns."""


class Speed(Model):
    """How many times as fast as the first run, with the 95 % interval of the ratio."""

    factor: float
    low: float
    high: float
    is_told: bool
    """The interval does not contain 1, and the difference is at least 2 %."""


class EpochStart(Model):
    epoch_index: int
    first_step_index: int


class ComparedRun(Model):
    """Figures are of the compared steps; ``None`` where ``why_not`` says why there are none."""

    run: RunSummary
    label: str
    """The name, with part of the run id where several runs share it."""
    verdict: str
    sentence: str | None
    """How fast compared with the first run, and why; ``None`` for that one."""
    speed: Speed | None
    why_not: str | None
    """Why it has no figures."""
    anatomy: Anatomy | None
    steps_per_s: float | None
    samples_per_s: float | None
    batch_samples: float | None
    """In a step of the judged rank."""
    epochs: list[EpochStart]
    """Of the judged rank and loader, the newest that are known: by them steps become epochs."""
    hotspots_missing: str | None
    """Why none are known of it."""


class ComparedHotspot(Model):
    """A function in which loading spends time in any of the runs. Lists have one value a run, in their order; ``None``:
    that run was not sampled, or how long it loads was not measured."""

    function: str
    file: str
    stage: Stage
    lines: list[int | None]
    """The one it was seen at most often; also ``None`` where it was not seen."""
    self_fractions: list[float | None]
    total_fractions: list[float | None]
    self_us: list[float | None]
    """Of loading a step, or a sample where these are compared."""
    total_us: list[float | None]
    """And in all that it calls."""
    differs: bool
    """One of the runs from the first, in itself or in what it calls, by more than chance: in time where both are known,
    else in share."""


class ComparedSetting(Model):
    """One value a run, in their order; ``None``: not set, or not known."""

    name: str
    group: Literal["loader", "data", "machine", "software", "config", "tags", "command"]
    unit: Unit
    values: list[Setting]
    differs: bool
    matters: bool
    """Known to matter for how fast batches are loaded."""


class Caution(Model):
    """Something besides the loader differs, so that the ratio may not be of the loader."""

    of: CautionOf
    sentence: str


class Comparison(Model):
    """Several runs against the first of them."""

    sentence: str
    basis: Literal["epochs", "steps"]
    """Whole epochs, starting and stopping workers included, where all runs have two; else the steps within epochs."""
    per: Literal["steps", "samples"]
    """What is counted a second: samples where batch sizes differ."""
    runs: list[ComparedRun]
    cautions: list[Caution]
    settings: list[ComparedSetting]
    """Also those that are equal."""
    hotspots: list[ComparedHotspot]
    """Those that differ first, and of these the one that changed most."""
    ledger: list[LedgerEntry]
    """Where one of the runs carries the advice of another."""


# --- events and service ---------------------------------------------------------------------------


class RunEvent(Model):
    """Sent on ``/events`` when a run has new windows, a new status or a new diagnosis, was changed or deleted."""

    topic: str
    """``runs`` or ``run:RUN_ID``."""
    run: RunSummary
    diagnosis_changed: bool
    deleted: bool = False
    """It is in the list of deleted runs, unless it is restored."""


class ServiceInfo(Model):
    """What the page needs to begin with: the address that agents use, and whether a token is required."""

    version: str
    url: str
    started_at: datetime
    token_required: bool
    signed_in: bool
    user: str | None
    """The user that the proxy in front of the service names; null: it names none."""
    scopes: list[Scope]
    """What the caller may do, in one project at least."""
    scopes_in_all: list[Scope]
    """What the caller may do in every project."""
    scopes_in: dict[str, list[Scope]]
    """What the caller may do beyond that, by project."""
    project: str | None
    """The only project that the caller may see; null: several or all."""
    keep_deleted_us: int
    """So long a deleted run can be restored."""
    labels: Mapping[str, Mapping[str, str]] = Field(default_factory=all_labels)
    """What people read, by kind (cause, change, status, bound, level) and name: for menus of names that no row has."""


AuditAction = Literal["renamed", "tagged", "noted", "archived", "unarchived", "deleted", "restored",
                      "view_created", "view_changed", "view_deleted", "channel_created", "channel_deleted",
                      "alert_rule_created", "alert_rule_deleted", "token_created", "token_revoked",
                      "groups_changed", "retention_changed", "archived_by_age", "deleted_by_age"]  # fmt: skip


class AuditEntry(Model):
    """One change that a person made."""

    entry_id: str
    at: datetime
    by: str
    """The user that the proxy in front of the service names, else the name of the token; ``owner``: that of an open
    service."""
    token_id: str | None
    action: AuditAction
    project: str | None
    run_id: str | None
    name: str
    """Of what was changed, before that."""
    before: str | dict[str, str] | None
    """The name, the tags or the notes. Of a long text, the beginning."""
    after: str | dict[str, str] | None


class AuditPage(Model):
    entries: list[AuditEntry]
    """The newest first."""
    next_cursor: str | None


# --- alerts ---------------------------------------------------------------------------------------


class Channel(Model):
    """Where alerts go; its address and secret are not shown."""

    channel_id: str
    project: str | None
    """The only project whose runs its messages are about, and whose tokens see it; null: any."""
    name: str
    kind: ChannelKind
    target: str
    """The host that messages are posted to, or the recipients."""
    made_by: str
    made_at: datetime


class ChannelMade(Channel):
    """The one answer that has the secret: it cannot be read again."""

    secret: str | None
    """With which a webhook's messages are signed; null: this kind has none."""


class AlertRule(Model):
    """When an alert is due, and to which channel it goes."""

    rule_id: str
    project: str | None
    """Of the runs that it is about; null: any."""
    user: str | None
    """Of these runs; null: any."""
    condition: Condition
    condition_label: Label = ""
    threshold: float | None
    """``data_bound``: from this share of step time; ``hours_lost``: from so many hours; ``memory``: so many hours
    ahead; null: the condition has none."""
    for_us: int
    """So long the condition must hold."""
    cool_down_us: int
    """So long no further message about the same run and cause is sent."""
    tells_recovery: bool
    channel_id: str
    made_by: str
    made_at: datetime


class Alerts(Model):
    """Who receives which messages."""

    channels: list[Channel]
    """By name; the next one too."""
    rules: list[AlertRule]
    """The newest first."""
    sends_email: bool
    """The service was given a mail server."""


class AlertFix(Model):
    """The first advice for a run."""

    title: str
    gain: str
    """Of the whole run, in words with its interval; ``no gain is predicted``."""
    predicted_speedup: float | None
    """Of the whole run; null: no gain is promised."""
    low: float | None
    high: float | None
    evidence: list[str]


class AlertMessage(Model):
    """What is sent: the same to every channel. Figures are those of the run when it became due."""

    kind: AlertKind
    condition: Condition | None
    """Null: a test."""
    condition_label: OptionalLabel = None
    title: str
    sentence: str
    why: str | None = None
    run_id: str | None = None
    run_name: str | None = None
    project: str | None = None
    user: str | None = None
    status: Status | None = None
    bound: Bound | None = None
    cause: CauseName | None = None
    cause_label: OptionalLabel = None
    data_stall_fraction: float | None = None
    hours_lost: float | None = None
    fix: AlertFix | None = None
    url: str
    """The page about it."""
    at: datetime


class Alert(Model):
    """One message to one channel, and what became of it."""

    alert_id: str
    made_at: datetime
    channel_id: str
    channel: str | None
    """Its name; null: it was removed."""
    rule_id: str | None
    """Null: a test."""
    run_id: str | None
    message: AlertMessage
    state: Literal["waiting", "sent", "failed"]
    attempts: int
    due_at: datetime | None
    """When it is tried next; null: no more."""
    sent_at: datetime | None
    error: str | None
    """Why the last attempt failed."""


class AlertsPage(Model):
    alerts: list[Alert]
    """The newest first."""
    next_cursor: str | None


class TokenInfo(Model):
    """An access token, all but its secret."""

    token_id: str
    name: str
    scopes: list[Scope]
    project: str | None
    """The only project that it opens; null: all."""
    made_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To about a minute."""
    revoked_at: datetime | None


class TokenMade(TokenInfo):
    """The one answer that has the secret: it cannot be read again."""

    token: str


class TokenList(Model):
    tokens: list[TokenInfo]
    """The newest first."""
