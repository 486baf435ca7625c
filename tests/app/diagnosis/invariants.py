"""What holds of every diagnosis the service makes, each in a sentence: figures beside each other do not contradict.

Read off the diagnosis alone, as a reader has it, so that they hold of made, recorded and stored ones alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from underfed_server import figures
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.hours_saved import DELAYED, hours_judged, within_lost
from underfed_server.advice.order import OF_WORK
from underfed_server.advice.outside_loader import LEAST_COST, SAVE_LESS
from underfed_server.diagnosis.bound import find_level
from underfed_server.diagnosis.causes import all_causes
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.diagnosis.rounded import percent
from underfed_server.model import Advice, Anatomy, CauseFinding, Diagnosis, Refusal
from underfed_server.names import all_labels

Invariant = Callable[[Diagnosis], Iterator[str]]
"""Yields what contradicts it."""

INVARIANTS: list[Invariant] = []

ROUNDED = 2
"""Microseconds by which parts may differ from their whole: each is rounded."""

NEARLY = 1e-6

WRITTEN = 1.005
"""Factors are written with two decimals."""

OTHER_THAN_WAITING = ("cause", "symptom")

OF_ALL_LOADING = ("num_workers", "prefetch_factor")
"""Changes whose gain is that of loading as a whole; any other has an evidence of what it saves at most."""


WHOLE_US = 1e-3
"""By which a figure may differ from the same one computed of a step's parts, which are whole microseconds."""

SAVED_AT_MOST = r"( at most|^Waiting while later batches are ready), of (step|load) time$"


def invariant(check: Invariant) -> Invariant:
    INVARIANTS.append(check)
    return check


def contradictions(said: Diagnosis) -> list[str]:
    """In words; none of a diagnosis that is consistent."""
    return [f"{(check.__doc__ or '').strip()} But {what}" for check in INVARIANTS for what in check(said)]


# --- the step and its parts ------------------------------------------------------------------------


@invariant
def parts_add_up(said: Diagnosis) -> Iterator[str]:
    """The parts of a step are none below 0, and add up to it: of the measured one and of every predicted one."""
    for name, step in _steps(said):
        parts = [step.data_wait_us, step.others_wait_us or 0, step.h2d_exposed_us or 0, step.compute_us]
        if min(parts) < 0 or abs(sum(parts) - step.step_us) > ROUNDED:
            yield f"{name} of {step.step_us} µs has the parts {parts}"
        within = [("idle", step.gpu_idle_us), ("sampler", step.sampler_us)]
        yield from (f"{name}: {part} is more than the wait" for part, us in within if (us or 0) > step.data_wait_us + 2)


@invariant
def shares_are_shares(said: Diagnosis) -> Iterator[str]:
    """Every fraction lies between 0 and 1."""
    found = {"data_stall_fraction": said.data_stall_fraction}
    found |= {f"cost of {each.cause}": each.cost_fraction for each in said.causes}
    found |= {f"rank {each.rank}": each.data_stall_fraction for each in said.ranks}
    found |= {f"loader {each.loader}": each.data_stall_fraction for each in said.loaders}
    found |= {f"share of {each.loader}": each.share_of_run_fraction for each in said.loaders}
    rows = [each.measured for each in said.signals]
    for part in _with_evidence(said):
        rows += part.evidence
    for row in rows:
        if row.unit == "fraction" and not isinstance(row.value, str):
            found[row.what] = row.value
    yield from (
        f"{name} is {share}" for name, share in found.items() if share is not None and not -1e-9 <= share <= 1 + 1e-9
    )


@invariant
def causes_cost_no_more_than_is_lost(said: Diagnosis) -> Iterator[str]:
    """Together the causes of the wait cost at most the wait, and those of copies at most the copies."""
    if said.data_stall_fraction is None or said.anatomy is None:
        return
    waits = sum(each.cost_fraction for each in said.causes if not all_causes()[each.cause].is_of_copy)
    copies = sum(each.cost_fraction for each in said.causes if all_causes()[each.cause].is_of_copy)
    if waits > said.data_stall_fraction + NEARLY:
        yield f"they cost {waits:.4f} of a wait of {said.data_stall_fraction:.4f}"
    if copies > _copy_share(said.anatomy) + ROUNDED / said.anatomy.step_us + NEARLY:
        yield f"they cost {copies:.4f} of copies of {_copy_share(said.anatomy):.4f}"


@invariant
def level_is_of_the_loss(said: Diagnosis) -> Iterator[str]:
    """The level is that of what the loop waits for this loader, or for all of its loaders. So is that of the share in a
    sentence about one loader, as it is written there."""
    share = said.stated_stall_fraction
    if share is None or said.data_stall_fraction is None or said.anatomy is None:
        return
    others = (said.anatomy.others_wait_us or 0) / said.anatomy.step_us
    levels = {find_level(said.data_stall_fraction), find_level(said.data_stall_fraction + others)}
    if said.level not in levels and said.clock == "host":
        yield f"{said.level} of a wait of {said.data_stall_fraction:.4f}, {others:.4f} for others"
    written = find_level(float(percent(share).rstrip("%").removeprefix("less than ")) / 100)
    if len(said.loaders) < 2 and not others and written != said.level:
        yield f"{said.level}, and it is said: {said.sentence!r}"


# --- hours -----------------------------------------------------------------------------------------


