"""A change of the program's own call: its lines stay, and only the advised arguments are others."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from tests.app.advice.made_case import altered, made_case, made_verdict, of, recommended
from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import recommend
from underfed_server.advice.constructor_call import NotChangedError, change_call, diff_lines
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Tuning
from underfed_server.store.reading.tunings import Tuned

SIGNATURE = inspect.signature(DataLoader.__init__)
POSITIONAL = ["dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory"]
VALUES = st.sampled_from(
    ["0", "2", "True", "None", "Pictures(root, size=(3, 4))", "[a for a in b]", "lambda x: (x, 1)"]
)
WANTED = {
    "num_workers": st.sampled_from(["0", "4", "16"]),
    "prefetch_factor": st.sampled_from(["4", None]),
    "persistent_workers": st.sampled_from(["True", None]),
    "pin_memory": st.just("True"),
    "collate_fn": st.just("join"),
}


@st.composite
def calls(draw: st.DrawFn) -> str:
    """Of any number of arguments, on one line or on many, with comments and commas as people write them."""
    count = draw(st.integers(1, len(POSITIONAL)))
    positional = [draw(VALUES) for _ in range(count)]
    names = draw(st.lists(st.sampled_from([*POSITIONAL[count:], *WANTED]), unique=True, max_size=5))
    keywords = [f"{name}={draw(VALUES)}" for name in names if name not in POSITIONAL[:count]]
    arguments = [*positional, *keywords]
    called = draw(st.sampled_from(["DataLoader", "torch.utils.data.DataLoader", "StatefulDataLoader"]))
    target = draw(st.sampled_from(["", "loader = ", "self.train, self.test = ", "return ", "loader: Loader = "]))
    if draw(st.booleans()):
        inside = ", ".join(arguments) + draw(st.sampled_from(["", ",", ", "]))
        return f"{target}{called}({inside})"
    lines = [f"    {each},{draw(st.sampled_from(['', '  # why, and how (so)']))}" for each in arguments[:-1]]
    comma, comment = draw(st.sampled_from(["", ","])), draw(st.sampled_from(["", "  # last"]))
    closing = draw(st.sampled_from(["\n)", "\n    )"])) if comment else draw(st.sampled_from([")", "\n)"]))
    return "\n".join([f"{target}{called}(", *lines, f"    {arguments[-1]}{comma}{comment}{closing}"])


def call_of(source: str) -> ast.Call:
    (statement,) = ast.parse(source).body
    value = statement.value  # type: ignore[attr-defined]
    assert isinstance(value, ast.Call)
    return value


def bound(source: str) -> dict[str, str]:
    """Its arguments as torch would take them. A keyword that is there twice does not even parse."""
    call = call_of(source)
    named = {str(each.arg): ast.dump(each.value) for each in call.keywords}
    named.pop("snapshot_every_n_steps", None)
    return dict(SIGNATURE.bind_partial(None, *map(ast.dump, call.args), **named).arguments)


def without_arguments(source: str) -> str:
    (statement,) = ast.parse(source).body
    call = statement.value  # type: ignore[attr-defined]
    call.args, call.keywords = [], []
    return ast.dump(statement)


def applied(source: str, diff: list[str]) -> str:
    """As ``patch`` does it: what is unchanged and removed must be what is there."""
    assert [line[1:] for line in diff if line[0] in " -"] == source.split("\n")
    return "\n".join(line[1:] for line in diff if line[0] in " +")


@given(calls(), st.fixed_dictionaries({}, optional=WANTED))
def test_the_diff_gives_a_call_with_exactly_what_is_advised(source: str, wanted: dict[str, str | None]) -> None:
    changed = change_call(source, wanted).source
    after = applied(source, list(diff_lines(source, changed)))
    assert after == changed
    before = bound(source)
    expected = {name: value for name, value in before.items() if name not in wanted}
    expected |= {name: ast.dump(ast.parse(value, mode="eval").body) for name, value in wanted.items() if value}
    assert {name: value for name, value in bound(after).items() if wanted.get(name, "") is not None} == expected
    assert without_arguments(after) == without_arguments(source)


@given(calls(), st.fixed_dictionaries({}, optional=WANTED))
def test_lines_of_arguments_that_stay_are_not_touched(source: str, wanted: dict[str, str | None]) -> None:
    """But for the last one, which may need a comma, and where arguments share a line."""
    removed = [line[1:] for line in diff_lines(source, change_call(source, wanted).source) if line[0] == "-"]
    if "\n" in source and all(f"{name}=" not in source for name in wanted) and call_of(source).keywords:
        assert len(removed) <= 1 + len([name for name in POSITIONAL if name in wanted])


@pytest.mark.parametrize(
    ("source", "wanted", "diff"),
    [
        (
            "loader = DataLoader(\n    dataset,\n    num_workers=0,  # one core\n    shuffle=True\n)",
            {"num_workers": "4", "prefetch_factor": "4"},
            [
                " loader = DataLoader(", "     dataset,", "-    num_workers=0,  # one core", "-    shuffle=True",
                "+    num_workers=4,  # one core", "+    shuffle=True,", "+    prefetch_factor=4,", " )",
            ],
        ),
        ("DataLoader(dataset, 32, True)", {"num_workers": "4"},
         ["-DataLoader(dataset, 32, True)", "+DataLoader(dataset, 32, True, num_workers=4)"]),
        ("DataLoader(d, 1, True, None, None, 2)", {"num_workers": "4"},
         ["-DataLoader(d, 1, True, None, None, 2)", "+DataLoader(d, 1, True, None, None, 4)"]),
        ("DataLoader(d, **options, num_workers=2)", {"num_workers": "4"},
         ["-DataLoader(d, **options, num_workers=2)", "+DataLoader(d, **options, num_workers=4)"]),
        ("DataLoader(d, num_workers=2, prefetch_factor=4)", {"num_workers": "0", "prefetch_factor": None},
         ["-DataLoader(d, num_workers=2, prefetch_factor=4)", "+DataLoader(d, num_workers=0)"]),
        ("é = DataLoader(größe, num_workers=2, d=1)", {"num_workers": "4"},
         ["-é = DataLoader(größe, num_workers=2, d=1)", "+é = DataLoader(größe, num_workers=4, d=1)"]),
    ],
)  # fmt: skip
def test_a_change_looks_as_one_would_make_it(source: str, wanted: dict[str, str | None], diff: list[str]) -> None:
    assert list(diff_lines(source, change_call(source, wanted).source)) == diff


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        ("DataLoader(d, **options)", "num_workers", "from **options, which may hold num_workers"),
        ("DataLoader(*parts)", "num_workers", "from *parts, which may hold num_workers"),
        ("DataLoader(d, worker_init_fn=seed)", "worker_init_fn", "a worker_init_fn of its own"),
        ("Mine(d, 32)", "num_workers", "Mine is a class of the program's own"),
        ("DataLoader(d for d in e)", "num_workers", "cannot be changed"),
        ("loader = make()()[0]", "num_workers", "no call"),
        ("DataLoader(d", "num_workers", "no single statement"),
        ("a; DataLoader(d)", "num_workers", "no single statement"),
    ],
)
def test_a_call_that_cannot_be_changed_alone_is_left_and_the_reason_said(source: str, name: str, why: str) -> None:
    with pytest.raises(NotChangedError, match=why.replace("*", r"\*")):
        change_call(source, {name: "4"})


@pytest.mark.parametrize(
    ("value", "elsewhere"),
    [("args.workers", "num_workers is args.workers here"), ("config['n']", "num_workers is config['n'] here"),
     ("2", None), ("os.cpu_count()", None), ("min(8, len(os.sched_getaffinity(0)))", None)],
)  # fmt: skip
def test_a_value_that_is_set_elsewhere_is_known(value: str, elsewhere: str | None) -> None:
    changed = change_call(f"DataLoader(d, num_workers={value})", {"num_workers": "4"})
    assert (changed.source, changed.set_elsewhere) == ("DataLoader(d, num_workers=4)", elsewhere)


# --- in advice ------------------------------------------------------------------------------------

OWN = "train = DataLoader(\n    pictures,\n    batch_size=32,\n    num_workers={workers},\n)"
MORE = """\
 train = DataLoader(
     pictures,
     batch_size=32,
-    num_workers=0,
+    num_workers={number},
 )"""


def workers_of(call: str | None, **loader: object) -> Advice:
    known = {"constructor_call": call, "constructed_at": "data.py:12", **loader}
    return of("num_workers", recommended(altered(starved(usable_cores=4), loader=known), no_workers=0.7))


def test_advice_changes_the_lines_of_the_program() -> None:
    advice = workers_of(OWN.format(workers=0))
    assert advice.diff == MORE.format(number=advice.to)
    assert (advice.diff_file, advice.sketch) == ("data.py:12", None)


@pytest.mark.parametrize(
    ("call", "loader", "sketch"),
    [
        (OWN.format(workers="args.workers"), {}, "num_workers is args.workers here: change it where that is set"),
        (OWN.format(workers=3), {}, "the call says num_workers=3, and the loader had 0"),
        ("DataLoader(d, **options)", {}, "the call takes its arguments from **options, which may hold num_workers"),
        (None, {"not_measured": {"constructor_call": "it is in no file"}},
         "the program's own call was not read: it is in no file"),
        (None, {"constructed_by": "transformers"},
         "the Trainer constructs its loaders from the TrainingArguments, which the program sets"),
    ],
)  # fmt: skip
def test_what_is_no_exact_change_is_called_a_sketch(call: str | None, loader: dict[str, object], sketch: str) -> None:
    advice = workers_of(call, **loader)
    assert advice.sketch == sketch
    marks = [line[0] for line in advice.diff.split("\n") if "num_workers" in line]
    assert marks in (["+"], ["-", "+"]), "it is added once, and stands nowhere else"


@pytest.mark.parametrize(
    ("call", "first"),
    [
        ("loader = DataLoader(d, **cfg)", '+cfg["num_workers"] = {number}'),
        ("loader = DataLoader(d, **self.cfg['…'])", "+self.cfg['…'][\"num_workers\"] = {number}"),
        ("loader = DataLoader(d, **options())", " loader = DataLoader("),
        ("loader = DataLoader(d, **one, **other)", " loader = DataLoader("),
    ],
)
def test_what_a_call_takes_from_a_dictionary_is_set_there(call: str, first: str) -> None:
    advice = workers_of(call)
    assert advice.diff.split("\n")[0] == first.format(number=advice.to)
    assert advice.sketch is not None and (first[0] == " " or advice.diff.split("\n")[-1] == f" {call}")


def two_workers() -> RunFacts:
    return made_run(wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, busy_cores=2.2, queue_depth=0)


def test_a_trainer_is_configured_by_its_arguments() -> None:
    facts = altered(two_workers(), loader={"constructed_by": "transformers"})
    advice = of("num_workers", recommended(facts, too_few_workers=0.7))
    assert advice.diff_file is None
    arguments = " arguments = TrainingArguments(\n     ...,\n-    dataloader_num_workers=2,\n"
    assert advice.diff.startswith(f"{arguments}+    dataloader_num_workers={advice.to},")


def test_a_function_of_the_program_is_not_replaced() -> None:
    facts = altered(two_workers(), loader={"constructor_call": "DataLoader(d, num_workers=2, worker_init_fn=seed)"})
    advice = of("threads_per_worker", recommended(facts, thread_oversubscription=0.5))
    assert advice.sketch == "the call has a worker_init_fn of its own, which is needed too"


def test_settings_from_outside_are_not_those_of_the_code() -> None:
    own = {"constructor_call": "DataLoader(d, num_workers=0)", "constructed_at": "t.py:1"}
    facts = altered(two_workers(), loader=own, overrides={"num_workers": 2})
    advice = of("num_workers", recommended(facts, too_few_workers=0.7))
    assert advice.sketch is None and advice.diff.startswith(
        "-DataLoader(d, num_workers=0)\n+DataLoader(d, num_workers="
    )
    assert advice.title.startswith("Raise num_workers from 2 (set for this run) to ")


def test_nor_are_those_that_tuning_kept() -> None:
    own = {"constructor_call": "DataLoader(d, num_workers=1)", "constructed_at": "t.py:1"}
    facts = altered(two_workers(), loader=own)
    figures: dict[str, Any] = dict.fromkeys(("speedup", "low", "high", "gained_us", "gained_low_us", "gained_high_us"))
    counts: dict[str, Any] = dict.fromkeys(("trial_steps", "trial_us", "lost_us", "searches"), 0)
    tuning = Tuning(
        loader="train", rank=0, status="kept", reason=None, began_with={"num_workers": 1}, kept={"num_workers": 2},
        kept_from_step=60, lines=["num_workers=2,"], **figures, **counts,
    )  # fmt: skip
    advice = of("num_workers", recommended(replace(facts, tuned=Tuned(tuning, (), None)), too_few_workers=0.7))
    assert advice.title.startswith("Raise num_workers from 2 (kept by --tune) to ")
    assert advice.sketch is None and advice.diff.startswith("-DataLoader(d, num_workers=1)\n+DataLoader(d, num_work")


NONE = ["num_workers", "prefetch_factor", "multiprocessing_context", "persistent_workers", "timeout"]


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ("DataLoader(d, 8, num_workers=2, prefetch_factor=4, multiprocessing_context='…', persistent_workers=True)",
         "DataLoader(d, 8, num_workers=0)"),
        ("DataLoader(d, num_workers=2, timeout=30, worker_init_fn=seed)",
         "DataLoader(d, num_workers=0, worker_init_fn=seed)"),
        ("DataLoader(d, 8, True, None, None, 2, None, False, False, 30, seed, '…')",
         "DataLoader(d, 8, True, None, None, 0, None, False, False, 0, seed, None)"),
        ("Mine(d, num_workers=2, prefetch_factor=args.ahead)", "Mine(d, num_workers=0)"),
    ],
)  # fmt: skip
def test_what_torch_refuses_without_workers_is_left_out_of_the_call(call: str, left: str) -> None:
    changed = change_call(call, {"num_workers": "0"} | dict.fromkeys(NONE[1:]))
    assert (changed.source, changed.set_elsewhere) == (left, None)
    if left.startswith("DataLoader"):
        loader = eval(left, {"DataLoader": DataLoader, "d": range(8), "seed": None})
        assert len(list(loader)) in (1, 8)


def test_advice_of_no_workers_shows_what_goes_with_them() -> None:
    source = "DataLoader(d, num_workers=2, multiprocessing_context='…', persistent_workers=True, timeout=30)"
    settings = {"persistent_workers": True, "multiprocessing_context": "spawn", "timeout_s": 30.0}
    for call, last in ((source, "+DataLoader(d, num_workers=0)"), (None, " )")):
        facts = altered(two_workers(), loader={"constructor_call": call}, settings=settings)
        verdict = made_verdict(ipc_copy=0.5)
        (advice,) = (
            each
            for each in recommend(made_case(facts, verdict, lambda one: 1.5 if one.num_workers == 0 else 1.0)).advice
            if each.change == "num_workers"
        )
        lines = advice.diff.split("\n")
        assert lines[-1] == last
        removed = " ".join(line for line in lines if line[0] == "-")
        assert all(name in removed for name in NONE if name != "prefetch_factor")


def test_workers_replace_a_prefetch_factor_of_none() -> None:
    """Torch takes 2 for it, or what is advised beside the workers."""
    changed = change_call(
        "DataLoader(d, num_workers=0, prefetch_factor=None)", {"num_workers": "4", "prefetch_factor": "4"}
    )
    assert changed.source == "DataLoader(d, num_workers=4, prefetch_factor=4)"
    assert change_call("DataLoader(d, prefetch_factor=None)", {"num_workers": "4"}).source == (
        "DataLoader(d, prefetch_factor=None, num_workers=4)"
    )
