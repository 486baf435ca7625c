"""What a change of the catalogue is considered against: facts, verdict, and a predictor where one can be made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from underfed_server.advice.prediction.predict import Predictor, make_predictor
from underfed_server.advice.prediction.ranks import Ranks
from underfed_server.advice.prediction.regime import Regime
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError, recorded_setting
from underfed_server.advice.shares import factor_without
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.causes import all_causes
from underfed_server.diagnosis.causes.few_shards import loading_workers
from underfed_server.diagnosis.instant_data import Ceiling, most_of_one_loader, others_share, read_ceiling
from underfed_server.diagnosis.overview import Overview, overview_of
from underfed_server.diagnosis.slow_ranks import SlowRanks
from underfed_server.facts.lockstep import Lockstep
from underfed_server.facts.places import storage_place
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import CauseFinding, LoaderInfo, Verdict
from underfed_server.names import CauseName, ChangeName


@dataclass(frozen=True, slots=True)
class Case:
    """A run in which something about its input may be changed. ``predictor`` is ``None`` when ``obstacle`` says why."""

    facts: RunFacts
    verdict: Verdict
    loader: LoaderInfo
    rank: RankFacts
    together: Lockstep | None
    """Where the ranks are late in turn."""
    predictor: Predictor | None
    obstacle: str | None
    change: ChangeName = ""
    """The change that is being considered."""

    @property
    def not_in_code(self) -> dict[str, str]:
        """Settings that the program's own code does not have, each with where it is from."""
        tuned = filter(self.is_kept_by_tuning, self.loader.settings)
        return dict.fromkeys(self.facts.overrides, "set for this run") | dict.fromkeys(tuned, "kept by --tune")

    def is_kept_by_tuning(self, setting: str) -> bool:
        """Whether the loader has another value than the one that it was tuned from."""
        tuning = self.facts.tuned.tuning if self.facts.tuned else None
        kept = tuning.kept if tuning else None
        return bool(tuning and kept and setting in kept and tuning.began_with.get(setting) != kept[setting])

    def current(self, setting: str, value: int) -> str:
        """As titles name it: where the program's code has another, with where it is from."""
        whence = self.not_in_code.get(setting)
        return f"{value} ({whence})" if whence else str(value)

    @property
    def cause(self) -> CauseFinding | None:
        """The costliest in the verdict that the change cures."""
        return next((each for each in self.verdict.causes if cures(self.change, each)), None)

    @property
    def waits_for_data(self) -> bool:
        """Only then is a change considered that makes loading faster."""
        return self.verdict.bound == "data"

    @property
    def is_short_of_memory(self) -> bool:
        return self.found("memory_pressure") is not None

    @property
    def num_workers(self) -> int:
        return self.loader.num_workers or 0

    @property
    def prefetch_factor(self) -> int:
        """torch's default where none is given."""
        return self.loader.prefetch_factor or 2

    @property
    def recorded(self) -> SimulatedSetting:
        """The setting that the run had. Workers that never load count for nothing."""
        return recorded_setting(_as_it_loads(self.loader, self.rank, self.verdict))

    @property
    def ranks_on_host(self) -> int:
        """Ranks that share cores, memory and /dev/shm with the judged one, which is included."""
        return len(self.facts.on_host_of(self.rank))

    @property
    def cpu_us(self) -> float | None:
        """CPU time of a step: to load a batch and to train on it, in all processes of the rank. ``None``: loading was
        not measured.
        """
        load = measures.mean(self.rank.batches.cpu_us)
        if load is None:
            return None
        # Without workers, the training process computes loading too.
        training = (self.rank.process.process_cores or 0.0) * self.rank.step_us - (0.0 if self.num_workers else load)
        return load + max(0.0, training)

    def ceiling(self, rank: RankFacts) -> Ceiling:
        """Of a rank whose batches of this loader were all there at once."""
        return read_ceiling(rank, self.facts.host, self.together).leaving(others_share(rank))

    def ceiling_without(self, share: float) -> float:
        """The speed-up without ``share`` of loading. With workers, steps take at least the share of their time that is
        left of loading; without, loading is added to the step, and only that part of the step shortens.
        """
        instant = self.ceiling(self.rank).speedup
        if not self.num_workers and not self.rank.is_read_ahead:
            # The device's clock may see less of loading than the loop waits, the other ranks' clocks more.
            share *= max(self.rank.data_wait_us / self.rank.step_us, 1 - 1 / instant)
        return min(factor_without(share), instant)

    @property
    def could_be(self) -> Ceiling | None:
        """Of the loop if this loader's batches cost nothing; ``None``: it loses nothing to input, or nothing shows
        it."""
        return most_of_one_loader(self.rank, self.facts.host, self.verdict.bound, self.together)

    @property
    def regime(self) -> Regime | None:
        """That of the run as it was; ``None``: its loading cannot be simulated."""
        return self.predictor.class_of(self.recorded).regime if self.predictor else None

    def predicting(self) -> Predictor:
        """The predictor.

        Raises:
            PredictionError: other settings cannot be predicted from this run; the message is the reason.
        """
        if self.predictor is None:
            raise PredictionError(self.obstacle)
        return self.predictor

    def considering(self, change: ChangeName) -> Case:
        return replace(self, change=change)

    def found(self, *causes: CauseName) -> CauseFinding | None:
        """The costliest of these that the verdict names.

        Raises:
            KeyError: there is no such cause.
        """
        wanted = {name for name in causes if all_causes()[name]}
        return next((finding for finding in self.verdict.causes if finding.cause in wanted), None)

    def cost_fraction(self, change: ChangeName) -> float:
        """Share of a step that the causes cost which ``change`` cures."""
        return sum(each.cost_fraction for each in self.verdict.causes if cures(change, each))