@invariant
def lost_hours_are_used_hours(said: Diagnosis) -> Iterator[str]:
    """No more hours are lost than used, nor in copies than in all, nor on GPUs than at all."""
    if said.hours_lost is None or said.hours_used is None:
        return
    limits = [("lost", said.hours_lost, said.hours_used), ("in copies", said.copy_hours_lost, said.hours_lost)]
    limits += [("on GPUs", said.gpu_hours_lost, said.hours_lost)]
    for name, hours, most in limits:
        if hours is not None and not -NEARLY * most <= hours <= most * (1 + NEARLY):
            yield f"{hours} hours {name} are not within {most}"


@invariant
def hours_of_loaders_add_up(said: Diagnosis) -> Iterator[str]:
    """The hours lost are those of all loaders, and those of copies."""
    if said.hours_lost is None or said.hours_used is None or not said.loaders:
        return
    parts = sum(each.hours_lost for each in said.loaders) + (said.copy_hours_lost or 0.0)
    if said.hours_lost < said.hours_used and abs(parts - said.hours_lost) > 1e-4 * said.hours_lost + 1e-9:
        yield f"{said.hours_lost} hours have the parts {[each.hours_lost for each in said.loaders]}"


# --- fixes -----------------------------------------------------------------------------------------


@invariant
def ranges_are_ordered(said: Diagnosis) -> Iterator[str]:
    """A gain lies in its range, and a range has its lower end below."""
    for each in said.advice:
        for gain, low, high in (_gain(each), (each.run_speedup, each.run_low, each.run_high)):
            known = [value for value in (low, gain, high) if value is not None]
            if known != sorted(known) or any(value <= 0 for value in known) or (low is None) != (high is None):
                yield f"{each.change} gains {gain} within {low} to {high}"


@invariant
def no_fix_saves_more_than_its_part(said: Diagnosis) -> Iterator[str]:
    """No fix saves more of the step than waits for its loader, and copies where these are judged, take of it."""
    could_be = _of_one_loader(said, _could_be(said))
    for each in said.advice:
        for gain in (each.predicted_speedup, each.low):
            if could_be is not None and gain and gain > could_be * (1 + NEARLY):
                yield f"{each.change} gains × {gain} of what could be × {could_be}"


@invariant
def nothing_is_above_instant_data(said: Diagnosis) -> Iterator[str]:
    """No figure that is served of a gain is above what instant data would give, as it is served: neither an end of an
    interval, nor a setting to try, nor a factor in a sentence."""
    most = _could_be(said, said.instant_data_high_steps_per_s)
    if most is None:
        return
    of_one = _of_one_loader(said, most) or most
    for each in said.advice:
        gains = [*_gain(each), each.ceiling, each.run_speedup, each.run_high, each.run_ceiling]
        gains += [float(gain) for gain in re.findall(r"(?<!\d )× ([\d.]+\d)", f"{each.why} {each.assumption or ''}")]
        above = [gain for gain in gains if gain is not None and gain > of_one * WRITTEN]
        yield from (f"{each.change}: × {gain}, instant data × {most}" for gain in above)
    for one in said.candidates.candidates if said.candidates else []:
        if one.high is not None and one.high > most * (1 + NEARLY):
            yield f"{one.settings} may gain × {one.high}, instant data × {most}"


@invariant
def what_instant_data_may_turn_out_to_be_is_no_less(said: Diagnosis) -> Iterator[str]:
    """Instant data gives at least what is computed, and both its ends are stated wherever they differ."""
    computed, high = said.instant_data_steps_per_s, said.instant_data_high_steps_per_s
    if computed is not None and (high is None or high < computed * (1 - NEARLY)):
        yield f"{computed} steps/s are computed, and {high} at most"


@invariant
def a_fix_of_its_causes_alone_gains_no_more_than_they_cost(said: Diagnosis) -> Iterator[str]:
    """A fix that touches nothing but what its causes cost gains no more than their being gone, as they state it."""
    for each in said.advice:
        if all_changes()[each.change].is_of_its_causes and each.predicted_speedup is not None:
            cured = [cause for cause in said.causes if each.change in all_causes()[cause.cause].cured_by]
            cost = sum(cause.cost_fraction for cause in cured)
            if each.predicted_speedup * (1 - cost) > 1 + NEARLY:
                yield f"{each.change} gains × {each.predicted_speedup}, and its causes cost {cost:.4f}"


@invariant
def no_ceiling_is_above_what_the_evidence_lets_be_saved(said: Diagnosis) -> Iterator[str]:
    """No fix has a ceiling above what its evidence says that it saves at most."""
    for each in said.advice:
        most = [row.value for row in each.evidence if re.search(SAVED_AT_MOST, row.what)]
        for share in (value for value in most if isinstance(value, float)):
            if each.ceiling is not None and each.ceiling * (1 - share) > WRITTEN:
                yield f"{each.change} has the ceiling × {each.ceiling}, and saves {share:.4f} at most"


@invariant
def no_interval_ends_above_what_the_evidence_lets_be_saved(said: Diagnosis) -> Iterator[str]:
    """Where the evidence of a fix says what it can save at most, the upper end of its gain is no more than that."""
    for each in said.advice:
        most = [row.value for row in each.evidence if re.search(SAVED_AT_MOST, row.what)]
        for share in (value for value in most if isinstance(value, float)):
            if each.high is not None and each.high * (1 - share) > WRITTEN:
                yield f"{each.change} may gain × {each.high}, and saves {share:.4f} at most"


@invariant
def an_interval_says_something(said: Diagnosis) -> Iterator[str]:
    """A gain that may as well be a loss and far from one is stated without figures, with the reason."""
    for each in said.advice:
        if each.low is not None and each.high is not None and each.low < 0.9 and each.high > 3 * each.low * WRITTEN:
            yield f"{each.change} may gain × {each.low} to {each.high}"
        if each.predicted_speedup is None and not each.assumption:
            yield f"{each.change} has neither a gain nor a reason"


@invariant
def more_workers_are_not_advised_against_full_cores(said: Diagnosis) -> Iterator[str]:
    """Where the run's own work fills the cores above all, more workers are not offered on trial."""
    is_full = bool(said.causes) and said.causes[0].cause == "cpu_limited" and said.beside_loader is None
    for each in said.advice if is_full and said.bound == "data" else []:
        is_more = each.change == "num_workers" and each.title.startswith("Raise")
        if is_more and (each.low is None or each.low < 1):
            yield f"{each.title} may gain × {each.low}, and {said.causes[0].sentence!r}"


@invariant
def what_is_applied_is_the_first_fix(said: Diagnosis) -> Iterator[str]:
    """``--apply`` takes the first fix that can be set, and is shown beside the first one alone."""
    for place, each in enumerate(said.advice):
        if place and "--apply" in (each.command or ""):
            yield f"{each.change} has {each.command!r}, behind {said.advice[0].change}"


@invariant
def there_is_one_first_fix(said: Diagnosis) -> Iterator[str]:
    """What hours are said to be saved by is the first of the list, which is named as the first fix everywhere."""
    first = next(iter(said.advice), None)
    if said.hours_saved is not None and not (first and first.is_promised):
        yield f"{said.hours_saved} are saved by the first fix, {first and first.change}, that promises nothing"


@invariant
def no_ceiling_lies_within_an_interval(said: Diagnosis) -> Iterator[str]:
    """What is called the most that a fix can gain is no less than what it may gain."""
    for each in said.advice:
        for gain in (each.predicted_speedup, each.low, each.high):
            if each.ceiling is not None and gain is not None and gain > each.ceiling * (1 + NEARLY):
                yield f"{each.change} may gain × {gain}, and × {each.ceiling} at best"


@invariant
def there_is_one_could_be(said: Diagnosis) -> Iterator[str]:
    """What instant data would gain is one figure: the ceiling of a fix of all that this loader loads, and above that of
    any part."""
    could_be = _of_one_loader(said, _could_be(said))
    for each in said.advice:
        if each.ceiling is None or could_be is None:
            continue
        near = WHOLE_US if said.anatomy and said.anatomy.others_wait_us else NEARLY
        highest = _of_one_loader(said, _could_be(said, said.instant_data_high_steps_per_s)) or could_be
        within = within_lost(Ceiling(could_be, highest), said, said.loaders, said.loader, is_of_run=True)
        lowest, highest = (could_be, highest) if within is None else (within.speedup, within.highest)
        is_within = each.high is not None and each.high > lowest * (1 + NEARLY)
        most = highest if is_within else lowest
        is_of_all = each.change in OF_ALL_LOADING and abs(each.ceiling - most) > near * most
        if is_of_all or each.ceiling > most * (1 + near):
            yield f"{each.change} could be × {each.ceiling}, the verdict × {could_be}"


@invariant
def a_predicted_step_is_the_gain(said: Diagnosis) -> Iterator[str]:
    """A predicted step is shorter by the gain, waits no longer, and copies as long as the measured one."""
    if said.anatomy is None:
        return
    for each in said.advice:
        if each.anatomy is None or not each.predicted_speedup:
            continue
        expected = said.anatomy.step_us / each.predicted_speedup
        if abs(each.anatomy.step_us - expected) > ROUNDED + 1e-3 * expected:
            yield f"{each.change} by × {each.predicted_speedup} gives {each.anatomy.step_us} µs for {expected}"
        if each.anatomy.data_wait_us > said.anatomy.data_wait_us + ROUNDED and each.predicted_speedup > 1:
            yield f"{each.change} gains, and waits {each.anatomy.data_wait_us} µs for {said.anatomy.data_wait_us}"
        left = each.anatomy.step_us - each.anatomy.data_wait_us - (each.anatomy.others_wait_us or 0)
        if (each.anatomy.h2d_exposed_us or 0) != min(left, said.anatomy.h2d_exposed_us or 0):
            yield f"{each.change} copies for {each.anatomy.h2d_exposed_us} µs, before for {said.anatomy.h2d_exposed_us}"


@invariant
def a_run_gains_no_more_than_its_loop(said: Diagnosis) -> Iterator[str]:
    """What one loop gains, its run gains at most."""
    for each in said.advice:
        for of_run, of_loop in zip((each.run_speedup, each.run_low, each.run_high), _gain(each), strict=True):
            if of_run is not None and (of_loop is None or abs(of_run - 1) > abs(of_loop - 1) + NEARLY):
                yield f"{each.change}: × {of_run} of the run, × {of_loop} of the loop"


@invariant
def a_change_is_offered_or_refused_once(said: Diagnosis) -> Iterator[str]:
    """A change is advised or refused, and not both, nor twice; a cheaper transform once for each costly line."""
    names = [
        f"{each.change} to {each.to}" if each.change == "cheaper_transform" else each.change for each in said.advice
    ]
    names += [*{each.change for each in said.advice if each.change == "cheaper_transform"}]
    names += [each.change for each in said.refusals]
    yield from (f"{name} is there {names.count(name)} times" for name in sorted(set(names)) if names.count(name) > 1)