def cures(change: ChangeName, finding: CauseFinding) -> bool:
    return change in all_causes()[finding.cause].cured_by


def make_case(facts: RunFacts, verdict: Verdict, overview: Overview | None = None) -> Case | None:
    """``None`` for runs that get no advice: nothing is lost to input and nothing will fail, or no loader is known.

    ``overview``: of ``facts``, where the verdict was made of one.
    """
    concerns_any = any(all_causes()[finding.cause].at_any_bound for finding in verdict.causes)
    if facts.loader is None or not (verdict.bound in ("data", "transfer") or concerns_any):
        return None
    overview = overview or overview_of(facts)
    slow, elsewhere = overview.slow, overview.storage.elsewhere
    rank = slow.judged
    try:
        place = storage_place(facts, rank)
        loader, ranks = _as_it_loads(facts.loader, rank, verdict), _ranks(facts, slow)
        predictor = make_predictor(rank, loader, facts.host, ranks, place, elsewhere, facts.proven)
        obstacle = None
    except PredictionError as error:
        predictor, obstacle = None, str(error)
    return Case(facts, verdict, facts.loader, rank, slow.late_in_turn, predictor, obstacle)


def _as_it_loads(loader: LoaderInfo, rank: RankFacts, verdict: Verdict) -> LoaderInfo:
    """With the workers that have a shard alone, where others have none."""
    has_few = any(finding.cause == "few_shards" for finding in verdict.causes)
    loading = loading_workers(rank, loader) if has_few else None
    return (
        loader
        if loading is None
        else loader.model_copy(update={"settings": {**loader.settings, "num_workers": loading}})
    )


def _ranks(facts: RunFacts, slow: SlowRanks) -> Ranks:
    rank = slow.judged
    here = facts.on_host_of(rank)
    others = sum(measures.own_cores(each.process) for each in here) - measures.own_cores(rank.process)
    mates = tuple(each for each in here if each.rank != rank.rank)
    return Ranks(len(here), others, mates, slow.late_in_turn)