@invariant
def settings_are_those_of_the_title(said: Diagnosis) -> Iterator[str]:
    """A fix names one value: in its title, its settings, and the lines to change."""
    for each in said.advice:
        if each.change in each.settings and each.settings[each.change] != each.to:
            yield f"{each.change} to {each.to}, with the settings {each.settings}"
        numbers = re.search(r" from (\d+) to (\d+)", each.title)
        if numbers and numbers.groups() != (str(each.from_), str(each.to)):
            yield f"{each.title!r} goes from {each.from_} to {each.to}"
        added = re.findall(rf"^\+.*?\b{each.change}=([^,)\n]+)", each.diff, re.MULTILINE)
        if each.change in ("num_workers", "prefetch_factor") and added != [repr(each.to)]:
            yield f"{each.change} to {each.to}, with the lines {added}"


# --- words -----------------------------------------------------------------------------------------


@invariant
def what_is_marked_is_a_cause_or_explained(said: Diagnosis) -> Iterator[str]:
    """A row that is marked as the cause belongs to one that was found, under its name."""
    labels = {each.cause_label for each in said.causes}
    for row in said.signals:
        if row.reading == "cause" and row.says not in labels:
            yield f"{row.signal!r} is marked {row.says!r}, and the causes are {sorted(labels)}"


@invariant
def a_cause_is_not_ruled_out(said: Diagnosis) -> Iterator[str]:
    """A cause that was found is marked in the evidence, unless it has no row there."""
    marked = {row.says for row in said.signals if row.reading == "cause"}
    for each in said.causes:
        if all_causes()[each.cause].signals and each.cause_label not in marked:
            yield f"{each.cause_label} was found, and marked are {sorted(marked)}"


@invariant
def nothing_unexplained_is_called_ruled_out(said: Diagnosis) -> Iterator[str]:
    """Where the verdict says that all was ruled out, no row of a cause is marked."""
    if "were ruled out" in (said.why or ""):
        waits = ("Waiting", "GPU idle", "Saved by", "Requests")
        for row in said.signals:
            if row.reading in OTHER_THAN_WAITING and not row.signal.startswith(waits):
                yield f"{row.signal!r} is marked {row.says!r}"


@invariant
def one_name_for_one_thing(said: Diagnosis) -> Iterator[str]:
    """Causes and changes have the label that their name has everywhere."""
    labels = all_labels()
    yield from (each.cause for each in said.causes if each.cause_label != labels["cause"][each.cause])
    yield from (each.change for each in _considered(said) if each.change_label != labels["change"][each.change])


@invariant
def evidence_of_one_name_has_one_value(said: Diagnosis) -> Iterator[str]:
    """A figure that stands twice under one name is the same both times."""
    seen: dict[str, tuple[object, str]] = {}
    for part in _with_evidence(said):
        for row in part.evidence:
            known = seen.setdefault(row.what, (row.value, row.unit))
            if known != (row.value, row.unit):
                yield f"{row.what!r} is {known} and {(row.value, row.unit)}"


@invariant
def the_sentence_has_the_figure_of_its_field(said: Diagnosis) -> Iterator[str]:
    """The share in the verdict's sentence is that of the field beside it."""
    if said.data_stall_fraction is None or said.anatomy is None:
        return
    shares = re.findall(SHARE, said.sentence)
    if said.bound == "transfer":
        expected = percent(_copy_share(said.anatomy))
    elif said.bound == "data" and said.stated_stall_fraction is not None:
        expected = percent(said.stated_stall_fraction)
    else:
        return
    if expected not in shares and f"{100 * (said.stated_stall_fraction or 0.0):.1f}%" not in shares:
        yield f"{said.sentence!r}, and the field says {expected}"


SHARE = r"(?:less than )?\d+(?:\.\d+)?%"


@invariant
def who_divides_the_hours_finds_a_share_that_is_said(said: Diagnosis) -> Iterator[str]:
    """What was lost to waiting for data, of the time between pauses, is a share in the sentence; but where that is of
    the steps since a change, or of a thread that reads ahead."""
    is_other = said.judged_from_step is not None or "reads ahead for" in said.sentence
    if said.bound != "data" or said.hours_lost is None or not said.hours_used or is_other:
        return
    lost = said.hours_lost - (said.copy_hours_lost or 0.0)
    share = min(1.0, lost / (said.hours_used * (1 - figures.shown_pauses(said))))
    # The share of nearly all, by which a sum of rounded hours is off.
    near = {percent(share), percent(max(0.0, share - 1e-4)), percent(min(1.0, share + 1e-4)), f"{100 * share:.1f}%"}
    if not near & set(re.findall(SHARE, said.sentence)):
        yield f"{lost} of {said.hours_used} hours are {percent(share)}, and it is said: {said.sentence!r}"


@invariant
def causes_are_named_with_their_part_of_the_wait(said: Diagnosis) -> Iterator[str]:
    """A share behind a cause is that of the wait which would go away with it."""
    for each in said.causes:
        first = re.split(r"\.(?= |$)", each.sentence, maxsplit=1)[0]
        match = re.search(rf"{re.escape(first)} \(({SHARE}) of the wait[^)]*\)", said.why or "")
        expected = percent(min(1.0, each.cost_fraction / (said.data_stall_fraction or math.inf)))
        if match is not None and match[1] != expected:
            yield f"{each.cause} costs {expected} of it, and it is said: {said.why!r}"


@invariant
def causes_stand_in_the_order_of_what_is_done_about_them(said: Diagnosis) -> Iterator[str]:
    """A cause that an earlier act is about is named before one that a later act is about."""
    outside = ["cpu_limited" if each.title.startswith("Move the other jobs") else "" for each in said.beside]
    inside = [each.change for each in said.advice]
    acts = [*outside, *inside] if said.is_beside_first else [*inside, *outside]
    places: list[tuple[int, int]] = []
    for each in said.causes:
        at = re.sub(COST, "", said.why or "").find(each.sentence)
        about = {each.cause, *all_causes()[each.cause].cured_by}
        if at >= 0 and said.bound == "data":
            places.append((at, next((place for place, act in enumerate(acts) if act in about), len(acts))))
    order = [place for _, place in sorted(places)]
    if order != sorted(order):
        yield f"the acts are {acts}, and it is said: {said.why!r}"


@invariant
def what_is_saved_is_what_the_gain_takes_off(said: Diagnosis) -> Iterator[str]:
    """The hours that the first fix saves are those which its gain takes off the hours that it is of, no more than were
    lost; but where instant data gains more than the waits, or the headline has another share of the judged steps."""
    hours, best, saved = hours_judged(said, said.loaders), said.best_advice, said.hours_saved
    could_be = _of_one_loader(said, _could_be(said))
    if hours is None or best is None or saved is None or said.bound != "data" or could_be is None:
        return
    is_more = could_be * (1 - (said.data_stall_fraction or 0.0)) > DELAYED
    if is_more or ", and " in said.sentence:
        return
    gain, low, high = best.gain_of_run
    for end, stated in ((low, saved.low), (high, saved.high)):
        factor = gain if end is None else end
        if factor is not None and abs(stated - max(0.0, hours.used * (1 - 1 / factor))) > 0.01 * hours.used:
            yield f"{stated} of {hours.used} hours are saved by × {factor}"


@invariant
def the_speed_is_that_of_the_step(said: Diagnosis) -> Iterator[str]:
    """Without waits the loop gets a batch in what is left of the mean step, and no more than instant data may give."""
    least, most = said.instant_data_steps_per_s, said.instant_data_high_steps_per_s
    if least is not None and most is not None and most < least:
        yield f"without waits {least} steps/s, and at most {most}"
    match = re.search(r"; ([\d,.]+) if no step waited for ", figures.speed(said) or "")
    if match is None or said.anatomy is None or not said.steps_per_s or not said.instant_data_steps_per_s:
        return
    per_step = (said.samples_per_s or said.steps_per_s) / said.steps_per_s
    stated_least = float(match[1].replace(",", "")) / per_step
    waits = said.anatomy.data_wait_us + (said.anatomy.others_wait_us or 0)
    rest = said.anatomy.step_us - waits - ((said.anatomy.h2d_exposed_us or 0) if said.bound == "transfer" else 0)
    near = 0.006 + 0.5 / per_step / stated_least
    if rest > 0 and stated_least * rest / 1e6 > 1 + near + ROUNDED / rest:
        yield f"{match[0]!r}, and {rest} µs are left of the step"
    if most is not None and stated_least > most * (1 + near):
        yield f"{match[0]!r}, and instant data may give {most} steps/s"


@invariant
def every_gain_has_its_ceiling_and_is_below_it(said: Diagnosis) -> Iterator[str]:
    """A gain with an interval has a ceiling, wherever one is known, and its upper end is not above that as written."""
    could_be = _could_be(said, said.instant_data_high_steps_per_s)
    for each in said.advice:
        for high, ceiling in ((each.high, each.ceiling), (each.run_high, each.run_ceiling)):
            if could_be is not None and each.is_promised and high is not None and ceiling is None:
                yield f"{each.change} may gain × {high}, and has no ceiling"
            if high is not None and ceiling is not None and round(high, 2) > round(ceiling, 2) + NEARLY:
                yield f"{each.change} may gain × {high} under a ceiling of × {ceiling}"


@invariant
def what_others_give_back_has_one_gain(said: Diagnosis) -> Iterator[str]:
    """What is to be done outside the loader is stated with what it gains at most, in hours as in factors, and no more
    than the run has."""
    if said.beside and (bool(said.beside_loader) is False or said.beside[0].speedup != said.beside_speedup):
        yield f"{said.beside[0]} under {said.beside_loader!r}, × {said.beside_speedup}"
    hours = hours_judged(said, said.loaders)
    for each in said.beside:
        if each.speedup is None or each.hours_saved is None or not hours or not hours.used:
            continue
        if abs(each.hours_saved / hours.used - (1 - 1 / each.speedup)) > NEARLY:
            yield f"{each.title} saves {each.hours_saved} of {hours.used} hours, × {each.speedup}"


@invariant
def costs_add_up_to_the_wait_or_the_rest_is_said(said: Diagnosis) -> Iterator[str]:
    """What of the wait no cause costs is said, unless it is a few percent."""
    if said.bound != "data" or not said.causes or said.data_stall_fraction is None:
        return
    waits = sum(each.cost_fraction for each in said.causes if not all_causes()[each.cause].is_of_copy)
    rest, limit = said.data_stall_fraction - waits, max(0.03, 0.1 * said.data_stall_fraction)
    match = re.search(
        r"The rest of the wait has no known cause|With more workers ([\d.]+%) of the wait would", said.why or ""
    )
    if abs(rest - limit) > 1e-6 and (match is not None) != (rest > limit):
        yield f"{rest:.4f} of {said.data_stall_fraction:.4f} are left, and it is said: {said.why!r}"
    if match is not None and match[1] is not None and match[1] != percent(rest / said.data_stall_fraction):
        yield f"{rest / said.data_stall_fraction:.4f} is left, and it is said: {said.why!r}"


@invariant
def what_comes_first_is_one_answer(said: Diagnosis) -> Iterator[str]:
    """What lies outside the loader comes first where it is known, no fix promises a gain, and the first one is no work
    that surely may give more."""
    may_be = said.beside_loader is not None and not any(one.is_promised for one in said.advice)
    first = next((one for one in said.advice[:1] if one.change in OF_WORK), None)
    most = None if first is None else first.run_ceiling or first.ceiling
    least = None if first is None or first.run_ceiling else first.ceiling_low or first.ceiling
    outside = said.beside_speedup or math.inf
    if said.is_beside_first and (not may_be or (least or 0.0) > outside + NEARLY):
        yield f"{said.beside_loader!r} is first, × {outside} before × {least} or {said.advice[:1]}"
    if may_be and not said.is_beside_first and (most or 0.0) < outside - NEARLY:
        yield f"{said.beside_loader!r} is not first, × {outside} after × {most}"


@invariant
def a_leading_cause_is_what_the_sentence_is_about(said: Diagnosis) -> Iterator[str]:
    """Why the run waits begins with one of its causes and has the leading one, or begins with the rank that works
    longer than the others."""
    works = any(each.works_longer for each in said.ranks)
    if said.causes and said.bound in ("data", "transfer") and not works:
        why = re.sub(COST, "", re.sub(PAUSES, "", _why_it_waits(said)))
        sentences = [re.sub(COST, "", each.sentence) for each in said.causes]
        if not any(map(why.startswith, sentences)) or sentences[0] not in why:
            yield f"{said.why!r} is not of {sentences}"


SAVING = (
    r"(?:(?:Checkpoints (?:take|between) .*? were written|"
    r"Saves shorter than two steps are not counted: .*? with --profile alone|"
    r"Of the looks at the training thread .*? found it saving|"
    r"The training thread was seen saving in .*?, in [^ ]+|Other pauses of the program take .*? was not seen)\. ?)"
)
PAUSES = (
    r"^(?:([\d.]+%) of this loop's time \([^)]*\) goes to pauses, more than to waiting: .*? validation\. ?"
    rf"|(?P<saving>{SAVING}+))"
)
COST = r" \([\d.]+% of [^)]*\)"


RESTARTS = r"^The program was started again .*? went by without a step\. No share counts them\. ?"


def _why_it_waits(said: Diagnosis) -> str:
    """Without restarts, where these are named before."""
    return re.sub(RESTARTS, "", said.why or "")


@invariant
def restarts_that_took_more_than_waiting_are_named_first(said: Diagnosis) -> Iterator[str]:
    """The time in which the program was started again begins the verdict and its reason where it is the largest loss,
    and stands before the other hours."""
    match = re.match(rf"Starting the program again took {DURATION}; ", said.sentence)
    again = said.hours_restarting
    if (match is not None) != (again is not None) or (again is not None) != bool(re.match(RESTARTS, said.why or "")):
        yield f"{again} hours, {said.sentence!r} and {said.why!r}"
    elif again is not None and match is not None:
        ranks = max(1, len(said.ranks))
        if match[1] != figures.duration(again / ranks * 3.6e9) or again * (1 + NEARLY) < (said.hours_lost or 0.0):
            yield f"{again} hours of {ranks} ranks, {said.hours_lost} are lost, and it is said: {said.sentence!r}"


@invariant
def a_larger_loss_than_waiting_is_named_first(said: Diagnosis) -> Iterator[str]:
    """Where more of the loop's time goes to pauses than to waiting, why it waits begins with that."""
    paused, waits = said.paused_fraction, said.data_stall_fraction
    if paused is None or waits is None:
        return
    match = re.match(PAUSES, _why_it_waits(said))
    headline = re.search(r"(?:^|; |step [^;]*? )[Pp]auses take ([\d.]+%) of the time; ", said.sentence)
    share = percent(paused) if paused >= max(0.05, (1 - paused) * waits) else None
    if len(said.loaders) < 2 and (headline[1] if headline else None) != share:
        yield f"{paused:.4f} are pauses, {waits:.4f} of the rest is waiting, and it is said: {said.sentence!r}"
    if share is not None and (match is None or match[1] not in (share, None)):
        yield f"{said.why!r} under {said.sentence!r}"
    if share is None and match is not None and match[1] is not None:
        yield f"{paused:.4f} are pauses, {waits:.4f} of the rest is waiting, and it is said: {said.why!r}"


@invariant
def what_is_advised_follows_from_a_cause_that_is_named(said: Diagnosis) -> Iterator[str]:
    """The first fix cures a cause that the paragraph names, if it cures one."""
    for each in said.advice[:1]:
        cured = [cause for cause in said.causes if each.change in all_causes()[cause.cause].cured_by]
        why = re.sub(COST, "", said.why or "")
        if cured and said.bound == "data" and not any(re.sub(COST, "", cause.sentence) in why for cause in cured):
            yield f"{each.change} cures {[cause.cause for cause in cured]}, and it is said: {said.why!r}"


@invariant
def what_others_take_is_for_them_to_give_back(said: Diagnosis) -> Iterator[str]:
    """What is to be done outside the run is said where full cores of others are a cause worth it, or its checkpoints
    take more of its time than waiting, and only there."""
    crowded = [
        each
        for each in said.causes
        if each.cost_fraction >= LEAST_COST and re.match(r"Other jobs use [\d.]+ of the ", each.sentence)
    ]
    is_outside = any(each.cause == "cpu_limited" for each in crowded)
    paused = re.match(PAUSES, _why_it_waits(said))
    saves = paused is not None and paused["saving"] is not None
    rest = re.sub(r"Shorten the program's.*? shows what it does in them\.", "", said.beside_loader or "")
    rest = rest.removeprefix(SAVE_LESS).strip()
    if bool(saves) != (said.beside_loader or "").startswith(SAVE_LESS):
        yield f"{said.beside_loader!r}, and of pauses it is said: {said.why!r}"
    if is_outside != bool(rest) and said.bound == "data":
        yield f"{said.beside_loader!r} beside {[each.sentence for each in said.causes[:1]]}"


DURATION = r"([\d.]+ (?:µs|ms|s|min|h))"


@invariant
def whether_workers_keep_up_can_be_reckoned(said: Diagnosis) -> Iterator[str]:
    """How often workers have a batch ready is the time of a load divided by their number, and both that and what the
    loop takes are the figures of the evidence: it still waits where it is faster."""
    paced = rf"a batch takes {DURATION} to load(?:, so that of (\d+) workers one is ready every {DURATION})?"
    loop = rf", and the loop (?:takes|could take) one every {DURATION}(, so that it still waits)?"
    for each in said.advice:
        match = re.search(paced + loop, each.why)
        if match is None or each.change != "num_workers":
            continue
        rows = {row.what: row.value for row in each.evidence if isinstance(row.value, (int, float))}
        load_us, own_us = rows["Loading one batch"], rows["Step without its data wait"]
        ready_us, count = load_us / int(match[2] or 1), str(each.to)
        expected = (figures.duration(load_us), figures.duration(ready_us), figures.duration(own_us))
        written = (match[1], match[3] or match[1], match[4])
        if written != expected or (match[2] or "1") != count or (match[5] is not None) != (ready_us > own_us):
            yield f"{each.why!r}, and the figures are {expected} of {count} workers"


@invariant
def what_the_loop_takes_is_one_figure(said: Diagnosis) -> Iterator[str]:
    """A step without its waits is as long in the evidence as in the step's parts."""
    if said.anatomy is None:
        return
    own_us = said.anatomy.compute_us + (said.anatomy.h2d_exposed_us or 0)
    for row in (row for cause in said.causes for row in cause.evidence):
        if row.what == "Step without its data wait" and row.value != own_us:
            yield f"it is {row.value} µs, and its parts {said.anatomy}"


@invariant
def shares_of_the_run_are_those_of_the_hours(said: Diagnosis) -> Iterator[str]:
    """What of the time in the loops goes to waiting for a loader is its hours lost, of those used."""
    used = said.hours_used or math.inf
    parts = [line.hours_lost / used for line in said.loaders]
    shares = {percent(part) for part in parts}
    text = f"{said.sentence} {said.why or ''}"
    of_all = re.findall(r"([\d.]+%) of the time in the loops goes to waiting for data:", text)
    stated = re.findall(r"([\d.]+%) of the time in the loops goes to waiting for (?!data:)", text)
    each = re.findall(r"([\d.]+%) for ", said.sentence) if of_all else []
    if of_all and len(each) == len([part for part in parts if part]) and said.hours_lost:
        whole = float(of_all[0].rstrip("%"))
        if abs(sum(float(one.rstrip("%")) for one in each) - whole) > 0.95:
            yield f"{each} are stated, which make up {whole}%"
    for share in each:
        if (
            min(abs(float(share.rstrip("%")) / 100 - part) for part in parts) > 0.0101
            and "for other loaders" not in text
        ):
            yield f"{share} is stated, and the loaders take {sorted(shares)}"
    lost = min(1.0, (said.hours_lost or 0.0) / used)
    shares.add(percent(lost))  # of one loader and next to nothing for others
    yield from (f"{share} is stated, and the loaders take {sorted(shares)}" for share in stated if share not in shares)
    is_lost = (percent(lost), f"{100 * lost:.1f}%")
    yield from (f"{share} is said of all loaders, and {is_lost[1]} is lost" for share in of_all if share not in is_lost)


@invariant
def sizes_have_one_unit(said: Diagnosis) -> Iterator[str]:
    """Bytes are written in binary units in every sentence, as figures are."""
    texts = [said.sentence, said.why or "", *(each.sentence for each in said.causes)]
    texts += [text for each in said.advice for text in (each.title, each.why, each.assumption or "")]
    texts += [text for each in said.refusals for text in (each.title, each.why)]
    texts += [row.what for part in _with_evidence(said) for row in part.evidence]
    yield from (f"it is said: {text!r}" for text in texts if re.search(r"\d ?[kMGT]B\b", text))


@invariant
def a_healthy_run_is_left_alone(said: Diagnosis) -> Iterator[str]:
    """A run that hardly waits gets no advice, unless it will fail or trains on the same data twice."""
    warned = any(all_causes()[each.cause].at_any_bound for each in said.causes)
    if said.bound == "compute" and not warned:
        yield from (f"{each.change} is advised" for each in said.advice)
        yield from (f"{each.cause} is a cause" for each in said.causes)


@invariant
def what_is_busy_does_not_wait(said: Diagnosis) -> Iterator[str]:
    """A loop is called busy only where its level is healthy, but for an event of a few steps, which is named."""
    if " kept busy" in said.sentence and "kept busy, but for" not in said.sentence and said.level != "healthy":
        yield f"the level is {said.level}: {said.sentence!r}"


@invariant
def an_event_is_no_cause(said: Diagnosis) -> Iterator[str]:
    """A wait that is called a single event has no cause of every step beside it, and steps that were judged."""
    match = re.match(r"(\d+) of ([\d,]+) steps accounts? for most", said.why or "")
    if match is None:
        return
    if said.bound not in ("compute", "host") or int(match[1]) > max(1, int(match[2].replace(",", "")) // 1_000):
        yield f"the run is {said.bound}-bound: {said.why!r}"


@invariant
def waiting_for_storage_and_for_a_core_are_two_things(said: Diagnosis) -> Iterator[str]:
    """What loading waits for storage and what it is ready to run are parts of its time."""
    for each in said.causes:
        rows = {row.what: row.value for row in each.evidence if isinstance(row.value, float)}
        share = rows.get("Reading from storage, of load time that is waited for")
        ready = rows.get("Ready to run, no core free, of load time that is waited for")
        if each.cause == "storage_wait" and share is not None and ready is not None and share + ready > 1 + 1e-6:
            yield f"they are {share} and {ready} of it"


@invariant
def what_is_said_of_joining_is_its_figure(said: Diagnosis) -> Iterator[str]:
    """How much of a load joining takes is said as the evidence has it, which is one share wherever it stands."""
    for each in said.causes:
        match = re.search(r"takes ([\d.]+%) of", each.sentence) if each.cause == "slow_collate" else None
        rows = {row.what: row.value for row in each.evidence}
        share = rows.get("Joining samples, of load time without waits for a core")
        if match is not None and (not isinstance(share, float) or percent(share) != match[1]):
            yield f"{each.sentence!r}, and the evidence says {share}"
        advised = [row for one in said.advice for row in one.evidence if row.what.startswith("Joining samples, of ")]
        for row in advised if match is not None else []:
            if row.value != share:
                yield f"joining takes {share} by {each.cause}, and {row.what!r} is {row.value}"


@invariant
def what_others_use_is_said_first_and_as_measured(said: Diagnosis) -> Iterator[str]:
    """Other jobs that are named use most of the cores, as much as the evidence says."""
    for each in said.causes:
        match = re.match(r"Other jobs use ([\d.]+) of the ([\d.]+) cores", each.sentence)
        rows = {row.what: row.value for row in each.evidence}
        if match is None:
            continue
        others, usable = (rows.get(f"Cores {name}") for name in ("used by other jobs", "this run may use"))
        if others is None or usable is None or f"{others:.1f} {usable:g}" != f"{match[1]} {match[2]}":
            yield f"{each.sentence!r}, and the evidence says {others} of {usable}"


@invariant
def what_is_predicted_was_seen_for_five_minutes(said: Diagnosis) -> Iterator[str]:
    """That memory will be used up is said with for how long it grew, and of no less than five minutes."""
    for each in said.causes:
        if "is used up" in each.sentence:
            match = re.search(r"an hour, as it did for ([\d,.]+) minutes", each.sentence)
            if match is None or float(match[1].replace(",", "")) < 5:
                yield f"it is said: {each.sentence!r}"


def _considered(said: Diagnosis) -> list[Advice | Refusal]:
    return [*said.advice, *said.refusals]


def _with_evidence(said: Diagnosis) -> list[CauseFinding | Advice | Refusal]:
    """All that has evidence."""
    return [*said.causes, *said.advice, *said.refusals]


def _steps(said: Diagnosis) -> Iterator[tuple[str, Anatomy]]:
    if said.anatomy is not None:
        yield "the step", said.anatomy
    yield from ((f"the step with {each.change}", each.anatomy) for each in said.advice if each.anatomy is not None)


def _copy_share(step: Anatomy) -> float:
    return (step.h2d_exposed_us or 0) / step.step_us


def _could_be(said: Diagnosis, instant: float | None = None) -> float | None:
    now, instant = said.steps_per_s, said.instant_data_steps_per_s if instant is None else instant
    return instant / now if now and instant else None


def _of_one_loader(said: Diagnosis, could_be: float | None) -> float | None:
    """What no change of the judged loader exceeds: the loop waits for its others as before."""
    others_us = said.anatomy and said.anatomy.others_wait_us
    if could_be is None or not said.anatomy or not others_us:
        return could_be
    waits_us = said.anatomy.data_wait_us + others_us
    kept = min(others_us / said.anatomy.step_us, (1 - 1 / could_be) * others_us / waits_us)
    return 1 / (1 / could_be + kept)


def _gain(each: Advice) -> tuple[float | None, float | None, float | None]:
    return each.predicted_speedup, each.low, each.high
